/**
 * Folds events into spans, in the words of OpenTelemetry's conventions for GenAI: a turn is `invoke_agent`, a
 * model's answer `chat`, a tool and a call `execute_tool`.
 *
 * Nothing is instrumented: ids and times come from the log, so a span is the same whoever makes it. A span is
 * made when what it is about ends. What began before this looked has no span.
 */
import type { Agent } from '../model/agent.ts'
import type {
  Event,
  EventOf,
  EventType,
  Opening,
  OpeningMessage,
  Outcome,
  StoredEvent,
  Usage,
} from '../model/event.ts'
import { callOf, turnOf, type CallId, type FlowId, type Millis, type TurnId } from '../model/id.ts'
import { isSampled, stepSpanId, traceOf, turnSpanId, type Sampling } from '../model/trace.ts'
import { boundedMap } from './bounded-map.ts'
import type { AttributeValue, Span } from './otlp-json.ts'
import { messageText, outputText, type Content } from './telemetry-content.ts'

/** Where a turn or call stands in its trace. */
type Place = { traceId: string; parentId: string | null; remoteParent: boolean; sampled: boolean }

/**
 * Only what its span will say is kept, not the events: a task may be long, and a turn may be open for an
 * hour.
 */
type OpenTurn = {
  place: Place
  agent: string
  flow: FlowId
  depth: number
  /** Null for a call. */
  source: string | null
  /** When it was asked for, then when it began to run. */
  startMs: Millis
  usage: { input: number; output: number } | null
  model: string | null
  content: Attributes
}
type OpenCall = { place: Place; spanId: string; name: string; startMs: Millis; attributes: Attributes }
type Attributes = Record<string, AttributeValue>

export type SpanSettings = {
  sampling: Sampling
  /** How content is written; null leaves it out. */
  content: Content | null
  agent(name: string): Agent | undefined
  /** What OpenTelemetry calls a provider that is configured under this name. */
  provider(name: string): string
}

/** R11 */
const openMax = 10_000

export type SpanFold = { spansOf(events: readonly StoredEvent[]): Span[]; open(): number }

export function spanFold(settings: SpanSettings): SpanFold {
  const turns = boundedMap<TurnId, OpenTurn>(openMax)
  const calls = boundedMap<CallId, OpenCall>(openMax)
  const open = (turn: TurnId, event: Opening, place: Place, at: Millis): null => {
    const [source, text] = event.type === 'call.opened' ? [null, event.task] : [event.source, event.text]
    const content =
      settings.content === null || !place.sampled
        ? {}
        : { 'gen_ai.input.messages': messageText(settings.content, 'user', text) }
    turns.set(turn, {
      place,
      agent: event.grant.agent,
      flow: event.flow,
      depth: event.grant.depth,
      source,
      startMs: at,
      usage: null,
      model: null,
      content,
    })
    return null
  }
  const opened = (event: EventOf<'call.opened'>, at: Millis): null => {
    if (event.turn === null) return null
    const place = placeBelow(event.turn, event.flow, turns.get(event.turn), settings.sampling)
    const spanId = stepSpanId(event.turn, event.key)
    calls.set(event.call, {
      place,
      spanId,
      name: event.tool,
      startMs: at,
      attributes: callAttributes(event, event.turn, settings.content),
    })
    return open(turnOf(event.call), event, { ...place, parentId: spanId, remoteParent: false }, at)
  }
  const stepped = (event: EventOf<'step.ended'>, endMs: Millis): Span | null => {
    const turn = event.turn === null ? undefined : turns.get(event.turn)
    if (turn === undefined || event.turn === null) return null
    note(turn, event)
    return turn.place.sampled ? stepSpan(event.turn, turn, event, endMs, settings) : null
  }
  const handlers: {
    [T in EventType]?: (event: EventOf<T>, at: Millis, after: () => readonly StoredEvent[]) => Span | null
  } = {
    'message.sent': (event, at) =>
      event.turn === null
        ? null
        : open(
            event.turn,
            event,
            placeOfMessage(event, turns.get(event.senderTurn ?? 'turn_'), settings.sampling),
            at,
          ),
    'message.delivered': (event, at) =>
      event.turn === null || !event.opens
        ? null
        : open(
            event.turn,
            event,
            placeOfMessage(event, turns.get(event.senderTurn ?? 'turn_'), settings.sampling),
            at,
          ),
    'call.opened': (event, at) => opened(event, at),
    'turn.started': (event, at) => {
      const turn = turns.get(event.turn ?? 'turn_')
      if (turn !== undefined) turn.startMs = at
      return null
    },
    'step.ended': (event, at, after) => stepped(event, endOf(event, at, after)),
    'call.refused': (event, at) => refusedSpan(event, at, turns.get(event.turn ?? 'turn_')),
    'call.ended': (event) => {
      const call = calls.take(event.call)
      return call === undefined || !call.place.sampled ? null : callSpan(call, event, settings)
    },
    'turn.ended': (event, at) => {
      const turn = event.turn === null ? undefined : turns.take(event.turn)
      return turn === undefined || event.turn === null || !turn.place.sampled
        ? null
        : turnSpan(event.turn, turn, event, at, settings)
    },
  }
  const spanOf = ({ event, at }: StoredEvent, after: () => readonly StoredEvent[]): Span | null => {
    const handle = handlers[event.type] as
      | ((event: Event, at: Millis, after: () => readonly StoredEvent[]) => Span | null)
      | undefined
    return handle?.(event, at, after) ?? null
  }
  return {
    open: () => turns.size() + calls.size(),
    spansOf: (events) =>
      events.flatMap(
        (stored, index) => spanOf(stored, () => events.slice(index + 1, index + 1 + lookAheadMax)) ?? [],
      ),
  }
}

