/**
 * `sub_agent`: hands a task to a named agent in a fresh session with filtered context, and returns what it
 * answered.
 */
import { z } from 'zod'
import { ContextFilter } from '../model/context.ts'
import { Json } from '../model/json.ts'
import { allowedToolsMax } from '../model/limits.ts'
import { refusalOfZod } from '../model/refusal.ts'
import type { CountTokens } from '../model/text.ts'
import type { CallRequest, CallResult, Tool, ToolAnswer, ToolContext } from '../runtime/kernel/ports.ts'
import { toJsonSchema, once } from './answer.ts'
import { shown, whoMayBeCalled, wholeSeconds } from './calling.ts'

const Input = z.strictObject({
  agent_name: z.string().min(1, 'the name of an agent').describe('which agent'),
  task: z
    .string()
    .refine((task) => task.trim() !== '', 'a text that says what to do')
    .describe('what it should do, complete in itself'),
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

const schema = once(() => toJsonSchema(Input))

export function subAgentTool(count: CountTokens): Tool {
  return {
    name: 'sub_agent',
    effect: 'call',
    calling: true,
    describe: (turn) => ({
      name: 'sub_agent',
      description: `Calls another agent and waits for its result. It sees only the task and what you pass. ${whoMayBeCalled(turn)}`,
      input: schema(),
    }),
    async run(input, context) {
      const parsed = Input.safeParse(input)
      if (!parsed.success)
        return this.refuse?.(refusalOfZod(parsed.error, input), input, context) as Promise<ToolAnswer>
      const result = await context.acts.call(requestOf(parsed.data), context.stepKey)
      return result.outcome === null
        ? started(parsed.data.agent_name, result.call)
        : renderSubAgentAnswer(result, context, count)
    },
    refuse: async (refusal, input, context) =>
      renderSubAgentAnswer(
        await context.acts.refuse('sub_agent', input, refusal, context.stepKey),
        context,
        count,
      ),
  }
}

function requestOf(input: z.output<typeof Input>): CallRequest {
  return {
    tool: 'sub_agent',
    target: { agent: input.agent_name },
    task: input.task,
    input: input.input,
    context: input.context === undefined ? null : ContextFilter.parse(input.context),
    attachment: null,
    maxContextTokens: input.max_context_tokens,
    allowedTools: input.allowed_tools ?? null,
    nested: input.allow_nested_calls,
    timeoutMs: input.timeout_seconds === undefined ? undefined : input.timeout_seconds * 1000,
    maxIterations: undefined,
    maxTokens: input.max_tokens,
    outputSchema: input.output_schema ?? undefined,
    background: input.background,
  }
}

/** The same keys in every outcome. */
export async function renderSubAgentAnswer(
  result: CallResult,
  context: Pick<ToolContext, 'shownTokens'>,
  count: CountTokens,
): Promise<ToolAnswer> {
  const { text, truncated } = await shown(result, context.shownTokens, count)
  const success = result.outcome === 'completed'
  return {
    ok: success,
    value: {
      agent_name: result.agent,
      success,
      output: text,
      tool_calls: result.toolCalls,
      tokens_used: result.tokensUsed,
      duration_seconds: wholeSeconds(result.durationMs),
      errors: result.errors,
      call_id: result.call,
      outcome: result.outcome,
      truncated,
    },
  }
}

const started = (agent: string, call: string): ToolAnswer => ({
  ok: true,
  value: {
    agent_name: agent,
    success: false,
    output: '',
    tool_calls: [],
    tokens_used: 0,
    duration_seconds: 0,
    errors: [],
    call_id: call,
    outcome: null,
    truncated: false,
  },
})
