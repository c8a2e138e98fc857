/** AI SDK 7 with sub-agents as tools, as in its documentation. */
import { generateText, isStepCount, tool, type ToolSet } from 'ai'
import { z } from 'zod'
import { coderPrompt, plannerPrompt, type Role } from '../work.ts'
import { createProbeModel } from './language-model.ts'
import { limitMs, report, type Probe } from './moves.ts'

export async function run(probe: Probe): Promise<void> {
  // Nothing of a run is kept, so there is nothing to go on with.
  if (probe.life === 2) return report({ lost: true })
  const ask = async (role: Role, prompt: string, abortSignal?: AbortSignal): Promise<string> => {
    const { text } = await generateText({
      model: createProbeModel(probe, role),
      instructions: role === 'planner' ? plannerPrompt : coderPrompt,
      prompt,
      tools,
      stopWhen: isStepCount(16),
      maxRetries: 0,
      ...(abortSignal === undefined ? {} : { abortSignal }),
      ...(probe.name === 'limited' && role === 'coder' ? { timeout: limitMs } : {}),
    })
    return text
  }
  const tools: ToolSet = {
    sub_agent: tool({
      description: 'Calls another agent and waits for its result.',
      inputSchema: z.object({ agent_name: z.string(), task: z.string() }),
      execute: ({ agent_name: name, task }, { abortSignal }) => ask(name as Role, task, abortSignal),
    }),
  }
  report({ answer: await ask('planner', 'Find out which port it is.') })
}
