/**
 * The timeline of a session: the numbers of the rows that it is in. Those of rows that were moved stand in the line of
 * the session, as distances from one to the next, unless there are too many.
 */
import type { DatabaseSync } from 'node:sqlite'
import { prepareOnce } from '../rows.ts'
import { movedInLineMax } from './moved-schema.ts'

/** A row of the log, or of one that was moved only its number. */
export type TimelineRow =
  | { seq: number; at: number; events: string }
  | { seq: number; at: null; events: null }

const statementsFor = prepareOnce((db) => ({
  moved: db.prepare('select moved from sessions where id = ?'),
  rows: db.prepare(
    `select x.seq as seq, l.at as at, l.events as events from log_sessions x left join log l on l.seq = x.seq
      where x.session = ? and x.seq > ? order by x.seq limit +?`,
  ),
  set: db.prepare('update sessions set moved = ? where id = ?'),
  add: db.prepare('insert into log_sessions (session, seq) values (?, ?)'),
  remove: db.prepare('delete from log_sessions where session = ? and seq = ?'),
  newest: db.prepare('select seq from log_sessions where session = ? order by seq desc limit +?'),
  numbers: db.prepare('select seq from log_sessions where session = ? and seq > ? order by seq limit +?'),
}))

const all = Number.MAX_SAFE_INTEGER

function parseSteps(steps: string): number[] {
  let seq = 0
  return steps === '' ? [] : steps.split(',').map((step) => (seq += Number(step)))
}

const renderSteps = (seqs: readonly number[]): string =>
  seqs.map((seq, index) => seq - (seqs[index - 1] ?? 0)).join(',')

const readMoved = (db: DatabaseSync, session: string): string =>
  (statementsFor(db).moved.get(session) as { moved: string | null } | undefined)?.moved ?? ''

/** Numbers after `after`, at most `count`, in order. */
export function listNumbers(db: DatabaseSync, session: string, after: number, count = all): number[] {
  const kept = statementsFor(db).numbers.all(session, after, count) as { seq: number }[]
  const moved = parseSteps(readMoved(db, session)).filter((seq) => seq > after)
  const numbers = kept.map(({ seq }) => seq)
  return moved.length === 0 ? numbers : [...moved, ...numbers].sort((a, b) => a - b).slice(0, count)
}

/** The newest first, at most `count`. */
export function listNewest(db: DatabaseSync, session: string, count: number): number[] {
  const kept = statementsFor(db).newest.all(session, count) as { seq: number }[]
  const numbers = [...parseSteps(readMoved(db, session)), ...kept.map(({ seq }) => seq)]
  return numbers.sort((a, b) => b - a).slice(0, count)
}

/** The same as `listNumbers`, with the rows that the log has. Others may not use it meanwhile. */
export function* listTimeline(
  db: DatabaseSync,
  session: string,
  after: number,
  count = all,
): Generator<TimelineRow> {
  const moved = parseSteps(readMoved(db, session)).filter((seq) => seq > after)
  let [given, next] = [0, 0]
  const kept = statementsFor(db).rows.iterate(session, after, count) as Iterable<unknown>
  for (const row of kept as Iterable<TimelineRow>) {
    for (; given < count && (moved[next] ?? all) < row.seq; given += 1, next += 1)
      yield { seq: moved[next] as number, at: null, events: null }
    if (given === count) return
    yield row
    given += 1
  }
  for (; given < count && next < moved.length; given += 1, next += 1)
    yield { seq: moved[next] as number, at: null, events: null }
}

/** In an open transaction: these rows of a session are in the log no more. */
export function moveTimeline(db: DatabaseSync, session: string, seqs: readonly number[]): void {
  const sql = statementsFor(db)
  const before = sql.moved.get(session) as { moved: string | null } | undefined
  if (before === undefined || before.moved === '' || seqs.length === 0) return
  const known = parseSteps(before.moved ?? '')
  const moved = [...new Set([...known, ...seqs])].sort((a, b) => a - b)
  if (moved.length <= movedInLineMax) {
    for (const seq of seqs) sql.remove.run(session, seq)
    sql.set.run(renderSteps(moved), session)
    return
  }
  for (const seq of known) sql.add.run(session, seq)
  sql.set.run('', session)
}
