/** Reads outside transactions: the log, single rows, and what is due. */
import type { DatabaseSync } from 'node:sqlite'
import type { Entry } from '../model/context.ts'
import type { StoredEvent } from '../model/event.ts'
import type { SessionRow, TurnRow } from '../model/facts.ts'
import type { CallId, Millis, SessionId, TurnId } from '../model/id.ts'
import type { Due, EventFilter, Store } from '../runtime/kernel/store-port.ts'
import { readableEvents, type LogRow } from './log-row.ts'
import { listSegments } from './segments.ts'
import {
  arrays,
  entryOfRaw,
  parseGrants,
  selected,
  sessionAt,
  sessionColumns,
  turnAt,
  turnColumns,
  type Raw,
  type RawArray,
} from './rows.ts'

const turn = selected('t', turnColumns)
const session = selected('s', sessionColumns)

function prepareAll(db: DatabaseSync) {
  return {
    refused: db.prepare('select seq from refused where call = ?'),
    last: db.prepare('select max(seq) as seq from log'),
    log: db.prepare('select seq, at, events from log where seq > ? order by seq limit +?'),
    logOf: db.prepare(
      'select l.seq as seq, l.at as at, l.events as events from log_sessions x join log l on l.seq = x.seq where x.session = ? and x.seq > ? order by x.seq limit +?',
    ),
    session: arrays(db.prepare(`select ${session} from sessions s where s.id = ?`)),
    sessions: arrays(
      db.prepare(
        `select ${session} from sessions s where s.id > '' and (?1 is null or s.agent = ?1) and (?2 is null or s.kind = ?2) order by s.id desc limit +?3`,
      ),
    ),
    byFlow: arrays(
      db.prepare(
        `select ${turn} from turns t where t.id = 'turn_' || substr(?1, 6) or (t.flow = ?1 and t.caller is not null) or t.id in (select m.turn from messages m where m.flow = ?1 and m.sender is not null) order by t.opened_at, t.id limit +?2`,
      ),
    ),
    bySession: arrays(
      db.prepare(`select ${turn} from turns t where t.live = 1 and t.session = ? order by t.id limit +?`),
    ),
    byCaller: arrays(
      db.prepare(
        `select ${turn} from turns t where t.pending = 1 and t.caller = (select session from turns where id = ?1) and t.caller_turn = ?1 order by t.id limit +?2`,
      ),
    ),
    entries: db.prepare(
      'select e.n, e.role, e.at, e.text, e.tokens, e.sender, e.turn, e.has_steps from json_each(?2) x cross join entries e on e.session = ?1 and e.n = x.value order by x.key',
    ),
    overdueCalls: db.prepare(
      `select id from turns where live = 1 and session > '' and pending = 1 and call_deadline <= ? limit +?`,
    ),
    waiting:
      db.prepare(`select distinct q.session as session from turns q where q.live = 1 and q.session > ?1 and q.state = 'queued'
      and not exists (select 1 from turns r where r.live = 1 and r.session = q.session and r.state = 'running') order by q.session limit +?2`),
    orphaned: db.prepare(
      `select distinct t.session as session from turns t where t.live = 1 and t.session > ?3 and t.state = 'running' and not exists (select 1 from nodes n where n.id = t.node and n.until > ?1) order by t.session limit +?2`,
    ),
    lost: db.prepare(
      `select t.id as id from turns t join sessions s on s.id = t.session where t.live = 1 and t.session > '' and t.state = 'running' and s.kind = 'external' and not exists (select 1 from nodes n where n.id = t.node and n.until > ?1) limit +?2`,
    ),
    overdueTurns: db.prepare(
      `select id from turns where live = 1 and session > '' and state = 'running' and deadline <= ? limit +?`,
    ),
  }
}

