/** What doors show of a flow: a root request with all its calls and messages. */
import { renderCost } from '../../model/money.ts'
import type { TurnRow } from '../../model/facts.ts'
import { toCallId, type FlowId, type TurnId } from '../../model/id.ts'
import { pageUnitsMax } from '../../model/limits.ts'
import { nameText, readTask } from '../../model/request-name.ts'
import type { CallRecord } from '../../wire/calls.ts'
import type { Flow } from '../../wire/log.ts'
import { mapGently } from '../kernel/gently.ts'
import type { Runtime } from './runtime.ts'
import { nameAsker, readRequestEnd, readRoot, summariseFlow, toRootTurn } from './flows.ts'
import { readRecord } from './record.ts'
import { noAmount, readSpent, type Amount } from './spent.ts'
import { lastOutcome } from './state.ts'
import type { StoredEvent } from '../../model/event.ts'
import { readAll } from '../kernel/scope.ts'
import type { Store } from '../kernel/store-port.ts'

const turnsMax = 10_000

/** About how much of a record depends on what others wrote. */
const measure = ({ task, output, input }: CallRecord): number =>
  task.length + output.length + (input === null ? 0 : JSON.stringify(input).length)

/**
 * The calls of a flow, of which there may be many, each with a long result: once there are more texts than a
 * page may carry, outputs are previews and inputs are left out. A single record has all of it.
 */
async function readCalls(
  runtime: Runtime,
  rows: readonly TurnRow[],
  spent: ReadonlyMap<TurnId, Amount>,
): Promise<CallRecord[]> {
  let units = 0
  const calls = await mapGently(runtime, rows, async (row) => {
    const read = await readRecord(runtime.store, toCallId(row.id))
    if (read === null) return null
    const { tokens, spent: own } = spent.get(row.id) ?? noAmount
    const record = tokens > read.tokensUsed ? { ...read, tokensUsed: tokens, cost: renderCost(own) } : read
    units += measure(record)
    return units <= pageUnitsMax
      ? record
      : {
          ...record,
          input: null,
          output: record.output_preview,
          truncated: record.truncated || record.output_preview.length < record.output.length,
        }
  })
  return calls.filter((record) => record !== null)
}

/** One root request with all its calls; tokens and time are rolled up. */
export async function readFlow(runtime: Runtime, id: string): Promise<Flow | null> {
  const rows = await runtime.store.turns({ flow: id as FlowId }, turnsMax)
  const root = await readRoot(runtime, toRootTurn(id))
  if (root === null || root.row.flow !== id) return null
  const { row, event, at, isClient, session } = root
  const summary = await summariseFlow(runtime, { turn: row.id, seen: false })
  const spent = await readSpent(runtime.store, rows)
  const end = await readRequestEnd(runtime, root, rows)
  const task = readTask(event, isClient)
  return {
    flow: row.flow,
    root: {
      turn: row.id,
      session: row.session,
      agent: row.grant.agent,
      askedBy: nameAsker(runtime, root),
      title: nameText(task),
      task,
      cwd: session.cwd,
      text: event.text,
      outcome: end?.outcome ?? null,
      error: end?.error ?? null,
      output: end?.output ?? '',
      openedAt: at,
      endedAt: end?.at ?? null,
    },
    state: summary?.state ?? (end === null ? 'running' : 'ended'),
    waitsFor: summary?.waitsFor ?? '',
    calls: await readCalls(
      runtime,
      rows.filter((one) => one.call !== null),
      spent.of,
    ),
    messages: await messagesIn(
      runtime,
      rows.filter((one) => one.call === null && one.id !== row.id),
      spent.of,
    ),
    tokensUsed: spent.total.tokens,
    cost: renderCost(spent.total.spent),
    durationMs: (end?.at ?? runtime.clock.now()) - at,
  }
}

