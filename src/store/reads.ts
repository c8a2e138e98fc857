/** Reads outside transactions: the log, single rows, and what is due. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { DayRow } from '../model/day-budget.ts'
import type { Store, EventFilter, EventPage } from '../runtime/kernel/store-port.ts'
import { movedRows } from './archive/moved-rows.ts'
import { readQuestion, resolveEntry } from './archive/moved-entries.ts'
import { listNumbers, listTimeline, type TimelineRow } from './archive/moved-timelines.ts'
import {
  listMoved,
  mergeRows,
  numberEvents,
  prepareEventReader,
  readEvents,
  readMoved,
  type LogRow,
} from './log-row.ts'
import {
  arrays,
  parseGrants,
  selected,
  sessionAt,
  sessionColumns,
  turnAt,
  turnColumns,
  type RawArray,
  entryAt,
  entryColumns,
} from './rows.ts'
import type { Entry } from '../model/context.ts'
import type { TurnRow } from '../model/facts.ts'
import { prepareDue } from './due.ts'
import { findSegment, listSegments } from './segments.ts'
import { runGently, unitsPerRow, unitsPerSlice } from './slices.ts'
import { pageUnitsMax } from '../model/limits.ts'
import { nextRound } from '../runtime/kernel/next-round.ts'

const turn = selected('t', turnColumns)
const session = selected('s', sessionColumns)

function prepareAll(db: DatabaseSync) {
  const turns = (where: string): StatementSync =>
    arrays(db.prepare(`select ${turn} from turns t where ${where}`))
  return {
    refused: db.prepare('select seq from refused where call = ?'),
    spentOn: db.prepare('select cwd, spent as nanoUsd from spent_days where day = ?'),
    session: arrays(db.prepare(`select ${session} from sessions s where s.id = ?`)),
    sessions: arrays(
      db.prepare(`select ${session} from sessions s where s.id > '' and (?1 is null or s.agent = ?1)
        and (?2 is null or s.kind = ?2) order by s.id desc limit +?3`),
    ),
    byFlow: turns(`t.id = 'turn_' || substr(?1, 6) or (t.flow = ?1 and t.caller is not null)
        or t.id in (select m.turn from messages m where m.flow = ?1 and m.sender is not null)
      order by t.opened_at, t.id limit +?2`),
    movedByFlow: arrays(
      db.prepare(`select ${turn} from all_turns t where t.id in (
          select id from moved_turns where id = 'turn_' || substr(?1, 6)
          union select id from moved_turns where root <> seq
            and root = (select seq from moved_turns where id = 'turn_' || substr(?1, 6))
          union select v.id from messages m join moved_turns v on v.id = m.turn
            where m.flow = ?1 and m.sender is not null)
        order by t.opened_at, t.id limit +?2`),
    ),
    bySession: turns('t.live = 1 and t.session = ? order by t.id limit +?'),
    byCaller: turns(`t.pending = 1 and t.caller = (select session from turns where id = ?1)
      and t.caller_turn = ?1 order by t.id limit +?2`),
  }
}
type Reads =
  | 'session'
  | 'sessions'
  | 'turns'
  | 'entriesByNumber'
  | 'due'
  | 'event'
  | 'refused'
  | 'read'
  | 'spentOn'

export function prepareReads(db: DatabaseSync): Pick<Store, Reads> {
  const statements = prepareAll(db)
  const grants = parseGrants(db)
  const findEvent = prepareGentleFind(db)
  /** A message may have opened a turn of another flow, so some may be moved and some not. */
  const ofFlow = (flow: string, limit: number): TurnRow[] => {
    const moved = statements.movedByFlow.all(flow, limit) as unknown as RawArray[]
    const rows = (statements.byFlow.all(flow, limit) as unknown as RawArray[]).map((raw) =>
      turnAt(raw, 0, grants),
    )
    if (moved.length === 0) return rows
    return [...rows, ...moved.map((raw) => turnAt(raw, 0, grants))]
      .sort((a, b) => a.openedAt - b.openedAt || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
  }
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
      if (filter.flow !== undefined) return ofFlow(filter.flow, limit)
      const rows =
        filter.callerTurn !== undefined
          ? statements.byCaller.all(filter.callerTurn, limit)
          : statements.bySession.all(filter.session ?? '', limit)
      return (rows as unknown as RawArray[]).map((raw) => turnAt(raw, 0, grants))
    },
    entriesByNumber: prepareEntryPages(db),
    due: prepareDue(db),
    event: findEvent,
    spentOn: async (day) => statements.spentOn.all(day) as DayRow[],
    async refused(call) {
      const row = statements.refused.get(call) as { seq: number } | undefined
      return row === undefined ? null : findEvent(row.seq)
    },
    read: prepareLogPages(db),
  }
}

const longRowUnits = 4096

/** Many long events one after the other are read in slices, even by somebody who asks for one at a time. */
function prepareGentleFind(db: DatabaseSync): Store['event'] {
  const reader = prepareEventReader(db)
  let looked = 0
  return async (seq) => {
    reader.looked = 0
    const found = reader.find(seq)
    if (reader.looked > longRowUnits) looked += reader.looked
    if (looked > unitsPerSlice) {
      looked = 0
      await nextRound()
    }
    return found
  }
}

