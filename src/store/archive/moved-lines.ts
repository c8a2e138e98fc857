/** Moves the lines of the views of flows whose rows were moved, and does so again after a fold of all rows. */
import type { DatabaseSync } from 'node:sqlite'
import { prepareOnce } from '../rows.ts'
import { movedRows } from './moved-rows.ts'
import { movedLine, stripLines, stripTimelines } from './moved-schema.ts'

/** What says of a turn whether its line can be moved. */
export type TurnLine = { id: string; flow: string; callerTurn: string | null; state: string; live: number }

/** Oldest first. One that names a turn whose line stays cannot be moved: what `moved` has was moved before it. */
export function canMove(
  { id, flow, callerTurn, state, live }: TurnLine,
  moved: ReadonlySet<string>,
): boolean {
  const root = `turn_${flow.slice(5)}`
  if (state !== 'ended' || live === 1 || (id !== root && !moved.has(root))) return false
  return callerTurn === null || moved.has(callerTurn)
}

const statementsFor = prepareOnce((db) => ({
  move: db.prepare(`insert or replace into moved_turns select ${movedLine} where t.id = ?`),
  remove: db.prepare('delete from turns where id = ? returning opened_seq as seq'),
  unname: db.prepare(`update requests set turn = '' where seq = ?`),
  drop: db.prepare(`delete from entries where session = ?1 and turn = ?2 and role = 'user' and n = ?3`),
  strip: db.prepare(`update entries set text = '' where session = ?1 and turn = ?2 and n = ?3 + 1`),
  dropAny: db.prepare(`delete from entries where session = ? and turn = ? and role = 'user'`),
  stripAny: db.prepare(`update entries set text = '' where session = ? and turn = ?`),
  find: db.prepare('select id, flow, caller_turn as callerTurn, state, live from turns where id = ?'),
  forget: db.prepare('delete from moved_turns where id = ?'),
}))

/** `entry` is the number of its question; null where it said nothing, undefined where nobody knows. */
export type MovedTurn = { id: string; session: string; entry?: number | null | undefined }

/** In an open transaction. Oldest first. */
export function moveTurns(db: DatabaseSync, turns: readonly MovedTurn[]): void {
  const { move, remove, unname, drop, strip, dropAny, stripAny } = statementsFor(db)
  for (const { id } of turns) move.run(id)
  for (const { id, session, entry } of turns) {
    unname.run((remove.get(id) as { seq: number }).seq)
    if (entry === undefined) {
      // Every line of the session is looked at.
      dropAny.run(session, id)
      stripAny.run(session, id)
    } else if (entry !== null) {
      drop.run(session, id, entry)
      strip.run(session, id, entry)
    }
  }
}

/** A file of an older format has no such lines. */
const hasLines = (db: DatabaseSync): boolean =>
  db.prepare(`select 1 from sqlite_schema where name = 'moved_turns'`).get() !== undefined

/**
 * After a fold of all rows of `from` into the views of `to`: the lines of what was moved leave again. Timelines leave
 * with the rows, also where no line of a turn was moved yet.
 */
export function stripMoved(from: DatabaseSync, to: DatabaseSync): void {
  if (movedRows(from).last() === 0 || !hasLines(from)) return
  if (from !== to) keepNumbers(from, to)
  moveAgain(to, from.prepare('select id from moved_turns order by seq').all() as { id: string }[])
  to.exec(`${stripLines} ${stripTimelines(from === to ? 'log' : 'temp.kept')}`)
  if (from !== to) to.exec('drop table temp.kept')
}

/** The values of the lines are derived again, too. Where rows were left out, not all of them are there. */
function moveAgain(db: DatabaseSync, ids: readonly { id: string }[]): void {
  const { find, move, forget } = statementsFor(db)
  const moved = new Set<string>()
  for (const { id } of ids) {
    const line = find.get(id) as TurnLine | undefined
    if (line !== undefined && canMove(line, moved)) {
      moved.add(id)
      move.run(id)
    } else forget.run(id)
  }
  db.exec('delete from turns where id in (select id from moved_turns)')
}

function keepNumbers(from: DatabaseSync, to: DatabaseSync): void {
  to.exec('create temp table kept (seq integer primary key)')
  const keep = to.prepare('insert into temp.kept values (?)')
  for (const { seq } of from.prepare('select seq from log').iterate()) keep.run(seq as number)
}
