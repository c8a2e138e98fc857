/**
 * R10: the views are the fold of the log. `rebuild` makes them so, and `viewsEqual` proves that they are,
 * with the functions that fold live.
 */
import { DatabaseSync } from 'node:sqlite'
import { applyAll } from './apply.ts'
import { prepareWrites } from './write-statements.ts'
import { stripMoved } from './archive/moved-lines.ts'
import { movedRows } from './archive/moved-rows.ts'
import { movedTable } from './archive/moved-schema.ts'
import { clearKeywordIndex } from './keyword-index.ts'
import { listRows, parseEvents, type LogRow } from './log-row.ts'
import { nextRound } from '../runtime/kernel/next-round.ts'
import { migrations, viewTables } from './schema.ts'
import { foldedUpTo, prepareMark } from './tail.ts'

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
  // What is folded next is all of it.
  if (foldedUpTo(db) !== null) prepareMark(db).run(null)
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

/** An empty database in an open transaction, on disk where it gets large, and gone when it is closed. */
export function emptyDatabase(): DatabaseSync {
  const db = new DatabaseSync('')
  for (const step of migrations) db.exec(step)
  db.exec('begin')
  return db
}

/** The first difference of each table. */
export const differences = (live: DatabaseSync, folded: DatabaseSync): string[] =>
  [...viewTables, movedTable].flatMap((table) => findDifference(table, live, folded) ?? [])

function foldAll(from: DatabaseSync, to: DatabaseSync): void {
  const writes = prepareWrites(to)
  for (const row of listRows(from)) applyAll(writes, row, parseEvents(row))
  stripMoved(from, to)
}

export type Watched = { onProgress?: (done: number, total: number) => void; signal?: AbortSignal }

const rowsPerSlice = 500

/**
 * Visits every row in order, also those in segments. Others run between two slices, and `signal` ends it there.
 * `onDamage` gets what of a segment cannot be read; without it that is thrown.
 */
export async function visitRows(
  db: DatabaseSync,
  { onProgress, signal }: Watched,
  visit: (row: LogRow) => void,
  onDamage?: Parameters<typeof listRows>[1],
): Promise<number> {
  const { rows } = db.prepare('select count(*) as rows from log').get() as { rows: number }
  const total = movedRows(db)
    .blocks()
    .reduce((sum, block) => sum + block.rows, rows)
  let done = 0
  for (const row of listRows(db, onDamage)) {
    visit(row)
    done += 1
    if (done % rowsPerSlice !== 0) continue
    onProgress?.(done, total)
    await nextRound()
    signal?.throwIfAborted()
  }
  onProgress?.(done, total)
  return done
}

/** Both sides in one order, row beside row, so that neither has to be held in memory. */
function findDifference(table: string, live: DatabaseSync, folded: DatabaseSync): string | null {
  const list = (which: string): string[] =>
    live
      .prepare(`select name from pragma_table_info(?) ${which}`)
      .all(table)
      .map((column) => column['name'] as string)
  const key = list('where pk > 0 order by pk')
  // A file of an older format does not have it yet, or not all of its columns.
  if (key.length === 0) return null
  const columns = list('order by cid')
  const rows = (db: DatabaseSync) =>
    db
      .prepare(`select ${columns.join(', ')} from ${table} order by ${key.join(', ')}`)
      .iterate()
      [Symbol.iterator]()
  const [ours, theirs] = [rows(live), rows(folded)]
  for (;;) {
    const [a, b] = [ours.next(), theirs.next()]
    if (a.done === true && b.done === true) return null
    const [left, right] = [a, b].map((next) => (next.done === true ? 'no row' : JSON.stringify(next.value)))
    if (left !== right) return `${table}: the view has ${left}, the fold of the log has ${right}`
  }
}
