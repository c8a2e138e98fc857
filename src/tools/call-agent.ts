/**
 * `call_agent`: asks an agent that keeps its own conversation, by session id or by name, and waits for its
 * answer.
 */
import { z } from 'zod'
import { isSessionId } from '../model/id.ts'
import { refusalOfZod } from '../model/refusal.ts'
import type { CountTokens } from '../model/text.ts'
import type { CallRequest, CallResult, Tool, ToolAnswer } from '../runtime/kernel/ports.ts'
import { toJsonSchema, once } from './answer.ts'
import { shown, whoMayBeCalled } from './calling.ts'

const Input = z.strictObject({
  agent_id: z
    .string()
    .min(1, 'the id of a session or the name of an agent')
    .describe('a session id, or the name of an agent'),
  message: z.string().refine((message) => message.trim() !== '', 'a text that says what to do'),
  timeout_ms: z.number().min(0).optional().describe('default 30000, at most 300000'),
})

const schema = once(() => toJsonSchema(Input))

export function callAgentTool(count: CountTokens): Tool {
  return {
    name: 'call_agent',
    effect: 'call',
    calling: true,
    describe: (turn) => ({
      name: 'call_agent',
      description: `Sends a message to an agent that remembers its conversation and waits for the answer. ${whoMayBeCalled(turn)}`,
      input: schema(),
    }),
    async run(input, context) {
      const parsed = Input.safeParse(input)
      if (!parsed.success)
        return this.refuse?.(refusalOfZod(parsed.error, input), input, context) as Promise<ToolAnswer>
      const result = await context.acts.call(requestOf(parsed.data), context.stepKey)
      if (result.outcome === null) throw new Error('call_agent is never called in the background')
      return renderCallAnswer(result, parsed.data.agent_id, context.shownTokens, count)
    },
    refuse: async (refusal, input, context) =>
      renderCallAnswer(
        await context.acts.refuse('call_agent', input, refusal, context.stepKey),
        '',
        context.shownTokens,
        count,
      ),
  }
}

function requestOf(input: z.output<typeof Input>): CallRequest {
  return {
    tool: 'call_agent',
    target: isSessionId(input.agent_id) ? { session: input.agent_id } : { agent: input.agent_id },
    task: input.message,
    input: undefined,
    context: null,
    attachment: null,
    maxContextTokens: undefined,
    allowedTools: null,
    nested: true,
    timeoutMs: input.timeout_ms,
    maxIterations: undefined,
    maxTokens: undefined,
    outputSchema: undefined,
    background: false,
  }
}

/** The same keys in every outcome. */
export async function renderCallAnswer(
  result: CallResult,
  agentId: string,
  tokensMax: number,
  count: CountTokens,
): Promise<ToolAnswer> {
  const { text, truncated } = await shown(result, tokensMax, count)
  const success = result.outcome === 'completed'
  return {
    ok: success,
    value: {
      agent_id: agentId === '' ? result.agent : agentId,
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
}
