/**
 * `sub_agent`, as the tool and a program at a door share it: its input as a call, and what became of the call
 * as its answer.
 */
import { ContextFilter } from '../../model/context.ts'
import { toUsd } from '../../model/money.ts'
import { cutTokensGently, type CountTokens, type Cut } from '../../model/text.ts'
import type { CallAnswer, SubAgentInput } from '../../wire/calls.ts'
import type { CallRequest, CallResult, StartedCall, ToolAnswer } from '../kernel/ports.ts'

/** A call that asks for nothing special. */
export const plainCall = {
  input: undefined,
  context: null,
  attachment: null,
  maxContextTokens: undefined,
  allowedTools: null,
  nested: true,
  timeoutMs: undefined,
  maxIterations: undefined,
  maxTokens: undefined,
  outputSchema: undefined,
  background: false,
} satisfies Partial<CallRequest>

export const toMs = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000

export const toCallRequest = (input: SubAgentInput): CallRequest => ({
  ...plainCall,
  tool: 'sub_agent',
  target: { agent: input.agent_name },
  task: input.task,
  input: input.input,
  context: input.context === undefined ? null : ContextFilter.parse(input.context),
  maxContextTokens: input.max_context_tokens,
  allowedTools: input.allowed_tools ?? null,
  nested: input.allow_nested_calls,
  timeoutMs: toMs(input.timeout_seconds),
  maxTokens: input.max_tokens,
  maxUsd: input.max_usd,
  outputSchema: input.output_schema ?? undefined,
  background: input.background,
})

/** The keys that every answer has, with nothing in them. */
export const emptyCallAnswer = {
  agent_name: '',
  success: false,
  output: '',
  tool_calls: [],
  tokens_used: 0,
  duration_seconds: 0,
  errors: [],
  call_id: '',
  outcome: 'refused',
  truncated: false,
  notes: [],
} satisfies CallAnswer

/** For a call that goes on in the background: what to do next depends on whether a turn of the caller ends it. */
export const renderBegun = (
  agent_name: string,
  { call, notes }: Pick<StartedCall, 'call' | 'notes'>,
  isClient: boolean,
): ToolAnswer => {
  const next =
    `It runs in the background: go on with other work, then call wait_for_call with call_id "${call}". ` +
    (isClient
      ? 'It goes on without you, until its deadline.'
      : 'It ends with your turn, so wait for it before you finish.')
  return {
    ok: true,
    value: { ...emptyCallAnswer, agent_name, call_id: call, outcome: null, notes: [...notes, next] },
  }
}

export async function renderResult(
  result: CallResult,
  shownTokens: number,
  count: CountTokens,
): Promise<ToolAnswer> {
  const { text, truncated } = await cutResult(result, shownTokens, count)
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
      notes: [...result.notes],
      ...(result.spent.nanoUsd > 0 && { cost_usd: toUsd(result.spent.nanoUsd) }),
    } satisfies CallAnswer,
    ...(result.outcome === 'refused' && { refused: true }),
  }
}

/** Head and tail of an answer within what the calling model can hold; the rest is read with `read_output`. */
export async function cutResult(result: CallResult, tokensMax: number, count: CountTokens): Promise<Cut> {
  const whole = `the whole output has ${result.output.length} characters`
  const hint = `[… cut: ${whole}; read_output with call_id "${result.call}" reads it …]`
  const cut = await cutTokensGently(result.output, tokensMax, count, hint)
  return { text: cut.text, truncated: cut.truncated || result.truncated }
}
