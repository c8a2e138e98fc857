/**
 * R10: the views are the fold of the log. `rebuild` makes them so, and `viewsEqual` proves that they are,
 * with the functions that fold live.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Event } from '../model/event.ts'
import { applyAll, prepareWrites } from './apply.ts'
import { clearKeywordIndex } from './keyword-index.ts'
import { eventsIn, type LogRow } from './log-row.ts'
import { migrations, viewTables } from './schema.ts'

/** Empties the views and folds the log again, in one transaction: after a throw they are as they were. */
export function rebuild(db: DatabaseSync): void {
  db.exec('begin immediate')
  try {
    emptyViews(db)
    foldAll(db, db)
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

export function emptyViews(db: DatabaseSync): void {
  for (const table of viewTables) db.exec(`delete from ${table}`)
  clearKeywordIndex(db)
}

/** Folds the log into a second database in memory and compares them, table by table and row by row. */
export function viewsEqual(db: DatabaseSync): { equal: boolean; difference: string | null } {
  const folded = emptyDatabase()
  try {
    foldAll(db, folded)
    const [difference = null] = differences(db, folded)
    return { equal: difference === null, difference }
  } finally {
    folded.close()
  }
}

/**
 * A database with all tables and nothing in them, on disk where it gets too large for memory, and gone when
 * it is closed. A transaction is open in it.
 */
export function emptyDatabase(): DatabaseSync {
  const db = new DatabaseSync('')
  for (const step of migrations) db.exec(step)
  db.exec('begin')
  return db
}

/** The first difference of each table. */
export const differences = (live: DatabaseSync, folded: DatabaseSync): string[] =>
  viewTables.flatMap((table) => differenceOf(table, live, folded) ?? [])

export const logRows = (db: DatabaseSync): Iterable<LogRow> =>
  db
    .prepare('select seq, at, events from log order by seq')
    .iterate() as Iterable<unknown> as Iterable<LogRow>

/** Folds rows one by one into a database, in order. */
export function folder(
  to: DatabaseSync,
): (row: Pick<LogRow, 'seq' | 'at'>, events: readonly Event[]) => void {
  const writes = prepareWrites(to)
  const logSession = to.prepare('insert into log_sessions (session, seq) values (?, ?)')
  return ({ seq, at }, events) => {
    for (const session of new Set(events.map((event) => event.session))) logSession.run(session, seq)
    applyAll(
      writes,
      events.map((event, index) => ({ event, seq: seq - events.length + index + 1 })),
      at,
    )
  }
}

function foldAll(from: DatabaseSync, to: DatabaseSync): void {
  const fold = folder(to)
  for (const row of logRows(from)) fold(row, eventsIn(row.seq, row.events))
}

/** Both sides in one order, row beside row, so that neither has to be held in memory. */
function differenceOf(table: string, live: DatabaseSync, folded: DatabaseSync): string | null {
  const key = live
    .prepare('select name from pragma_table_info(?) where pk > 0 order by pk')
    .all(table)
    .map((column) => column['name'] as string)
  const rows = (db: DatabaseSync) =>
    db
      .prepare(`select * from ${table} order by ${key.join(', ')}`)
      .iterate()
      [Symbol.iterator]()
  const [ours, theirs] = [rows(live), rows(folded)]
  for (;;) {
    const [a, b] = [ours.next(), theirs.next()]
    if (a.done === true && b.done === true) return null
    const [left, right] = [
      a.done === true ? 'no row' : JSON.stringify(a.value),
      b.done === true ? 'no row' : JSON.stringify(b.value),
    ]
    if (left !== right) return `${table}: the view has ${left}, the fold of the log has ${right}`
  }
}
