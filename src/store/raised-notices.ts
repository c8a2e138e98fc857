/**
 * What a session was told that nobody asked for. What no turn was given yet stands in a view, and is newer than all
 * that one was given; that is looked for among the newest rows of the session's timeline.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { StoredEvent } from '../model/event.ts'
import type { Lists, RaisedNotice } from '../runtime/kernel/lists-port.ts'
import { listNewest } from './archive/moved-timelines.ts'
import { numberEvents, prepareFindEvent, readEvents, readMoved, type LogRow } from './log-row.ts'
import { runGently, unitsPerRow, unitsPerSlice } from './slices.ts'

/** R11: how many rows are looked through, and how much text. */
const lookedThroughMax = 2000
const unitsMax = 64 * 1024 * 1024

const type = 'notice.raised'

const prepare = (db: DatabaseSync) => ({
  find: prepareFindEvent(db),
  waiting: db.prepare('select seq from notices where session = ? order by seq desc limit +?'),
  /** The text only of a row that may have one. */
  row: db.prepare(
    `select at, octet_length(events) as units, iif(instr(events, '"${type}"') > 0, events, '') as events
      from log where seq = ?`,
  ),
})
type Statements = ReturnType<typeof prepare>

export function prepareRaised(db: DatabaseSync): Lists['raisedNotices'] {
  const sql = prepare(db)
  return (session, limit) => runGently(find(db, sql, session, limit))
}

function* find(
  db: DatabaseSync,
  sql: Statements,
  session: string,
  limit: number,
): Generator<undefined, RaisedNotice[]> {
  const found = new Map<number, RaisedNotice>()
  const take = (stored: StoredEvent | null): void => {
    if (stored?.event.type !== type || stored.event.session !== session) return
    const { about, text } = stored.event
    found.set(stored.seq, { seq: stored.seq, at: stored.at, about, text })
  }
  for (const { seq } of sql.waiting.all(session, limit) as { seq: number }[]) take(sql.find(seq))
  let [looked, all] = [0, 0]
  for (const seq of found.size < limit ? listNewest(db, session, lookedThroughMax) : []) {
    const { units, row } = readRow(db, sql, seq)
    if (row !== null) for (const stored of numberEvents(row, readEvents(db, row))) take(stored)
    all += units
    if (found.size >= limit || all > unitsMax) break
    looked += unitsPerRow + units
    if (looked <= unitsPerSlice) continue
    looked = 0
    yield
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq).slice(-limit)
}

function readRow(db: DatabaseSync, sql: Statements, seq: number): { units: number; row: LogRow | null } {
  const here = sql.row.get(seq) as { at: number; units: number; events: string } | undefined
  if (here === undefined) {
    const row = readMoved(db, seq)
    return { units: row?.events.length ?? 0, row }
  }
  return { units: here.units, row: here.events === '' ? null : { seq, at: here.at, events: here.events } }
}