/** Events after a model's answer, in which its first tool may stand. */
const lookAheadMax = 8

function placeOfMessage(event: OpeningMessage, sender: OpenTurn | undefined, sampling: Sampling): Place {
  if (event.senderTurn !== null) return placeBelow(event.senderTurn, event.flow, sender, sampling)
  const trace = traceOf(event.flow, event.trace)
  return {
    traceId: trace.traceId,
    parentId: trace.remote?.spanId ?? null,
    remoteParent: trace.remote !== null,
    sampled: isSampled(trace, sampling),
  }
}

/** A child of a turn. Of one that was not seen to begin only the flow is known. */
function placeBelow(turn: TurnId, flow: FlowId, parent: OpenTurn | undefined, sampling: Sampling): Place {
  const { traceId, sampled } = parent?.place ?? {
    traceId: traceOf(flow, null).traceId,
    sampled: isSampled(traceOf(flow, null), sampling),
  }
  return { traceId, parentId: turnSpanId(turn), remoteParent: false, sampled }
}

/**
 * A result waits for the turn's next commit, so a model's answer has ended at the latest when what it asked
 * for began.
 */
function endOf(event: EventOf<'step.ended'>, at: Millis, after: () => readonly StoredEvent[]): Millis {
  if (event.kind !== 'model') return at
  const next = after().find(
    (stored) => stored.event.turn === event.turn && stored.event.type === 'step.ended',
  )?.event
  return next?.type === 'step.ended' && next.startedAt >= event.startedAt ? Math.min(at, next.startedAt) : at
}

function note(turn: OpenTurn, { kind, name, usage }: EventOf<'step.ended'>): void {
  if (kind === 'model') turn.model = name
  if (usage === null) return
  turn.usage = {
    input: (turn.usage?.input ?? 0) + usage.input,
    output: (turn.usage?.output ?? 0) + usage.output,
  }
}

