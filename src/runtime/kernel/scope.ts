/**
 * Which turns an id stands for, and their events: a call is its turn and everything below, a session is its
 * turns and everything below them, a flow is all that one request caused.
 */
import type { Event, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { isCallId, isSessionId, toTurnId, type FlowId, type SessionId, type TurnId } from '../../model/id.ts'
import type { EventFilter, Store } from './store-port.ts'
export type LogReader = Pick<
  Store,
  'read' | 'turn' | 'turns' | 'session' | 'event' | 'refused' | 'entriesByNumber'
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

export async function findScope(store: LogReader, id: string): Promise<Scope> {
  const turns = isCallId(id)
    ? await turnsOfCall(store, id)
    : isSessionId(id)
      ? await turnsOfSession(store, id)
      : isFlowId(id)
        ? await store.turns({ flow: id }, turnsMax)
        : null
  if (turns === null)
    throw new UnknownId(
      `"${id}" is no id: those of calls begin with call_, of sessions with ses_, of flows with flow_. ` +
        `${await suggestion(store, 'flow_')}`,
    )
  const prefix = `${id.split('_')[0] ?? ''}_`
  if (turns.length === 0) throw new UnknownId(await whyNothing(store, id, prefix))
  return {
    id,
    kind: isCallId(id) ? 'call' : isSessionId(id) ? 'session' : 'flow',
    turns: turns.toSorted((a, b) => a.openedSeq - b.openedSeq),
  }
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

async function whyNothing(store: LogReader, id: string, prefix: string): Promise<string> {
  const refused = isCallId(id) ? await store.refused(id) : null
  if (refused !== null)
    return `${id} was refused, so nothing ran for it. Ask for its caller instead: ${refused.event.session}.`
  if (isSessionId(id) && (await store.session(id)) !== null) return `${id} has not run a turn.`
  return (
    `there is no ${prefix === 'call_' ? 'call' : prefix === 'ses_' ? 'session' : 'flow'} "${id}" in ` +
    `this log. ${await suggestion(store, prefix)}`
  )
}

/** The newest ids of a kind. */
async function suggestion(store: LogReader, prefix: string): Promise<string> {
  const ids = new Set<string>()
  for (const { event } of await readAll(store, 0, {
    types: ['call.opened', 'message.sent', 'session.created'],
  })) {
    const id =
      prefix === 'call_'
        ? event.type === 'call.opened'
          ? event.call
          : null
        : prefix === 'ses_'
          ? event.session
          : event.type === 'message.sent'
            ? event.flow
            : null
    if (id !== null) ids.add(id)
  }
  return ids.size === 0
    ? 'It has none.'
    : `The newest are ${[...ids].slice(-suggestionsMax).toReversed().join(', ')}.`
}

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

/** Everything in the log that is about these turns, in order. */
export async function readScope(
  store: Pick<Store, 'read'>,
  turns: readonly TurnRow[],
): Promise<StoredEvent[]> {
  const ids = new Set<TurnId | null>(turns.map((turn) => turn.id))
  const sessions = new Set<SessionId>(
    turns.flatMap((turn) => (turn.call === null ? [turn.session] : [turn.session, turn.call.caller])),
  )
  const first = turns.reduce((least, turn) => Math.min(least, turn.openedSeq), Infinity)
  const events = await readAll(store, first - 1, { sessions: [...sessions] })
  return events.filter(({ event }) => turnsAbout(event).some((turn) => turn !== null && ids.has(turn)))
}