export function prepareReads(db: DatabaseSync) {
  const statements = prepareAll(db)
  const grants = parseGrants(db)
  return {
    lastSeq: (): number => (statements.last.get() as { seq: number | null }).seq ?? 0,
    session(id: SessionId): SessionRow | null {
      const raw = statements.session.get(id) as RawArray | undefined
      return raw === undefined ? null : sessionAt(raw, 0)
    },
    sessions: (filter: Parameters<Store['sessions']>[0], limit: number): SessionRow[] =>
      (
        statements.sessions.all(filter.agent ?? null, filter.kind ?? null, limit) as unknown as RawArray[]
      ).map((raw) => sessionAt(raw, 0)),
    turns(filter: Parameters<Store['turns']>[0], limit: number): TurnRow[] {
      const rows =
        filter.flow !== undefined
          ? statements.byFlow.all(filter.flow, limit)
          : filter.callerTurn !== undefined
            ? statements.byCaller.all(filter.callerTurn, limit)
            : statements.bySession.all(filter.session ?? '', limit)
      return (rows as unknown as RawArray[]).map((raw) => turnAt(raw, 0, grants))
    },
    entries(id: SessionId, numbers: readonly number[]): Entry[] {
      const segments = listSegments(
        db,
        id,
        numbers.reduce((most, n) => Math.max(most, n), 0),
      )
      const read = (session: string, some: readonly number[]): Entry[] =>
        (statements.entries.all(session, JSON.stringify(some)) as Raw[]).map(entryOfRaw)
      if (segments.length <= 1) return read(segments[0]?.session ?? id, numbers)
      const found = new Map(
        segments
          .flatMap(({ session, first, last }) =>
            read(
              session,
              numbers.filter((n) => first <= n && n <= last),
            ),
          )
          .map((entry) => [entry.n, entry]),
      )
      return numbers.flatMap((n) => found.get(n) ?? [])
    },
    due: (at: Millis, limit: number, after: SessionId | null = null): Due => ({
      calls: (statements.overdueCalls.all(at, limit) as { id: TurnId }[]).map(
        ({ id }): CallId => `call_${id.slice(5)}`,
      ),
      ...page(
        idsOf(statements.waiting.all(after ?? '', limit)),
        idsOf(statements.orphaned.all(at, limit, after ?? '')),
        limit,
      ),
      turns: (statements.overdueTurns.all(at, limit) as { id: TurnId }[]).map(({ id }) => id),
      lost: (statements.lost.all(at, limit) as { id: TurnId }[]).map(({ id }) => id),
    }),
    event: (seq: number): StoredEvent | null => eventAt(db, statements, seq),
    refused(call: string): StoredEvent | null {
      const row = statements.refused.get(call) as { seq: number } | undefined
      return row === undefined ? null : eventAt(db, statements, row.seq)
    },
    read(after: number, filter: EventFilter, limit: number): { events: StoredEvent[]; next: number } {
      return readLog(db, after, filter, limit, (from, count) => fetch(statements, filter, from, count))
    },
  }
}

const idsOf = (rows: readonly unknown[]): SessionId[] =>
  rows.map((row) => (row as { session: SessionId }).session)

/** The first of both, in order; where there may be more, `next` is the last of them. */
function page(
  waiting: readonly SessionId[],
  orphaned: readonly SessionId[],
  limit: number,
): Pick<Due, 'sessions' | 'next'> {
  const both = [...new Set([...waiting, ...orphaned])].sort()
  const sessions = both.slice(0, limit)
  return {
    sessions,
    next:
      waiting.length === limit || orphaned.length === limit || both.length > limit
        ? (sessions.at(-1) ?? null)
        : null,
  }
}

function eventAt(
  db: DatabaseSync,
  statements: ReturnType<typeof prepareAll>,
  seq: number,
): StoredEvent | null {
  const row = statements.log.get(seq - 1, 1) as LogRow | undefined
  return row === undefined ? null : (unpack(db, row).find((stored) => stored.seq === seq) ?? null)
}

function fetch(
  statements: ReturnType<typeof prepareAll>,
  filter: EventFilter,
  from: number,
  count: number,
): LogRow[] {
  if (filter.sessions === undefined) return statements.log.all(from, count) as LogRow[]
  const rows = new Map<number, LogRow>()
  for (const id of filter.sessions)
    for (const row of statements.logOf.all(id, from, count) as LogRow[]) rows.set(row.seq, row)
  return [...rows.values()].sort((a, b) => a.seq - b.seq).slice(0, count)
}

function unpack(db: DatabaseSync, row: LogRow): StoredEvent[] {
  const events = readableEvents(db, row.seq, row.events)
  return events.map((event, index) => ({ seq: row.seq - events.length + index + 1, at: row.at, event }))
}

/** Pages through rows until `limit` events pass; `next` is where to go on, also when nothing passed. */
function readLog(
  db: DatabaseSync,
  after: number,
  filter: EventFilter,
  limit: number,
  rows: (from: number, count: number) => LogRow[],
): { events: StoredEvent[]; next: number } {
  const events: StoredEvent[] = []
  const sessions = filter.sessions === undefined ? null : new Set<string>(filter.sessions)
  const types = filter.types === undefined ? null : new Set<string>(filter.types)
  let next = after
  for (let page = rows(next, limit); page.length > 0; page = rows(next, limit)) {
    for (const row of page) {
      for (const stored of unpack(db, row)) {
        if (stored.seq <= after) continue
        if (
          (sessions === null || sessions.has(stored.event.session)) &&
          (types === null || types.has(stored.event.type))
        ) {
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
