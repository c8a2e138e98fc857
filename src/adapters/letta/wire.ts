/**
 * Agents, turns and conversations in Letta's shapes. Documented fields are always there; what we do not have
 * is null or empty.
 */
import type { EventOf, Outcome } from '../../model/event.ts'
import type { Millis, SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { historyTokensMax } from '../../model/limits.ts'
import type { AskAnswer } from '../../runtime/sessions/ask-turn.ts'
import type { HistoryEntry } from '../../wire/sessions.ts'
import type { AgentView } from '../../wire/agents.ts'

export type StopReason =
  | 'end_turn'
  | 'error'
  | 'llm_api_error'
  | 'invalid_llm_response'
  | 'max_steps'
  | 'max_tokens_exceeded'
  | 'cancelled'
export type ToolUsed = AskAnswer['toolCalls'][number]
/** `content` is text in every kind of message, so that a simple client can show them all. */
export type LettaMessage = {
  id: string
  date: string
  message_type: string
  content: string
  [more: string]: unknown
}

// oxlint-disable-next-line no-restricted-globals -- A time becomes text; none is read.
export const isoDate = (at: Millis): string => new Date(at).toISOString()

export function agentState(view: AgentView) {
  const { id, name, description, system, model, tools, createdAt, session, driver, origin } = view
  const created = createdAt === null ? null : isoDate(createdAt)
  return {
    id,
    name,
    description,
    system,
    model,
    agent_type: 'letta_v1_agent',
    created_at: created,
    updated_at: created,
    tools: tools.map((tool) => ({ id: `tool-${tool}`, name: tool, tool_type: 'custom', tags: [] })),
    blocks: [],
    memory: { blocks: [] },
    sources: [],
    tags: [],
    identities: [],
    secrets: [],
    tool_rules: [],
    message_ids: [],
    embedding: null,
    // Letta's clients need this one, though it is out of use: what the agent is shown of its own
    // conversation.
    llm_config: {
      model: model ?? driver,
      model_endpoint_type: endpointType(model),
      context_window: historyTokensMax,
      handle: model,
    },
    /** Where the agent's conversation is found under `/api`. */
    metadata: { session, driver, origin },
  }
}
export type AgentState = ReturnType<typeof agentState>

const endpointType = (model: string | null): string =>
  model?.startsWith('anthropic/') === true
    ? 'anthropic'
    : model?.startsWith('google/') === true
      ? 'google_ai'
      : 'openai'

/** What a turn gave: its tools in order, what the agent said, and why it ended where it did not end well. */
export function lettaAnswer(answer: AskAnswer) {
  return {
    messages: [
      ...answer.toolCalls.flatMap((used) => toolMessages(answer.turn, used)),
      ...closingMessages(answer),
    ],
    ...describeEnd(answer),
  }
}

export function describeEnd({ turn, ended, usage }: AskAnswer) {
  return {
    stop_reason: { message_type: 'stop_reason', stop_reason: stopReason(ended) },
    usage: {
      message_type: 'usage_statistics',
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      step_count: ended.iterations,
      cached_input_tokens: null,
      cache_write_tokens: null,
      reasoning_tokens: null,
      context_tokens: null,
      run_ids: [turn],
    },
  }
}

/** A tool's call and its return, as far as each is known. */
export const toolMessages = (run: TurnId, used: ToolUsed): LettaMessage[] => [
  toolCallMessage(run, used),
  toolReturnMessage(run, used),
]

export function toolCallMessage(
  run: TurnId,
  { id, name, input, at }: Pick<ToolUsed, 'id' | 'name' | 'input' | 'at'>,
): LettaMessage {
  const call = { name, arguments: JSON.stringify(renderArguments(name, input)), tool_call_id: id }
  return {
    ...message(
      `message-${run.slice(5)}-${id}-call`,
      at,
      'tool_call_message',
      `${name}(${call.arguments})`,
      run,
    ),
    tool_call: call,
    tool_calls: [call],
  }
}

export function toolReturnMessage(
  run: TurnId,
  { id, name, ok, output, at }: Omit<ToolUsed, 'input'>,
): LettaMessage {
  const back = {
    tool_return: renderValue(output),
    status: ok ? 'success' : 'error',
    tool_call_id: id,
    stdout: null,
    stderr: null,
  }
  return {
    ...message(`message-${run.slice(5)}-${id}-return`, at, 'tool_return_message', back.tool_return, run),
    name,
    is_err: !ok,
    ...back,
    tool_returns: [{ type: 'tool', ...back }],
  }
}

/** A call is recorded as whom and what; a client is shown it as the tool was asked. */
function renderArguments(name: string, input: Json): Json {
  const call = input !== null && typeof input === 'object' && !Array.isArray(input) ? input : {}
  const { agent = '', task = '' } = call
  if (name === 'call_agent') return { agent_id: agent, message: task }
  if (name === 'sub_agent') return { agent_name: agent, task }
  return name === 'subagent' ? { task } : input
}

export function closingMessages(answer: AskAnswer): LettaMessage[] {
  const { ended, turn, endedAt } = answer
  const messages: LettaMessage[] = []
  if (ended.output !== '')
    messages.push(message(answerId(answer), endedAt, 'assistant_message', ended.output, turn))
  if (ended.outcome !== 'completed')
    messages.push({
      ...message(`message-${turn.slice(5)}-why`, endedAt, 'system_message', explainEnd(ended), turn),
      is_err: true,
    })
  return messages
}

/** The id under which the answer stands in the conversation. */
export const answerId = ({ ended, session, turn }: AskAnswer): string =>
  ended.entry === null ? `message-${turn.slice(5)}` : entryId(session, ended.entry.n + 1)

export const entryId = (session: SessionId, n: number): string => `message-${session.slice(4)}-${n}`

/** Null where it is no id of an entry of this session. */
export function entryNumber(session: SessionId, id: string): number | null {
  const start = entryId(session, 0).slice(0, -1)
  return id.startsWith(start) && /^\d{1,15}$/.test(id.slice(start.length))
    ? Number(id.slice(start.length))
    : null
}

export function entryMessage(
  session: SessionId,
  { n, role, at, text, turn, outcome, from, fromAgent }: HistoryEntry,
): LettaMessage {
  const id = entryId(session, n)
  if (role === 'user')
    return { ...message(id, at, 'user_message', text, turn), name: fromAgent, sender_id: from }
  return {
    ...message(id, at, 'assistant_message', text, turn),
    is_err: outcome !== null && outcome !== 'completed',
  }
}

export function message(id: string, at: Millis, type: string, content: string, run: string): LettaMessage {
  return {
    id,
    date: isoDate(at),
    message_type: type,
    content,
    name: null,
    otid: null,
    sender_id: null,
    step_id: null,
    run_id: run,
    seq_id: null,
    is_err: false,
  }
}

const renderValue = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/**
 * Letta has fewer words for an end than we have: what has none of its own is an `error`, and the message
 * beside it says which.
 */
export function stopReason({ outcome, error }: Pick<EventOf<'turn.ended'>, 'outcome' | 'error'>): StopReason {
  switch (outcome) {
    case 'completed':
      return 'end_turn'
    case 'cancelled':
      return 'cancelled'
    case 'budget_exhausted':
      return 'max_tokens_exceeded'
    case 'failed':
      return classifyFailure(error ?? '')
    case 'timed_out':
    case 'refused':
    case 'lost':
      return 'error'
  }
}

function classifyFailure(error: string): StopReason {
  if (error.startsWith('iteration limit')) return 'max_steps'
  if (error.startsWith('empty_output') || error.startsWith('provider_garbage')) return 'invalid_llm_response'
  return error.startsWith('provider_') ? 'llm_api_error' : 'error'
}

const endedWords: Record<Exclude<Outcome, 'completed'>, string> = {
  failed: 'failed',
  timed_out: 'ran out of time',
  cancelled: 'was cancelled',
  budget_exhausted: 'used up its tokens',
  refused: 'was refused',
  lost: 'was lost with the process that ran it',
}

function explainEnd({ outcome, error }: { outcome: Outcome; error: string | null }): string {
  const words = outcome === 'completed' ? 'ended' : endedWords[outcome]
  return error === null || error === '' ? `The turn ${words}.` : `The turn ${words}: ${error}`
}
