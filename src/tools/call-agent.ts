/** `call_agent`: asks an agent that keeps its own conversation, and waits for its answer. */
import { z } from 'zod'
import { isSessionId } from '../model/id.ts'
import type { CountTokens } from '../model/text.ts'
import type { Tool } from '../runtime/kernel/ports.ts'
import { Task } from './answer.ts'
import { callingTool, shown, whoMayBeCalled } from './calling.ts'

const Input = z.strictObject({
  agent_id: z
    .string()
    .min(1, 'the id of a session or the name of an agent')
    .describe('a session id, or the name of an agent'),
  message: Task,
  timeout_ms: z.number().min(0).optional().describe('default 30000, at most 300000'),
})

export const callAgentTool = (count: CountTokens): Tool =>
  callingTool({
    name: 'call_agent',
    description: (turn) =>
      'Sends a message to an agent that remembers its conversation and waits for the answer. ' +
      whoMayBeCalled(turn),
    input: Input,
    request: ({ agent_id: id, message, timeout_ms: timeoutMs }) => ({
      target: isSessionId(id) ? { session: id } : { agent: id },
      task: message,
      timeoutMs,
    }),
    async render(result, shownTokens, input) {
      const { text, truncated } = await shown(result, shownTokens, count)
      const success = result.outcome === 'completed'
      return {
        ok: success,
        value: {
          agent_id: input?.agent_id ?? result.agent,
          success,
          response: text,
          error: result.errors[0] ?? null,
          outcome: result.outcome,
          call_id: result.call,
          duration_ms: result.durationMs,
          call_chain: result.path,
          truncated,
        },
      }
    },
  })
