/**
 * Entries of turns that were moved. Of each turn the answer's line stays in the view, without the text. That stands in
 * the event that ended the turn, and so does the question, which has no line any more.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Entry } from '../../model/context.ts'
import { DamagedRow } from '../../model/damaged-row.ts'
import type { EventOf } from '../../model/event.ts'
import { parseEvents } from '../log-row.ts'
import { prepareOnce } from '../rows.ts'
import { movedRows } from './moved-rows.ts'
import { listTimeline } from './moved-timelines.ts'

const statementsFor = prepareOnce((db) => ({
  ended: db.prepare('select ended_seq as ended from moved_turns where id = ?'),
  answer: db.prepare(
    `select e.turn as turn from entries e join moved_turns m on m.id = e.turn
      where e.session = ? and e.n = ? and e.role = 'assistant'`,
  ),
}))

type Said = NonNullable<EventOf<'turn.ended'>['entry']>

/** The entry with its text. Throws a DamagedRow where its segment cannot be read. */
export function resolveEntry<T extends Pick<Entry, 'role' | 'turn'> & { text: string | null }>(
  db: DatabaseSync,
  session: string,
  entry: T,
): T {
  if (entry.text !== '') return entry
  const said = findSaid(db, session, entry.turn)
  return said === null ? entry : { ...entry, text: entry.role === 'user' ? said.asked : said.answered }
}

/** The question with this number, where its answer's line says that it was moved. */
export function readQuestion(db: DatabaseSync, session: string, n: number): Entry | null {
  const answer = statementsFor(db).answer.get(session, n + 1) as { turn: string } | undefined
  const said = answer === undefined ? null : findSaid(db, session, answer.turn)
  if (answer === undefined || said?.n !== n) return null
  const { asked: text, askedTokens: tokens, from, startedAt: at } = said
  return { n, role: 'user', at, text, tokens, from, turn: answer.turn, hasSteps: false, steps: null }
}

/** Lines from the number `last` down to `first`, newest first, with the questions among them that were moved. */
export function* withQuestions<T extends { n: number }>(
  db: DatabaseSync,
  session: string,
  rows: Iterable<T>,
  { first, last }: { first: number; last: number },
): Generator<T | Entry> {
  let next = last
  for (const row of rows) {
    yield* readQuestions(db, session, next, row.n + 1)
    yield row
    next = row.n - 1
  }
  yield* readQuestions(db, session, next, first)
}

/** From the number `last` down to `first`: where one is missing, nobody knows more. */
function* readQuestions(db: DatabaseSync, session: string, last: number, first: number): Generator<Entry> {
  for (let n = last; n >= first; n -= 1) {
    const question = readQuestion(db, session, n)
    if (question === null) return
    yield question
  }
}

/** A call may end before its turn: then what was said stands in a later row of the session. */
function findSaid(db: DatabaseSync, session: string, turn: string): Said | null {
  const moved = statementsFor(db).ended.get(turn) as { ended: number } | undefined
  if (moved === undefined) return null
  for (const row of listTimeline(db, session, moved.ended - 1)) {
    const whole = row.events === null ? movedRows(db).find(row.seq) : row
    if (whole === null) throw new DamagedRow(row.seq, 'no segment has it')
    for (const event of parseEvents(whole))
      if (event.type === 'turn.ended' && event.turn === turn && event.entry !== null) return event.entry
  }
  return null
}