/** What agents wrote to each other on behalf of this request, and what became of it. */
async function messagesIn(
  runtime: Runtime,
  rows: readonly TurnRow[],
  spent: ReadonlyMap<TurnId, Amount>,
): Promise<Flow['messages']> {
  const messages = await mapGently(runtime, rows, async (row) => {
    const opened = (await runtime.store.event(row.openedSeq))?.event
    const sent = opened?.type === 'message.sent' || opened?.type === 'message.delivered' ? opened : null
    return sent === null
      ? null
      : {
          turn: row.id,
          session: row.session,
          agent: row.grant.agent,
          from: sent.from,
          text: sent.text,
          outcome: await lastOutcome(runtime, row),
          tokensUsed: (spent.get(row.id) ?? noAmount).tokens,
          cost: renderCost((spent.get(row.id) ?? noAmount).spent),
          openedAt: row.openedAt,
        }
  })
  return messages.filter((message) => message !== null)
}

// The events of one flow in pages, however long ago it was and however long its sessions have lived since.

/**
 * `next` is the `after` of the next page; null where everything up to `upTo`, the end of the log, was looked
 * at.
 */
export type FlowEvents = { events: StoredEvent[]; next: number | null; upTo: number }

/** R11: more turns than one flow can have with the limits as they come. */
const eventTurnsMax = 100_000
/** How many events are looked at for one page: sessions that live on have many that are not of this flow. */
const scannedMax = 5000
const pageSize = 500
/** Beyond so many sessions the log itself is read: each session costs a look of its own. */
const sessionsMax = 50
/** Events of one transaction stand together: a turn ends within so many of the end of its call. */
const transactionEvents = 64

export async function readFlowEvents(
  store: Pick<Store, 'read' | 'turns' | 'event' | 'lastSeq'>,
  id: string,
  after: number,
  limit: number,
): Promise<FlowEvents | null> {
  const end = await durableEnd(store)
  const turns = (await store.turns({ flow: id as FlowId }, eventTurnsMax)).filter((row) => row.flow === id)
  if (!turns.some((row) => row.id === `turn_${id.slice(5)}`)) return null
  const last = Math.min(end, await findLast(store, turns))
  const ids = new Set<TurnId>(turns.map((row) => row.id))
  const sessions = [...new Set(turns.map((row) => row.session))]
  const filter = sessions.length > sessionsMax ? {} : { sessions }
  const events: StoredEvent[] = []
  let units = 0
  // Its first event is what opened it; only the session that a call made is a little older.
  let cursor = Math.max(
    after,
    turns.reduce((least, row) => Math.min(least, row.openedSeq), Infinity) - transactionEvents,
    0,
  )
  for (let scanned = 0; scanned < scannedMax && units <= pageUnitsMax && cursor < last;) {
    const page = await store.read(cursor, filter, pageSize)
    for (const stored of page.events) {
      if (stored.seq > last) return { events, next: null, upTo: end }
      if (events.length === limit) return { events, next: cursor, upTo: end }
      cursor = stored.seq
      if (belongsTo(stored, id, ids)) events.push(stored)
    }
    if (!page.more) return { events, next: null, upTo: end }
    scanned += page.events.length
    units += page.units
  }
  return { events, next: cursor < last ? cursor : null, upTo: end }
}

const belongsTo = ({ event }: StoredEvent, flow: string, turns: ReadonlySet<TurnId>): boolean =>
  event.type === 'session.created' ? event.flow === flow : event.turn !== null && turns.has(event.turn)

/** A number is given out before its event is durable; what is not there yet comes on the stream. */
async function durableEnd(store: Pick<Store, 'read' | 'event' | 'lastSeq'>): Promise<number> {
  const end = store.lastSeq()
  if (end === 0 || (await store.event(end)) !== null) return end
  const from = Math.max(0, end - pageSize)
  return (await readAll(store, from, {})).at(-1)?.seq ?? from
}

/**
 * Where its last event can be: at the end of the log while a turn is open, and not far behind the last end
 * otherwise.
 */
async function findLast(store: Pick<Store, 'read'>, turns: readonly TurnRow[]): Promise<number> {
  let last = 0
  for (const { state, session, id, call, endedSeq } of turns) {
    if (state !== 'ended' || endedSeq === null) return Infinity
    last = Math.max(last, endedSeq)
    // A call that was given up ends before its turn does.
    if (call === null || call.outcome === 'completed') continue
    const { events } = await store.read(endedSeq, { sessions: [session], types: ['turn.ended'] }, 1)
    if (events[0]?.event.turn === id) last = Math.max(last, events[0].seq)
  }
  return last + transactionEvents
}
