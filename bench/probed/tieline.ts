/** Tieline through its public entry. */
import { openLine } from '../../src/open-line.ts'
import { coderPrompt, plannerPrompt } from '../work.ts'
import { createProbeModel } from './language-model.ts'
import { limitMs, report, type Probe } from './moves.ts'

export async function run(probe: Probe): Promise<void> {
  const more = {
    // Without it the sub-agent could not call anybody, and the ring would end for that reason.
    allow_nested_calls: true,
    ...(probe.name === 'limited' ? { timeout_seconds: limitMs / 1000 } : {}),
  }
  const agent = { tools: ['sub_agent'], allowSubAgentCalls: true }
  const line = await openLine({
    dataDir: probe.data,
    cwd: probe.data,
    agents: {
      planner: {
        ...agent,
        prompt: plannerPrompt,
        description: 'Plans.',
        languageModel: createProbeModel(probe, 'planner', more),
      },
      coder: {
        ...agent,
        prompt: coderPrompt,
        description: 'Reads code.',
        languageModel: createProbeModel(probe, 'coder', more),
      },
    },
  })
  // What the process before it began goes on by itself; the planner's model says when it was told.
  if (probe.life === 2) return
  const { output } = await line.run('planner', 'Find out which port it is.')
  report({ answer: output })
  await line.close()
}
