/** OpenAI Agents SDK with agents as tools. */
import {
  Agent,
  Runner,
  setTracingDisabled,
  tool,
  Usage,
  type Model,
  type ModelResponse,
} from '@openai/agents'
import { z } from 'zod'
import { coderPrompt, plannerPrompt, type Role } from '../work.ts'
import { decideMove, hang, limitMs, report, type Probe } from './moves.ts'

function createModel(probe: Probe, role: Role): Model {
  const respond = (output: ModelResponse['output']): ModelResponse => ({
    usage: new Usage({ inputTokens: 200, outputTokens: 40, totalTokens: 240 }),
    output,
  })
  return {
    async getResponse({ input, signal }) {
      const last = typeof input === 'string' ? undefined : input.at(-1)
      const told = last?.type === 'function_call_result' ? readTold(last.output) : null
      const move = decideMove(probe, role, told)
      if (move.kind === 'hang') return hang(signal)
      if (move.kind === 'call')
        return respond([
          {
            type: 'function_call',
            callId: `id-${role}`,
            status: 'completed',
            name: `ask_${move.to}`,
            arguments: JSON.stringify({ input: move.task }),
          },
        ])
      return respond([
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: move.text }],
        },
      ])
    },
    // eslint-disable-next-line require-yield -- The probes never stream from this SDK.
    async *getStreamedResponse() {
      throw new Error('the probes do not stream from the Agents SDK')
    },
  }
}

const readTold = (output: unknown): string =>
  typeof output === 'object' && output !== null && 'text' in output ? String(output.text) : String(output)

export async function run(probe: Probe): Promise<void> {
  if (probe.life === 2) return report({ lost: true })
  setTracingDisabled(true)
  const runner = new Runner({ tracingDisabled: true })
  const create = (role: Role): Agent =>
    new Agent({
      name: role,
      instructions: role === 'planner' ? plannerPrompt : coderPrompt,
      model: createModel(probe, role),
      tools: [
        // A ring needs the other agent's tool while that one is made, so each is made when it is called.
        tool({
          name: role === 'planner' ? 'ask_coder' : 'ask_planner',
          description: 'Calls another agent and waits for its result.',
          parameters: z.object({ input: z.string() }),
          async execute({ input }) {
            const other = create(role === 'planner' ? 'coder' : 'planner')
            const signal = probe.name === 'limited' ? { signal: AbortSignal.timeout(limitMs) } : {}
            const { finalOutput } = await runner.run(other, input, signal)
            return String(finalOutput)
          },
        }),
      ],
    })
  const { finalOutput } = await runner.run(create('planner'), 'Find out which port it is.')
  report({ answer: String(finalOutput) })
}
