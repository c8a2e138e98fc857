/**
 * Which turns an id stands for, and their events: a call is its turn and everything below, a session is its
 * turns and everything below them, a flow is all that one request caused.
 */
import assert from 'node:assert/strict'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { isCallId, isSessionId, toTurnId, type FlowId, type SessionId, type TurnId } from '../../model/id.ts'
import type { EventFilter, Store } from './store-port.ts'
export type LogReader = Pick<
  Store,
  'read' | 'turn' | 'turns' | 'session' | 'event' | 'refused' | 'entriesByNumber' | 'lastSeq'
>
export type ScopeKind = 'call' | 'session' | 'flow'
/** `turns` are in the order in which they were opened. */
export type Scope = { id: string; kind: ScopeKind; turns: TurnRow[] }

/** The id names nothing in this log; the message says what would be right. */
export class UnknownId extends Error {
  override readonly name = 'UnknownId'
}

/** R11: more turns than one flow can have with the limits as they come. */
const turnsMax = 100_000
const pageSize = 1000
const suggestionsMax = 5

export const isFlowId = (text: string): text is FlowId => text.startsWith('flow_') && text.length > 5

/** By a whole id, a part that only one has, or `last`: the newest flow. It must have run something. */
export async function findScope(store: LogReader, given: string): Promise<Scope> {
  const scope = await findNamed(store, given)
  if (scope.turns.length === 0) throw new UnknownId(await whyNothing(store, scope.id))
  return scope
}

/** The same, also for a call that was refused and a session that has run nothing: those have no turns. */
export async function findNamed(store: LogReader, given: string): Promise<Scope> {
  const exact = await readTurns(store, given)
  if (exact !== null && (exact.turns.length > 0 || (await isKnown(store, given)))) return exact
  const ids = await findLike(store, given)
  if (ids.length > 1)
    throw new UnknownId(`"${given}" is a part of several ids: ${listSome(ids)}. Name one of them.`)
  const found = ids[0] === undefined ? null : await readTurns(store, ids[0])
  if (found === null) throw new UnknownId(await whyUnknown(store, given))
  return found
}

const kinds = { call_: 'call', ses_: 'session', flow_: 'flow' } as const

async function readTurns(store: LogReader, id: string): Promise<Scope | null> {
  const turns = isCallId(id)
    ? await turnsOfCall(store, id)
    : isSessionId(id)
      ? await turnsOfSession(store, id)
      : isFlowId(id)
        ? await store.turns({ flow: id }, turnsMax)
        : null
  return turns === null
    ? null
    : {
        id,
        kind: isCallId(id) ? 'call' : isSessionId(id) ? 'session' : 'flow',
        turns: turns.toSorted((a, b) => a.openedSeq - b.openedSeq),
      }
}

const isKnown = async (store: LogReader, id: string): Promise<boolean> =>
  isCallId(id) ? (await store.refused(id)) !== null : isSessionId(id) && (await store.session(id)) !== null

/** What a part of an id can mean; of a kind, if it begins like one. */
async function findLike(store: LogReader, given: string): Promise<string[]> {
  if (given === 'last') return (await newestIds(store, 'flow_')).slice(0, 1)
  if (given === '') return []
  const found = new Set<string>()
  for (const { event } of await readAll(store, 0, { types: named })) {
    for (const prefix of ['call_', 'ses_', 'flow_'] as const) {
      const id = nameIn(event, prefix)
      if (id?.includes(given)) found.add(id)
    }
    if (found.size > suggestionsMax) break
  }
  // The session that a call made has the number of its call. Everywhere a flow comes first, then a call.
  for (const prefix of ['flow_', 'call_'] as const) {
    const ofKind = [...found].filter((id) => id.startsWith(prefix))
    if (ofKind.length > 0) return ofKind
  }
  return [...found]
}

async function turnsOfCall(store: LogReader, id: `call_${string}`): Promise<TurnRow[]> {
  const row = await store.turn(toTurnId(id))
  return row === null ? [] : below(await store.turns({ flow: row.flow }, turnsMax), [row])
}

/**
 * A turn stands on the timeline of its session once it was opened by a message or was started; a call that is
 * queued stands on its caller's until then.
 */
async function turnsOfSession(store: LogReader, id: SessionId): Promise<TurnRow[]> {
  const ids = new Set<TurnId>()
  for (const { event } of await readAll(store, 0, {
    sessions: [id],
    types: ['turn.started', 'message.sent', 'message.delivered'],
  }))
    if (event.turn !== null) ids.add(event.turn)
  for (const waiting of await store.turns({ session: id }, turnsMax)) ids.add(waiting.id)
  const found = new Map<TurnId, TurnRow>()
  for (const turn of ids) {
    const row = await store.turn(turn)
    if (row === null) continue
    for (const one of below(await store.turns({ flow: row.flow }, turnsMax), [row])) found.set(one.id, one)
  }
  return [...found.values()]
}

