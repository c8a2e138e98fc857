/** `sub_agent`: hands a task to a named agent in a fresh session with filtered context, and waits for it. */
import { z } from 'zod'
import { ContextFilter } from '../model/context.ts'
import { Json } from '../model/json.ts'
import { allowedToolsMax } from '../model/limits.ts'
import type { CountTokens } from '../model/text.ts'
import type { CallResult, Tool, ToolAnswer } from '../runtime/kernel/ports.ts'
import { answered, Task } from './answer.ts'
import { callingTool, shown, toMs, whoMayBeCalled } from './calling.ts'
import { emptyAnswers } from './refused-answer.ts'

const Input = z.strictObject({
  agent_name: z.string().min(1, 'the name of an agent').describe('which agent'),
  task: Task.describe('what it should do, complete in itself'),
  context: ContextFilter.partial()
    .optional()
    .describe('what it should see of your conversation; nothing by default'),
  input: Json.optional().describe('data for the task'),
  max_context_tokens: z.number().int().min(0).optional(),
  allowed_tools: z
    .array(z.string().max(200))
    .max(allowedToolsMax, `at most ${allowedToolsMax} tools`)
    .optional()
    .describe('narrows its tools'),
  allow_nested_calls: z.boolean().default(false),
  timeout_seconds: z.number().min(0).optional(),
  max_tokens: z.number().int().min(0).optional().describe('its share of the token budget'),
  output_schema: Json.optional().describe('JSON Schema that the output must satisfy'),
  background: z.boolean().default(false).describe('return at once; go on with wait_for_call'),
})

export const subAgentTool = (count: CountTokens): Tool =>
  callingTool({
    name: 'sub_agent',
    description: (turn) =>
      `Calls another agent and waits for its result. It sees only the task and what you pass. ${whoMayBeCalled(turn)}`,
    input: Input,
    request: (input) => ({
      target: { agent: input.agent_name },
      task: input.task,
      input: input.input,
      context: input.context === undefined ? null : ContextFilter.parse(input.context),
      maxContextTokens: input.max_context_tokens,
      allowedTools: input.allowed_tools ?? null,
      nested: input.allow_nested_calls,
      timeoutMs: toMs(input.timeout_seconds),
      maxTokens: input.max_tokens,
      outputSchema: input.output_schema ?? undefined,
      background: input.background,
    }),
    render: (result, shownTokens) => renderSubAgentAnswer(result, shownTokens, count),
    renderStarted: ({ agent_name }, call_id) =>
      answered({ ...emptyAnswers.sub_agent, agent_name, call_id, outcome: null }),
  })

/** The same keys in every outcome. */
export async function renderSubAgentAnswer(
  result: CallResult,
  shownTokens: number,
  count: CountTokens,
): Promise<ToolAnswer> {
  const { text, truncated } = await shown(result, shownTokens, count)
  const success = result.outcome === 'completed'
  return {
    ok: success,
    value: {
      agent_name: result.agent,
      success,
      output: text,
      tool_calls: result.toolCalls,
      tokens_used: result.tokensUsed,
      duration_seconds: Math.round(result.durationMs / 1000),
      errors: result.errors,
      call_id: result.call,
      outcome: result.outcome,
      truncated,
    },
  }
}
