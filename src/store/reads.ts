/** Reads outside transactions: the log, single rows, and what is due. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Entry } from '../model/context.ts'
import type { StoredEvent } from '../model/event.ts'
import { type SessionId, type TurnId, toCallId } from '../model/id.ts'
import type { Due, EventFilter, Store } from '../runtime/kernel/store-port.ts'
import { type LogRow, numberEvents, prepareFindEvent, readEvents } from './log-row.ts'
import { listSegments } from './segments.ts'
import { arrays, entryAt, entryColumns, parseGrants, selected } from './rows.ts'
import { sessionAt, sessionColumns, turnAt, turnColumns, type RawArray } from './rows.ts'

const turn = selected('t', turnColumns)
const session = selected('s', sessionColumns)
const leaseGone = 'not exists (select 1 from nodes n where n.id = t.node and n.until > ?1)'

function prepareAll(db: DatabaseSync) {
  const turns = (where: string): StatementSync =>
    arrays(db.prepare(`select ${turn} from turns t where ${where}`))
  return {
    refused: db.prepare('select seq from refused where call = ?'),
    log: db.prepare('select seq, at, events from log where seq > ? order by seq limit +?'),
    timeline: db.prepare(
      `select l.seq as seq, l.at as at, l.events as events from log_sessions x join log l on l.seq = x.seq
        where x.session = ? and x.seq > ? order by x.seq limit +?`,
    ),
    session: arrays(db.prepare(`select ${session} from sessions s where s.id = ?`)),
    sessions: arrays(
      db.prepare(`select ${session} from sessions s where s.id > '' and (?1 is null or s.agent = ?1)
        and (?2 is null or s.kind = ?2) order by s.id desc limit +?3`),
    ),
    byFlow: turns(`t.id = 'turn_' || substr(?1, 6) or (t.flow = ?1 and t.caller is not null)
        or t.id in (select m.turn from messages m where m.flow = ?1 and m.sender is not null)
      order by t.opened_at, t.id limit +?2`),
    bySession: turns('t.live = 1 and t.session = ? order by t.id limit +?'),
    byCaller: turns(`t.pending = 1 and t.caller = (select session from turns where id = ?1)
      and t.caller_turn = ?1 order by t.id limit +?2`),
    entries: arrays(
      db.prepare(`select ${entryColumns} from json_each(?2) x
        cross join entries e on e.session = ?1 and e.n = x.value order by x.key`),
    ),
    overdueCalls: db.prepare(
      `select id from turns where live = 1 and session > '' and pending = 1 and call_deadline <= ? limit +?`,
    ),
    waiting: db.prepare(`select distinct q.session as id from turns q
      where q.live = 1 and q.session > ?1 and q.state = 'queued' and not exists (
        select 1 from turns r where r.live = 1 and r.session = q.session and r.state = 'running')
      order by q.session limit +?2`),
    orphaned: db.prepare(`select distinct t.session as id from turns t
      where t.live = 1 and t.session > ?3 and t.state = 'running' and ${leaseGone}
      order by t.session limit +?2`),
    lost: db.prepare(`select t.id as id from turns t join sessions s on s.id = t.session
      where t.live = 1 and t.session > '' and t.state = 'running' and s.kind = 'external' and ${leaseGone}
      limit +?2`),
    overdueTurns: db.prepare(
      `select id from turns where live = 1 and session > '' and state = 'running' and deadline <= ? limit +?`,
    ),
  }
}
type Statements = ReturnType<typeof prepareAll>
type Reads = 'session' | 'sessions' | 'turns' | 'entriesByNumber' | 'due' | 'event' | 'refused' | 'read'

export function prepareReads(db: DatabaseSync): Pick<Store, Reads> {
  const statements = prepareAll(db)
  const grants = parseGrants(db)
  const findEvent = prepareFindEvent(db)
  return {
    async session(id) {
      const raw = statements.session.get(id) as RawArray | undefined
      return raw === undefined ? null : sessionAt(raw, 0)
    },
    async sessions({ agent = null, kind = null }, limit) {
      const rows = statements.sessions.all(agent, kind, limit) as unknown as RawArray[]
      return rows.map((raw) => sessionAt(raw, 0))
    },
    async turns(filter, limit) {
      const rows =
        filter.flow !== undefined
          ? statements.byFlow.all(filter.flow, limit)
          : filter.callerTurn !== undefined
            ? statements.byCaller.all(filter.callerTurn, limit)
            : statements.bySession.all(filter.session ?? '', limit)
      return (rows as unknown as RawArray[]).map((raw) => turnAt(raw, 0, grants))
    },
    entriesByNumber: async (id, numbers) => readEntries(db, statements, id, numbers),
    due: async (at, limit, after = null) => ({
      calls: listIds<TurnId>(statements.overdueCalls, at, limit).map(toCallId),
      ...pageSessions(
        listIds<SessionId>(statements.waiting, after ?? '', limit),
        listIds<SessionId>(statements.orphaned, at, limit, after ?? ''),
        limit,
      ),
      turns: listIds<TurnId>(statements.overdueTurns, at, limit),
      lost: listIds<TurnId>(statements.lost, at, limit),
    }),
    event: async (seq) => findEvent(seq),
    async refused(call) {
      const row = statements.refused.get(call) as { seq: number } | undefined
      return row === undefined ? null : findEvent(row.seq)
    },
    async read(after, filter, limit) {
      const page = readLog(db, after, filter, limit, (from) => fetchRows(statements, filter, from, limit))
      // Lets other work run between two pages of a long log.
      if (page.events.length >= limit) await new Promise<void>((resolve) => setImmediate(resolve))
      return page
    },
  }
}

const listIds = <Id extends string>(statement: StatementSync, ...values: (string | number)[]): Id[] =>
  (statement.all(...values) as { id: Id }[]).map(({ id }) => id)

function readEntries(
  db: DatabaseSync,
  statements: Statements,
  id: SessionId,
  numbers: readonly number[],
): Entry[] {
  const newest = numbers.reduce((most, n) => Math.max(most, n), 0)
  const segments = listSegments(db, id, newest)
  const read = (from: string, some: readonly number[]): Entry[] =>
    (statements.entries.all(from, JSON.stringify(some)) as unknown as RawArray[]).map(entryAt)
  if (segments.length <= 1) return read(segments[0]?.session ?? id, numbers)
  const entries = segments.flatMap(({ session: from, first, last }) => {
    const own = numbers.filter((n) => first <= n && n <= last)
    return read(from, own)
  })
  const found = new Map(entries.map((entry) => [entry.n, entry]))
  return numbers.flatMap((n) => found.get(n) ?? [])
}

/** The first of both, in order; where there may be more, `next` is the last of them. */
function pageSessions(
  waiting: readonly SessionId[],
  orphaned: readonly SessionId[],
  limit: number,
): Pick<Due, 'sessions' | 'next'> {
  const both = [...new Set([...waiting, ...orphaned])].sort()
  const sessions = both.slice(0, limit)
  const isMore = waiting.length === limit || orphaned.length === limit || both.length > limit
  return { sessions, next: isMore ? (sessions.at(-1) ?? null) : null }
}

