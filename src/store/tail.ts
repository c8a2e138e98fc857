/**
 * What the log has and the views do not have yet. One row of `folded` says how far the views are, null where they
 * have everything: it is written with what it is about, so that whoever opens the log knows where to go on.
 */
import type { DatabaseSync } from 'node:sqlite'
import { applyBatch, type Transaction } from './apply.ts'
import { prepareWrites, type Writes } from './write-statements.ts'
import { toTurnId } from '../model/id.ts'
import { parseEvents, type LogRow } from './log-row.ts'

/** R11: the views are never further behind than this. A fold of so many takes some milliseconds. */
const rowsMax = 128
const unitsMax = 512 * 1024

type Writing = { writes: Writes; mark: { run(seq: number | null): unknown } }

export class Tail {
  #rows: Transaction[] = []
  #units = 0
  /** Of them: those that are committed, and those that were folded in the transaction that is open. */
  #committed = 0
  #folded = 0
  /** Turns and sessions that they made, and sessions whose conversation went on: the views cannot say it. */
  readonly #made = new Set<string>()

  /** Whether something is committed that the views do not have. */
  isBehind = (): boolean => this.#committed > 0
  isEmpty = (): boolean => this.#rows.length === this.#folded
  isLong = (): boolean => this.#rows.length - this.#folded >= rowsMax || this.#units >= unitsMax
  hasMade = (id: string): boolean => this.#made.has(id)

  add(row: Transaction, units: number, { mark }: Writing): void {
    if (this.isEmpty()) mark.run(row.seq - row.events.length)
    this.#rows.push(row)
    this.#units += units
    this.#note(row)
  }

  #note({ events }: Transaction): void {
    for (const event of events) {
      if (event.type === 'session.created') this.#made.add(event.session)
      else if (event.type === 'message.sent') this.#made.add(event.turn ?? '')
      else if (event.type === 'call.opened') this.#made.add(toTurnId(event.call))
      else if (event.type === 'turn.ended' && event.entry !== null) this.#made.add(event.session)
    }
  }

  /** In an open transaction. */
  fold({ writes, mark }: Writing): void {
    if (this.isEmpty()) return
    applyBatch(writes, this.#rows.slice(this.#folded))
    mark.run(null)
    this.#folded = this.#rows.length
    this.#units = 0
    this.#made.clear()
  }

  commit(): void {
    if (this.#folded > 0) this.#rows = this.#rows.slice(this.#folded)
    this.#folded = 0
    this.#committed = this.#rows.length
  }

  /** What was added or folded since the last commit is undone. */
  undo(): void {
    this.#replace(this.#rows.slice(0, this.#committed))
  }

  /** After a fault the log says what is there. */
  reload(db: DatabaseSync): void {
    this.#replace(readTail(db))
  }

  #replace(rows: Transaction[]): void {
    this.#rows = rows
    this.#folded = 0
    this.#committed = rows.length
    this.#made.clear()
    for (const row of rows) this.#note(row)
  }
}

/** How far the views are; null where they have everything. */
export function foldedUpTo(db: DatabaseSync): number | null {
  // A file of an older format has no such table, and is never behind.
  if (db.prepare(`select 1 from sqlite_schema where name = 'folded'`).get() === undefined) return null
  return (db.prepare('select seq from folded').get() as { seq: number | null }).seq
}

export const prepareMark = (db: DatabaseSync) => db.prepare('update folded set seq = ?')

export function readTail(db: DatabaseSync): Transaction[] {
  const from = foldedUpTo(db)
  if (from === null) return []
  const rows = db.prepare('select seq, at, events from log where seq > ? order by seq').all(from)
  return (rows as unknown as LogRow[]).map((row) => ({ seq: row.seq, at: row.at, events: parseEvents(row) }))
}

/** What a process that was killed had not written to the views yet. */
export function foldTail(db: DatabaseSync): void {
  if (foldedUpTo(db) === null) return
  const writing = { writes: prepareWrites(db), mark: prepareMark(db) }
  db.exec('begin immediate')
  try {
    applyBatch(writing.writes, readTail(db))
    writing.mark.run(null)
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}