/** Rows come in the order of their opening, so callers come before those they called. */
function below(rows: readonly TurnRow[], tops: readonly TurnRow[]): TurnRow[] {
  const found = new Map<TurnId, TurnRow>(tops.map((row) => [row.id, row]))
  for (const row of rows.toSorted((a, b) => a.openedSeq - b.openedSeq))
    if (row.call !== null && found.has(row.call.callerTurn)) found.set(row.id, row)
  return [...found.values()]
}

async function whyNothing(store: LogReader, id: string): Promise<string> {
  const refused = isCallId(id) ? await store.refused(id) : null
  return refused === null
    ? `${id} has not run a turn.`
    : `${id} was refused, so nothing ran for it. Ask for its caller instead: ${refused.event.session}.`
}

async function whyUnknown(store: LogReader, given: string): Promise<string> {
  const prefix = (['call_', 'ses_', 'flow_'] as const).find((one) => given.startsWith(one))
  if (prefix === undefined && given !== 'last')
    return `no flow, call or session has "${given}" in its id. ${await suggestion(store, 'flow_')}`
  const kind = kinds[prefix ?? 'flow_']
  return `there is no ${kind} "${given}" in this log. ${await suggestion(store, prefix ?? 'flow_')}`
}

const named = ['call.opened', 'call.refused', 'message.sent', 'session.created'] as const

function nameIn(event: Event, prefix: keyof typeof kinds): string | null {
  if (prefix === 'ses_') return event.session
  if (prefix === 'flow_') return event.type === 'message.sent' && event.turn !== null ? event.flow : null
  return event.type === 'call.opened' || event.type === 'call.refused' ? event.call : null
}

/** How many events are looked at before those that are older. */
const backwards = 2000

/** The newest ids of a kind, the newest first. */
async function newestIds(store: LogReader, prefix: keyof typeof kinds): Promise<string[]> {
  for (let span = backwards, end = store.lastSeq(); ; span *= 8) {
    const ids = new Set<string>()
    for (const { event } of await readAll(store, Math.max(0, end - span), { types: named })) {
      const id = nameIn(event, prefix)
      if (id !== null) {
        ids.delete(id)
        ids.add(id)
      }
    }
    if (ids.size >= suggestionsMax || span >= end) return [...ids].toReversed().slice(0, suggestionsMax)
  }
}

async function suggestion(store: LogReader, prefix: keyof typeof kinds): Promise<string> {
  const ids = await newestIds(store, prefix)
  return ids.length === 0 ? 'It has none.' : `The newest are ${ids.join(', ')}.`
}

const listSome = (ids: readonly string[]): string =>
  ids.length > suggestionsMax ? `${ids.slice(0, suggestionsMax).join(', ')} and more` : ids.join(', ')

/** With `upTo` it stops reading there: what comes later costs nothing. */
export async function readAll(
  store: Pick<Store, 'read'>,
  from: number,
  filter: EventFilter,
  upTo = Infinity,
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for (let after = from; ;) {
    const page = await store.read(after, filter, pageSize)
    events.push(...page.events)
    if (!page.more || page.next > upTo) return events.filter(({ seq }) => seq <= upTo)
    after = page.next
  }
}

/**
 * The turn that an event is about: a call's events belong to the turn that serves it as well as to the turn
 * that made it.
 */
const turnsAbout = (event: Event): (TurnId | null)[] =>
  'call' in event ? [event.turn, toTurnId(event.call)] : [event.turn]

/**
 * Everything in the log that is about these turns, in order. Throws where the row that opened one of them cannot be
 * read: what is left would pass for all of it.
 */
export async function readScope(
  store: Pick<Store, 'read'>,
  turns: readonly TurnRow[],
): Promise<StoredEvent[]> {
  for (const turn of turns) assert(turn.grant)
  const ids = new Set<TurnId | null>(turns.map((turn) => turn.id))
  const sessions = new Set<SessionId>(
    turns.flatMap((turn) => (turn.call === null ? [turn.session] : [turn.session, turn.call.caller])),
  )
  const first = turns.reduce((least, turn) => Math.min(least, turn.openedSeq), Infinity)
  const events = await readAll(store, first - 1, { sessions: [...sessions] })
  return events.filter(({ event }) => turnsAbout(event).some((turn) => turn !== null && ids.has(turn)))
}