function fetchRows(statements: Statements, { sessions }: EventFilter, from: number, count: number): LogRow[] {
  if (sessions === undefined) return statements.log.all(from, count) as LogRow[]
  const rows = new Map<number, LogRow>()
  for (const id of sessions)
    for (const row of statements.timeline.all(id, from, count) as LogRow[]) rows.set(row.seq, row)
  return [...rows.values()].sort((a, b) => a.seq - b.seq).slice(0, count)
}

/** Pages through rows until `limit` events pass; `next` is where to go on, also when nothing passed. */
function readLog(
  db: DatabaseSync,
  after: number,
  filter: EventFilter,
  limit: number,
  fetch: (from: number) => LogRow[],
): { events: StoredEvent[]; next: number } {
  const events: StoredEvent[] = []
  const sessions = filter.sessions === undefined ? null : new Set<string>(filter.sessions)
  const types = filter.types === undefined ? null : new Set<string>(filter.types)
  let next = after
  for (let page = fetch(next); page.length > 0; page = fetch(next)) {
    for (const row of page) {
      for (const stored of numberEvents(row, readEvents(db, row))) {
        if (stored.seq <= after) continue
        const { session: of, type } = stored.event
        if (sessions?.has(of) !== false && types?.has(type) !== false) {
          if (events.length === limit) return { events, next: (events.at(-1) as StoredEvent).seq }
          events.push(stored)
        }
        next = stored.seq
      }
      // A row without a readable event is behind us too, or it would be read for ever.
      next = row.seq
    }
    if (events.length >= limit) break
  }
  return { events, next }
}
