/** Requests as lists look for them, each from what happened to it; see own-fold.ts. */
import type { Event, EventOf, OpeningMessage } from '../src/model/event.ts'
import { opensTurn } from '../src/model/opening.ts'
import { isFailure, isLook, readRootEnd } from '../src/model/request-name.ts'
import type { Place, Row } from './own-fold.ts'

type Called = { opened: EventOf<'call.opened'>; at: number; ended: EventOf<'call.ended'> | null }
type Request = {
  seq: number
  asked: OpeningMessage
  place: number | null
  isClient: boolean
  called: Called[]
  refused: boolean
  ended: EventOf<'turn.ended'> | null
}

export class OwnRequests {
  readonly #sessions = new Map<string, EventOf<'session.created'>>()
  readonly #places = new Map<string, number>()
  readonly #requests = new Map<string, Request>()
  readonly #calls = new Map<string, Called>()
  readonly #seen = new Set<string>()

  take(event: Event, { seq, at }: Place): void {
    if (event.type === 'session.created') this.#sessions.set(event.session, event)
    if (event.type === 'flow.seen') this.#seen.add(event.flow)
    if (opensTurn(event) && event.turn === `turn_${event.flow.slice('flow_'.length)}`) this.#open(event, seq)
    if (event.type === 'call.opened') {
      const called: Called = { opened: event, at, ended: null }
      this.#calls.set(event.call, called)
      this.#requests.get(event.turn ?? '')?.called.push(called)
    }
    const request = this.#requests.get(event.turn ?? '')
    if (event.type === 'call.refused' && request !== undefined) request.refused = true
    if (event.type === 'turn.ended' && request !== undefined) request.ended = event
    const call = event.type === 'call.ended' ? this.#calls.get(event.call) : undefined
    if (event.type === 'call.ended' && call !== undefined) call.ended = event
  }

  #open(asked: OpeningMessage, seq: number): void {
    const session = this.#sessions.get(asked.session)
    if (session !== undefined && !this.#places.has(session.cwd))
      this.#places.set(session.cwd, this.#places.size + 1)
    this.#requests.set(asked.turn ?? '', {
      seq,
      asked,
      place: this.#places.get(session?.cwd ?? '') ?? null,
      isClient: session?.kind === 'external',
      called: [],
      refused: false,
      ended: null,
    })
  }

  renderPlaces = (): Map<string, Row> =>
    new Map(Array.from(this.#places, ([path, id]) => [String(id), { id, path }]))

  renderRequests = (): Map<string, Row> =>
    new Map(
      Array.from(this.#requests.values(), (request) => [
        String(request.seq),
        renderRequest(request, this.#seen.has(request.asked.flow)),
      ]),
    )
}

function renderRequest({ seq, asked, place, isClient, called, refused, ended }: Request, seen: boolean): Row {
  const order = called.toSorted((a, b) => a.at - b.at || (a.opened.call < b.opened.call ? -1 : 1))
  const last = order.at(-1)
  const made =
    last !== undefined
      ? [{ outcome: last.ended?.outcome ?? null, error: null }]
      : refused
        ? [{ outcome: 'refused' as const, error: null }]
        : []
  const failed = ended !== null && isFailure(readRootEnd(ended, isClient, made).outcome)
  return {
    seq,
    turn: asked.turn,
    agent: isClient ? (called[0]?.opened.grant.agent ?? '') : asked.grant.agent,
    place,
    framed: isClient && (ended === null || ended.outcome === 'completed') ? 1 : 0,
    look: isLook(asked, isClient) ? 1 : 0,
    ended: ended === null ? 0 : 1,
    failed: failed ? 1 : 0,
    unseen: failed && !seen ? 1 : 0,
  }
}
