/**
 * Which turns an id stands for, and their events: a call is its turn and everything below, a session is its
 * turns and everything below them, a flow is all that one request caused.
 */
import assert from 'node:assert/strict'
import type { Event, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { isCallId, isSessionId, toTurnId, type FlowId, type SessionId, type TurnId } from '../../model/id.ts'
import type { Lists } from './lists-port.ts'
import type { EventFilter, Store } from './store-port.ts'
export type LogReader = Pick<
  Store,
  'read' | 'turn' | 'turns' | 'session' | 'event' | 'refused' | 'entriesByNumber'
>
/** Finds ids by a part of them, however long the log is. */
export type IdLists = Pick<Lists, 'idsLike' | 'sessionsLike'>
export type ScopeReader = LogReader & { readonly lists: IdLists }
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
export async function findScope(store: ScopeReader, given: string): Promise<Scope> {
  const scope = await findNamed(store, store.lists, given)
  if (scope.turns.length === 0) throw new UnknownId(await whyNothing(store, scope.id))
  return scope
}

/** The same, also for a call that was refused and a session that has run nothing: those have no turns. */
export async function findNamed(store: LogReader, lists: IdLists, given: string): Promise<Scope> {
  const exact = await readTurns(store, given)
  if (exact !== null && (exact.turns.length > 0 || (await isKnown(store, given)))) return exact
  const ids = await findLike(store, lists, given)
  if (ids.length > 1)
    throw new UnknownId(`"${given}" is a part of several ids: ${listSome(ids)}. Name one of them.`)
  const found = ids[0] === undefined ? null : await readTurns(store, ids[0])
  if (found === null) throw new UnknownId(await whyUnknown(lists, given))
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

/**
 * What a part of an id can mean, the newest first. The session that a call made has the number of its call:
 * everywhere a flow comes first, then a call.
 */
async function findLike(store: LogReader, lists: IdLists, given: string): Promise<string[]> {
  if (given === 'last') return lists.idsLike('flow', '', 1)
  if (given === '') return []
  for (const kind of ['flow', 'call'] as const) {
    const ids = await lists.idsLike(kind, given, suggestionsMax + 1)
    if (ids.length > 0) return ids
  }
  const sessions = await lists.sessionsLike(given, suggestionsMax + 1)
  return given.startsWith('ses_') ? [...sessions, ...(await findOwn(store, lists, given))] : sessions
}

/** Sessions that calls made for themselves are in no list. */
async function findOwn(store: LogReader, lists: IdLists, given: string): Promise<SessionId[]> {
  const found: SessionId[] = []
  for (const call of await lists.idsLike('call', `call_${given.slice(4)}`, suggestionsMax + 1)) {
    const id: SessionId = `ses_${call.slice(5)}`
    if ((await store.session(id)) !== null) found.push(id)
  }
  return found
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

async function whyUnknown(lists: IdLists, given: string): Promise<string> {
  const prefix = (['call_', 'ses_', 'flow_'] as const).find((one) => given.startsWith(one))
  if (prefix === undefined && given !== 'last')
    return `no flow, call or session has "${given}" in its id. ${await suggestion(lists, 'flow')}`
  const kind = kinds[prefix ?? 'flow_']
  return `there is no ${kind} "${given}" in this log. ${await suggestion(lists, kind)}`
}

async function suggestion(lists: IdLists, kind: ScopeKind): Promise<string> {
  const ids =
    kind === 'session'
      ? await lists.sessionsLike('', suggestionsMax)
      : await lists.idsLike(kind, '', suggestionsMax)
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
