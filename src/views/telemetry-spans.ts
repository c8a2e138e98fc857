/**
 * Folds events into spans, in the words of OpenTelemetry's conventions for GenAI: a turn is `invoke_agent`, a
 * model's answer `chat`, a tool and a call `execute_tool`.
 *
 * Nothing is instrumented: ids and times come from the log, so every process makes the same span. A span is
 * made when its subject ends. What began before the fold started has no span.
 */
import type { Event, EventOf, EventType, Opening, OpeningMessage, StoredEvent } from '../model/event.ts'
import { toTurnId, type CallId, type FlowId, type Millis, type TurnId } from '../model/id.ts'
import { isSampled, stepSpanId, parseTrace, turnSpanId, type Sampling } from '../model/trace.ts'
import { boundedMap } from './bounded-map.ts'
import {
  makeCallSpan,
  makeRefusedSpan,
  makeStepSpan,
  makeTurnSpan,
  type OpenCall,
  type OpenTurn,
  type Place,
  type SpanSettings,
} from './make-span.ts'
import type { Span } from './otlp-json.ts'
import { callAttributes, readCost } from './span-attributes.ts'
import { messageText } from './telemetry-content.ts'

/** R11 */
const openMax = 10_000

export type SpanFold = { collectSpans(events: readonly StoredEvent[]): Span[]; open(): number }

export const spanFold = (settings: SpanSettings): SpanFold => new LogSpans(settings)

type LookAhead = () => readonly StoredEvent[]
type Handler<E> = (event: E, at: Millis, ahead: LookAhead) => Span | null

class LogSpans implements SpanFold {
  readonly #settings: SpanSettings
  readonly #turns = boundedMap<TurnId, OpenTurn>(openMax)
  readonly #calls = boundedMap<CallId, OpenCall>(openMax)
  readonly #handlers: { [T in EventType]?: Handler<EventOf<T>> } = {
    'message.sent': (event, at) => this.#openMessage(event, at),
    'message.delivered': (event, at) => (event.opens ? this.#openMessage(event, at) : null),
    'call.opened': (event, at) => this.#openCall(event, at),
    'turn.started': (event, at) => this.#startTurn(event, at),
    'step.ended': (event, at, ahead) => this.#endStep(event, findEnd(event, at, ahead)),
    'call.refused': (event, at) => makeRefusedSpan(event, at, this.#findTurn(event.turn)),
    'call.ended': (event) => this.#endCall(event),
    'turn.ended': (event, at) => this.#endTurn(event, at),
  }

  constructor(settings: SpanSettings) {
    this.#settings = settings
  }

  open(): number {
    return this.#turns.size() + this.#calls.size()
  }

  collectSpans(events: readonly StoredEvent[]): Span[] {
    return events.flatMap(({ event, at }, index) => {
      const handle = this.#handlers[event.type] as Handler<Event> | undefined
      return handle?.(event, at, () => events.slice(index + 1, index + 1 + lookAheadMax)) ?? []
    })
  }

  #findTurn(turn: TurnId | null): OpenTurn | undefined {
    return turn === null ? undefined : this.#turns.get(turn)
  }

  #openTurn(turn: TurnId, event: Opening, place: Place, at: Millis): null {
    const { content } = this.#settings
    const [source, text] = event.type === 'call.opened' ? [null, event.task] : [event.source, event.text]
    this.#turns.set(turn, {
      place,
      agent: event.grant.agent,
      flow: event.flow,
      depth: event.grant.depth,
      source,
      startMs: at,
      usage: null,
      model: null,
      content:
        content === null || !place.sampled
          ? {}
          : { 'gen_ai.input.messages': messageText(content, 'user', text) },
    })
    return null
  }

  #openMessage(event: OpeningMessage, at: Millis): null {
    if (event.turn === null) return null
    const place = placeMessage(event, this.#findTurn(event.senderTurn), this.#settings.sampling)
    return this.#openTurn(event.turn, event, place, at)
  }

  #openCall(event: EventOf<'call.opened'>, at: Millis): null {
    if (event.turn === null) return null
    const { sampling, content } = this.#settings
    const place = placeBelow(event.turn, event.flow, this.#turns.get(event.turn), sampling)
    const spanId = stepSpanId(event.turn, event.key)
    const attributes = callAttributes(event, event.turn, content)
    this.#calls.set(event.call, { place, spanId, name: event.tool, startMs: at, attributes })
    return this.#openTurn(
      toTurnId(event.call),
      event,
      { ...place, parentId: spanId, remoteParent: false },
      at,
    )
  }

  #startTurn(event: EventOf<'turn.started'>, at: Millis): null {
    const turn = this.#findTurn(event.turn)
    if (turn !== undefined) turn.startMs = at
    return null
  }

  #endStep(event: EventOf<'step.ended'>, endMs: Millis): Span | null {
    const turn = this.#findTurn(event.turn)
    if (turn === undefined || event.turn === null) return null
    addUsage(turn, event)
    return turn.place.sampled ? makeStepSpan(event.turn, turn, event, endMs, this.#settings) : null
  }

  #endCall(event: EventOf<'call.ended'>): Span | null {
    const call = this.#calls.take(event.call)
    return call === undefined || !call.place.sampled ? null : makeCallSpan(call, event, this.#settings)
  }

  #endTurn(event: EventOf<'turn.ended'>, at: Millis): Span | null {
    const turn = event.turn === null ? undefined : this.#turns.take(event.turn)
    return turn === undefined || event.turn === null || !turn.place.sampled
      ? null
      : makeTurnSpan(event.turn, turn, event, at, this.#settings)
  }
}

/** Events after a model's answer, in which its first tool may stand. */
const lookAheadMax = 8

function placeMessage(event: OpeningMessage, sender: OpenTurn | undefined, sampling: Sampling): Place {
  if (event.senderTurn !== null) return placeBelow(event.senderTurn, event.flow, sender, sampling)
  const trace = parseTrace(event.flow, event.trace)
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
    traceId: parseTrace(flow, null).traceId,
    sampled: isSampled(parseTrace(flow, null), sampling),
  }
  return { traceId, parentId: turnSpanId(turn), remoteParent: false, sampled }
}

/** A result waits for the next commit, so a model's answer ended at the latest when its first tool began. */
function findEnd(event: EventOf<'step.ended'>, at: Millis, ahead: LookAhead): Millis {
  if (event.kind !== 'model') return at
  const next = ahead().find(
    (stored) => stored.event.turn === event.turn && stored.event.type === 'step.ended',
  )?.event
  return next?.type === 'step.ended' && next.startedAt >= event.startedAt ? Math.min(at, next.startedAt) : at
}

/** Undefined where neither says anything. */
const addUp = (a: number | undefined, b: number | undefined): number | undefined =>
  b === undefined ? a : (a ?? 0) + b

function addUsage(turn: OpenTurn, { kind, name, usage }: EventOf<'step.ended'>): void {
  if (kind === 'model') turn.model = name
  if (usage === null) return
  turn.usage = {
    input: (turn.usage?.input ?? 0) + usage.input,
    output: (turn.usage?.output ?? 0) + usage.output,
    nanoUsd: addUp(turn.usage?.nanoUsd, usage.cost?.nanoUsd),
    plan: addUp(turn.usage?.plan, readCost(usage).plan),
  }
}