function turnSpan(
  id: TurnId,
  turn: OpenTurn,
  ended: EventOf<'turn.ended'>,
  at: Millis,
  settings: SpanSettings,
): Span {
  const agent = settings.agent(turn.agent)
  const name = agent?.title ?? turn.agent
  // What a called turn says is in its call, and so on the span above.
  const said =
    settings.content === null || ended.output === ''
      ? {}
      : { 'gen_ai.output.messages': messageText(settings.content, 'assistant', ended.output) }
  return {
    ...spanIn(turn.place, turnSpanId(id)),
    name: `invoke_agent ${name}`,
    kind: 'internal',
    startMs: turn.startMs,
    endMs: at,
    failed: isError(ended.outcome),
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      ...modelAttributes(turn.model ?? agent?.model ?? null, settings),
      'gen_ai.agent.name': name,
      'gen_ai.agent.id': turn.agent,
      'gen_ai.conversation.id': ended.session,
      ...usageAttributes(turn.usage),
      'tieline.turn': id,
      ...(turn.source === null ? { 'tieline.call': callOf(id) } : { 'tieline.source': turn.source }),
      'tieline.flow': turn.flow,
      'tieline.depth': turn.depth,
      'tieline.outcome': ended.outcome,
      'tieline.iterations': ended.iterations,
      'tieline.tokens.below': ended.tokensBelow,
      ...errorType(ended.outcome, ended.error),
      ...turn.content,
      ...said,
    },
  }
}

function stepSpan(
  id: TurnId,
  turn: OpenTurn,
  event: EventOf<'step.ended'>,
  endMs: Millis,
  settings: SpanSettings,
): Span {
  const place = {
    ...spanIn({ ...turn.place, parentId: turnSpanId(id), remoteParent: false }, stepSpanId(id, event.key)),
    startMs: event.startedAt,
    endMs,
  }
  const about = {
    'gen_ai.conversation.id': event.session,
    'gen_ai.agent.name': settings.agent(turn.agent)?.title ?? turn.agent,
    'tieline.turn': id,
    'tieline.flow': turn.flow,
  }
  if (event.kind === 'tool') {
    const error = event.ok ? {} : { 'error.type': codeOf(event.output) ?? 'tool_error' }
    return {
      ...place,
      name: `execute_tool ${event.name}`,
      kind: 'internal',
      failed: !event.ok,
      attributes: {
        ...toolAttributes(event.name, event.key),
        ...about,
        ...error,
        ...toolContent(settings.content, event.input, event.output),
      },
    }
  }
  const { finish, error } = answerOf(event.output)
  const failed = error !== null || !event.ok
  const model = event.kind === 'model' ? event.name : null
  return {
    ...place,
    name: model === null ? 'chat' : `chat ${modelOf(model).model}`,
    kind: 'client',
    failed,
    attributes: {
      'gen_ai.operation.name': 'chat',
      ...modelAttributes(model, settings),
      ...about,
      ...usageAttributes(event.usage),
      ...(event.usage?.estimated === true ? { 'tieline.usage.estimated': true } : {}),
      ...(model === null ? { 'tieline.step': event.kind } : {}),
      ...(finish === null ? {} : { 'gen_ai.response.finish_reasons': [finish] }),
      ...(failed ? { 'error.type': causeOf(error) ?? 'model_error' } : {}),
      ...(settings.content === null
        ? {}
        : { 'gen_ai.output.messages': outputText(settings.content, event.output, finish) }),
    },
  }
}

function callAttributes(opened: EventOf<'call.opened'>, turn: TurnId, content: Content | null): Attributes {
  return {
    ...toolAttributes(opened.tool, opened.call),
    'gen_ai.conversation.id': opened.session,
    'tieline.turn': turn,
    'tieline.call': opened.call,
    'tieline.flow': opened.flow,
    'tieline.callee': opened.grant.agent,
    'tieline.background': opened.background,
    ...(content === null
      ? {}
      : { 'gen_ai.tool.call.arguments': content.json({ task: opened.task, input: opened.input }) }),
  }
}