/** Entries of a conversation by their numbers, as many as fit, in slices. */
function prepareEntryPages(db: DatabaseSync): Store['entriesByNumber'] {
  const one = arrays(db.prepare(`select ${entryColumns} from entries e where e.session = ? and e.n = ?`))
  function* read(
    session: string,
    numbers: readonly number[],
    unitsMax: number,
  ): Generator<undefined, Entry[]> {
    const newest = numbers.reduce((most, n) => Math.max(most, n), 0)
    const segments = listSegments(db, session, newest)
    const entries: Entry[] = []
    let [units, looked] = [0, 0]
    for (const n of numbers) {
      const writer = findSegment(segments, n)?.session ?? session
      const raw = one.get(writer, n) as RawArray | undefined
      const entry = raw === undefined ? readQuestion(db, writer, n) : resolveEntry(db, writer, entryAt(raw))
      if (entry === null) continue
      entries.push(entry)
      units += entry.text.length
      if (units > unitsMax) break
      looked += unitsPerRow + entry.text.length
      if (looked <= unitsPerSlice) continue
      looked = 0
      yield
    }
    return entries
  }
  return (session, numbers, unitsMax = Infinity) => runGently(read(session, numbers, unitsMax))
}

/**
 * Pages of the log. Rows are read one by one and as many as fit, so that a page costs what it carries and not
 * what is behind it; a read that has to look at much lets others run in between.
 */
const prepare = (db: DatabaseSync) => ({
  log: db.prepare('select seq, at, events from log where seq > ? order by seq limit +?'),
  row: db.prepare('select seq, at, events from log where seq = ?'),
})
type Statements = ReturnType<typeof prepare>

function prepareLogPages(db: DatabaseSync): Store['read'] {
  const statements = prepare(db)
  return async (after, filter, limit) => {
    const page: EventPage = { events: [], next: after, more: false, units: 0 }
    const take = (row: LogRow): void => takeRow(db, page, row, after, filter, limit)
    await runGently(fill(db, statements, page, filter, limit, take))
    // Lets other work run between two pages of a long log.
    if (page.more) await nextRound()
    return page
  }
}

/** A bounded number of rows after `from`. With many sessions, only the texts of rows that count are read. */
function* fetchRows(
  db: DatabaseSync,
  statements: Statements,
  { sessions }: EventFilter,
  from: number,
  count: number,
): Generator<LogRow> {
  const [only] = sessions ?? []
  if (sessions === undefined) {
    const rows = statements.log.iterate(from, count) as Iterable<LogRow>
    return yield* movedRows(db).last() > from ? mergeRows(rows, listMoved(db, from), count) : rows
  }
  if (sessions.length === 1 && only !== undefined) {
    for (const row of listTimeline(db, only, from, count)) yield* completeRow(db, row)
    return
  }
  const seqs = new Set<number>()
  for (const id of sessions) for (const seq of listNumbers(db, id, from, count)) seqs.add(seq)
  for (const seq of [...seqs].sort((a, b) => a - b).slice(0, count))
    yield* completeRow(db, (statements.row.get(seq) as LogRow | undefined) ?? { seq, at: null, events: null })
}

/** Of a row that was moved, the log has only the number. */
const lost = ''
function* completeRow(db: DatabaseSync, row: TimelineRow): Generator<LogRow> {
  const whole = row.events === null ? readMoved(db, row.seq) : row
  yield whole ?? { seq: row.seq, at: 0, events: lost } // It was told of, and is passed over.
}

/** Goes on until the page is full or the log has ended, and yields after every slice. */
function* fill(
  db: DatabaseSync,
  statements: Statements,
  page: EventPage,
  filter: EventFilter,
  limit: number,
  take: (row: LogRow) => void,
): Generator<undefined> {
  for (let isEnd = limit === 0; !isEnd;) {
    isEnd = true
    let looked = 0
    // A statement cannot be used again while it is iterated: the loop ends before others run.
    for (const row of fetchRows(db, statements, filter, page.next, limit)) {
      isEnd = false
      take(row)
      if (page.more) return
      looked += unitsPerRow + row.events.length
      if (looked > unitsPerSlice) break
    }
    if (looked > unitsPerSlice) yield
  }
}

function takeRow(
  db: DatabaseSync,
  page: EventPage,
  row: LogRow,
  after: number,
  { sessions, types }: EventFilter,
  limit: number,
): void {
  const before = page.events.length
  for (const stored of row.events === lost ? [] : numberEvents(row, readEvents(db, row))) {
    if (stored.seq <= after) continue
    const { session, type } = stored.event
    if ((sessions?.includes(session) ?? true) && (types?.includes(type) ?? true)) {
      if (page.events.length === limit) {
        page.more = true
        return
      }
      page.events.push(stored)
    }
    page.next = stored.seq
  }
  // A row without a readable event is behind us too, or it would be read for ever.
  page.next = row.seq
  if (page.events.length > before) page.units += row.events.length
  page.more = page.events.length >= limit || page.units > pageUnitsMax
}
