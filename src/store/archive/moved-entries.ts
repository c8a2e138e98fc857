/**
 * The text of an entry whose flow was moved to a segment. Its line in the view stays, without the text; that stands in
 * the event that ended its turn.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Entry } from '../../model/context.ts'
import { DamagedRow } from '../../model/damaged-row.ts'
import { parseEvents } from '../log-row.ts'
import { prepareOnce } from '../rows.ts'
import { movedRows } from './moved-rows.ts'

const statementsFor = prepareOnce((db) => ({
  turn: db.prepare(
    `select t.ended_seq as ended from turns t join moved_flows m on m.flow = t.flow where t.id = ?`,
  ),
  rows: db.prepare(
    `select x.seq as seq, l.events as events from log_sessions x left join log l on l.seq = x.seq
      where x.session = ? and x.seq >= ? order by x.seq`,
  ),
}))

/** The entry with its text. Throws a DamagedRow where its segment cannot be read. */
export function resolveEntry<T extends Pick<Entry, 'role' | 'turn'> & { text: string | null }>(
  db: DatabaseSync,
  session: string,
  entry: T,
): T {
  if (entry.text !== '' || movedRows(db).last() === 0) return entry
  const text = findText(db, session, entry)
  return text === null ? entry : { ...entry, text }
}

/** A call may end before its turn: then the entry stands in a later row of the session. */
function findText(
  db: DatabaseSync,
  session: string,
  { role, turn }: Pick<Entry, 'role' | 'turn'>,
): string | null {
  const { turn: find, rows } = statementsFor(db)
  const moved = find.get(turn) as { ended: number } | undefined
  if (moved === undefined) return null
  for (const { seq, events } of rows.iterate(session, moved.ended) as Iterable<{
    seq: number
    events: string | null
  }>) {
    const row = events === null ? movedRows(db).find(seq) : { seq, at: 0, events }
    if (row === null) throw new DamagedRow(seq, 'no segment has it')
    for (const event of parseEvents(row))
      if (event.type === 'turn.ended' && event.turn === turn && event.entry !== null)
        return role === 'user' ? event.entry.asked : event.entry.answered
  }
  return null
}
