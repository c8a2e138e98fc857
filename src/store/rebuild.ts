/** R10: the views are the fold of the log. `rebuild` makes them so, and `viewsEqual` proves that they are, with the functions that fold live. */
import { DatabaseSync } from 'node:sqlite'
import type { Event } from '../model/event.ts'
import { applyAll, prepareWrites } from './apply.ts'
import { clearKeywordIndex } from './keyword-index.ts'
import { migrations, viewTables } from './schema.ts'

type LogRow = { seq: number; at: number; events: string }

/** Empties the views and folds the log again, in one transaction: after a throw they are as they were. */
export function rebuild(db: DatabaseSync): void {
  db.exec('begin immediate')
  try {
    for (const table of viewTables) db.exec(`delete from ${table}`)
    clearKeywordIndex(db)
    fold(db, db)
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

/** Folds the log into a second database in memory and compares them, table by table and row by row. */
export function viewsEqual(db: DatabaseSync): { equal: boolean; difference: string | null } {
  const folded = new DatabaseSync(':memory:')
  try {
    for (const step of migrations) folded.exec(step)
    folded.exec('begin')
    fold(db, folded)
    folded.exec('commit')
    for (const table of viewTables) {
      const difference = differenceOf(table, db, folded)
      if (difference !== null) return { equal: false, difference }
    }
    return { equal: true, difference: null }
  } finally {
    folded.close()
  }
}

function fold(from: DatabaseSync, to: DatabaseSync): void {
  const writes = prepareWrites(to)
  const logSession = to.prepare('insert into log_sessions (session, seq) values (?, ?)')
  for (const row of from.prepare('select seq, at, events from log order by seq').iterate() as Iterable<unknown> as Iterable<LogRow>) {
    const events = JSON.parse(row.events) as Event[]
    for (const session of new Set(events.map((event) => event.session))) logSession.run(session, row.seq)
    applyAll(writes, events.map((event, index) => ({ event, seq: row.seq - events.length + index + 1 })), row.at)
  }
}

/** Both sides in one order, row beside row, so that neither has to be held in memory. */
function differenceOf(table: string, live: DatabaseSync, folded: DatabaseSync): string | null {
  const key = live.prepare('select name from pragma_table_info(?) where pk > 0 order by pk').all(table).map((column) => column['name'] as string)
  const rows = (db: DatabaseSync) => db.prepare(`select * from ${table} order by ${key.join(', ')}`).iterate()[Symbol.iterator]()
  const [ours, theirs] = [rows(live), rows(folded)]
  for (;;) {
    const [a, b] = [ours.next(), theirs.next()]
    if (a.done === true && b.done === true) return null
    const [left, right] = [a.done === true ? 'no row' : JSON.stringify(a.value), b.done === true ? 'no row' : JSON.stringify(b.value)]
    if (left !== right) return `${table}: the view has ${left}, the fold of the log has ${right}`
  }
}
