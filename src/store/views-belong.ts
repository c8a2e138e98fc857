/**
 * Whether the views belong to the log, looked at when it is opened: a fixed number of rows, whatever its
 * length. The newest, and some from all over it.
 * It finds views that were emptied, lost or come from another log. Whether each row of them is right, only
 * `tieline check` can say.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Event, EventOf } from '../model/event.ts'
import { toTurnId } from '../model/id.ts'
import { idSuffix } from '../model/mail.ts'
import { opensTurn } from '../model/opening.ts'
import { findLastSeq, numberEvents, readEvents, type LogRow } from './log-row.ts'

const newestRows = 32
const spreadRows = 64
/** A larger row takes longer to parse than a look is worth. */
const rowBytesMax = 65_536

/** What does not fit, in words; null where nothing was found. Damaged rows go to the watcher. */
export function viewsProblem(db: DatabaseSync): string | null {
  const last = findLastSeq(db)
  const { ahead } = db
    .prepare('select max(opened_seq) as ahead from turns indexed by turns_calls where caller is not null')
    .get() as { ahead: number | null }
  if ((ahead ?? 0) > last) return `turns: a call stands at ${ahead}, and the log ends at ${last}`
  if (last === 0) return null
  const look = lookups(db)
  for (const row of chooseRows(db, last)) {
    for (const { seq, event } of numberEvents(row, readEvents(db, row))) {
      const missing = look(event, seq, row.seq)
      if (missing !== null) return missing
    }
  }
  return null
}

function* chooseRows(db: DatabaseSync, last: number): Generator<LogRow> {
  const fits = 'octet_length(events) <= ?'
  yield* db
    .prepare(`select seq, at, events from log where ${fits} order by seq desc limit +?`)
    .all(rowBytesMax, newestRows) as LogRow[]
  const spread = db.prepare(`select seq, at, events from log where seq >= ? and ${fits} order by seq limit 1`)
  for (let n = 0; n < spreadRows; n += 1) {
    const row = spread.get(Math.floor((last * n) / spreadRows), rowBytesMax) as LogRow | undefined
    if (row !== undefined) yield row
  }
}

/** What the views must have for an event, whatever came after it. */
function lookups(db: DatabaseSync): (event: Event, seq: number, row: number) => string | null {
  const has = (table: string, where: string) => {
    const statement = db.prepare(`select 1 from ${table} where ${where}`)
    return (...values: (string | number)[]): string | null =>
      statement.get(...values) === undefined
        ? `${table}: nothing for ${values.join(', ')}, which the log has`
        : null
  }
  const timeline = has('log_sessions', 'session = ? and seq = ?')
  const session = has('sessions', 'id = ?')
  const turn = has('all_turns', 'id = ? and opened_seq = ?')
  const ended = has('all_turns', `id = ? and state = 'ended'`)
  const entry = has('entries', 'session = ? and n = ?')
  const refused = has('refused', 'call = ?')
  const agent = has('agents', 'id = ?')
  const question = has('questions', 'id = ?')
  const message = has('messages', 'id = ?')
  const ends = (event: EventOf<'turn.ended'>): string | null =>
    (event.turn === null ? null : ended(event.turn)) ??
    // The question's line may have been moved.
    (event.entry === null ? null : entry(event.session, event.entry.n + 1))
  const own = (event: Event, seq: number): string | null => {
    if (event.type === 'call.opened') return turn(toTurnId(event.call), seq)
    if (opensTurn(event)) return turn(event.turn, seq)
    if (event.type === 'session.created') return session(event.session)
    if (event.type === 'turn.ended') return ends(event)
    if (event.type === 'call.refused') return refused(event.call)
    if (event.type === 'agent.created') return agent(event.agent)
    if (event.type === 'question.asked') return question(event.question)
    return event.type === 'message.drafted' ? message(idSuffix(event.message)) : null
  }
  return (event, seq, row) => timeline(event.session, row) ?? own(event, seq)
}
