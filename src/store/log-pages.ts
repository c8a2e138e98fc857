/**
 * Pages of the log. Rows are read one by one and as many as fit, so that a page costs what it carries and not
 * what is behind it; a read that has to look at much lets others run in between.
 */
import type { DatabaseSync } from 'node:sqlite'
import { pageUnitsMax } from '../model/limits.ts'
import type { EventFilter, EventPage, Store } from '../runtime/kernel/store-port.ts'
import { numberEvents, readEvents, type LogRow } from './log-row.ts'
import { letOthersRun, runGently, unitsPerRow, unitsPerSlice } from './slices.ts'

const prepare = (db: DatabaseSync) => ({
  log: db.prepare('select seq, at, events from log where seq > ? order by seq limit +?'),
  timeline: db.prepare(
    `select l.seq as seq, l.at as at, l.events as events from log_sessions x join log l on l.seq = x.seq
      where x.session = ? and x.seq > ? order by x.seq limit +?`,
  ),
  numbers: db.prepare('select seq from log_sessions where session = ? and seq > ? order by seq limit +?'),
  row: db.prepare('select seq, at, events from log where seq = ?'),
})
type Statements = ReturnType<typeof prepare>

export function prepareLogPages(db: DatabaseSync): Store['read'] {
  const statements = prepare(db)
  return async (after, filter, limit) => {
    const page: EventPage = { events: [], next: after, more: false, units: 0 }
    const take = (row: LogRow): void => takeRow(db, page, row, after, filter, limit)
    await runGently(fill(statements, page, filter, limit, take))
    // Lets other work run between two pages of a long log.
    if (page.more) await letOthersRun()
    return page
  }
}

/** A bounded number of rows after `from`. With many sessions, only the texts of rows that count are read. */
function* fetchRows(
  statements: Statements,
  { sessions }: EventFilter,
  from: number,
  count: number,
): Generator<LogRow> {
  const [only] = sessions ?? []
  if (sessions === undefined) return yield* statements.log.iterate(from, count) as Iterable<LogRow>
  if (sessions.length === 1 && only !== undefined)
    return yield* statements.timeline.iterate(only, from, count) as Iterable<LogRow>
  const seqs = new Set<number>()
  for (const id of sessions)
    for (const { seq } of statements.numbers.all(id, from, count) as { seq: number }[]) seqs.add(seq)
  for (const seq of [...seqs].sort((a, b) => a - b).slice(0, count)) yield statements.row.get(seq) as LogRow
}

/** Goes on until the page is full or the log has ended, and yields after every slice. */
function* fill(
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
    for (const row of fetchRows(statements, filter, page.next, limit)) {
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
  for (const stored of numberEvents(row, readEvents(db, row))) {
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