const callSpan = (
  { place, spanId, name, startMs, attributes }: OpenCall,
  ended: EventOf<'call.ended'>,
  { content }: SpanSettings,
): Span => ({
  ...spanIn(place, spanId),
  name: `execute_tool ${name}`,
  kind: 'internal',
  startMs,
  endMs: ended.endedAt,
  failed: isError(ended.outcome),
  attributes: {
    ...attributes,
    'tieline.outcome': ended.outcome,
    'tieline.cause': ended.cause,
    'tieline.tokens.used': ended.tokensUsed,
    ...errorType(ended.outcome, null),
    ...(content === null ? {} : { 'gen_ai.tool.call.result': content.json(ended.output) }),
  },
})

function refusedSpan(event: EventOf<'call.refused'>, at: Millis, turn: OpenTurn | undefined): Span | null {
  if (turn === undefined || !turn.place.sampled || event.turn === null) return null
  return {
    ...spanIn(
      { ...turn.place, parentId: turnSpanId(event.turn), remoteParent: false },
      stepSpanId(event.turn, event.key),
    ),
    name: `execute_tool ${event.tool}`,
    kind: 'internal',
    startMs: at,
    endMs: at,
    failed: true,
    attributes: {
      ...toolAttributes(event.tool, event.call),
      'gen_ai.conversation.id': event.session,
      'tieline.turn': event.turn,
      'tieline.call': event.call,
      'tieline.flow': turn.flow,
      'tieline.callee': event.agent,
      'tieline.outcome': 'refused',
      'error.type': event.refusal.code,
    },
  }
}

const spanIn = ({ traceId, parentId, remoteParent }: Place, spanId: string) => ({
  traceId,
  spanId,
  parentId,
  remoteParent,
})

const toolAttributes = (name: string, id: string): Attributes => ({
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': name,
  'gen_ai.tool.type': 'function',
  'gen_ai.tool.call.id': id,
})

const toolContent = (content: Content | null, input: unknown, output: unknown): Attributes =>
  content === null
    ? {}
    : { 'gen_ai.tool.call.arguments': content.json(input), 'gen_ai.tool.call.result': content.json(output) }

const usageAttributes = (usage: Pick<Usage, 'input' | 'output'> | null): Attributes =>
  usage === null
    ? {}
    : { 'gen_ai.usage.input_tokens': usage.input, 'gen_ai.usage.output_tokens': usage.output }

function modelOf(name: string): { provider: string | null; model: string } {
  const at = name.indexOf('/')
  return at < 0 ? { provider: null, model: name } : { provider: name.slice(0, at), model: name.slice(at + 1) }
}

/** The conventions want a provider everywhere; what runs without a model is ours. */
function modelAttributes(name: string | null, settings: SpanSettings): Attributes {
  if (name === null) return { 'gen_ai.provider.name': 'tieline' }
  const { provider, model } = modelOf(name)
  return {
    'gen_ai.provider.name': provider === null ? 'tieline' : settings.provider(provider),
    'gen_ai.request.model': model,
  }
}

/** A cancel is what somebody wanted. */
const isError = (outcome: Outcome): boolean => outcome !== 'completed' && outcome !== 'cancelled'
const errorType = (outcome: Outcome, error: string | null): Attributes =>
  isError(outcome) ? { 'error.type': outcome === 'failed' ? (causeOf(error) ?? outcome) : outcome } : {}

/** `provider_failed: …` and the like begin with a code; other texts are for people, and may hold content. */
const causeOf = (error: string | null): string | null =>
  /^([a-z]+(?:_[a-z]+)+)(?::|$)/.exec(error ?? '')?.[1] ?? null

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)[name]
    : undefined

function codeOf(output: unknown): string | null {
  const code = fieldOf(fieldOf(output, 'error'), 'code')
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : null
}

function answerOf(output: unknown): { finish: string | null; error: string | null } {
  const [finish, error] = [fieldOf(output, 'finish'), fieldOf(output, 'error')]
  const words: Record<string, string> = { 'tool-calls': 'tool_call', 'content-filter': 'content_filter' }
  return {
    finish: typeof finish === 'string' ? (words[finish] ?? finish) : null,
    error: typeof error === 'string' ? error : null,
  }
}
