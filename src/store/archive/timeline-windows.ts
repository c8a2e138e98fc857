/**
 * Which rows of a timeline are of which turn, so that the flows that share a session do not each read all of it. A
 * stretch of each timeline is known at a time, and moves on with the flows, which come oldest first. Nothing depends on
 * it: a row that is not found stays in the log.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../../model/event.ts'
import { DamagedRow } from '../../model/damaged-row.ts'
import { parseEvents, type LogRow } from '../log-row.ts'

/** The numbers of rows by the turn, else the flow, that their events are of; `''` has what is of neither. */
type Window = { from: number; upTo: number; count: number; seqs: Map<string, number[]> }

/** Where the turns of a flow stand, and what they are found by. */
export type Wanted = {
  session: string
  /** Its own life is wanted too. */
  life: boolean
  first: number
  last: number
  keys: ReadonlySet<string>
}

/** R11: how many rows one window knows, and all of them together. */
const rows = { perWindow: 50_000, known: 200_000 }
/** A window is read in parts, so that others may run in between. */
const rowsPerPart = 64
const unitsPerPart = 32 * 1024
/** A row is numbered by its last event: one that holds the end of a turn may have a few more behind it. */
const rowEventsMax = 64
const life = ''

const prepare = (db: DatabaseSync) => ({
  after: db.prepare(
    `select l.seq as seq, l.at as at, l.events as events from log_sessions x join log l on l.seq = x.seq
      where x.session = ?1 and x.seq > ?2 order by x.seq limit +?3`,
  ),
  within: db.prepare(
    `select l.seq as seq, l.at as at, l.events as events from log_sessions x join log l on l.seq = x.seq
      where x.session = ?1 and x.seq between ?2 and ?3 order by x.seq`,
  ),
  row: db.prepare('select seq, at, events from log where seq = ?'),
})

export class TimelineWindows {
  readonly #sql: ReturnType<typeof prepare>
  readonly #limits: typeof rows
  /** The one that was used last at the end. */
  readonly #windows = new Map<string, Window>()
  /** Sessions whose windows had to go: they begin where the next flow does. */
  readonly #dropped = new Set<string>()
  #known = 0

  constructor(db: DatabaseSync, limits = rows) {
    this.#sql = prepare(db)
    this.#limits = limits
  }

  /** Gives null between two parts of a window that is read. */
  *reach({ session, first, last, life: hasLife }: Wanted): Generator<null> {
    let window = this.#windows.get(session)
    this.#forget(session)
    window ??= yield* this.#read(session, hasLife && !this.#dropped.has(session) ? 0 : first)
    while (window.upTo < last + rowEventsMax) {
      const from = Math.min(first, window.upTo + 1)
      // Longer than a window: it is read row by row.
      if (from <= window.from) break
      window = yield* this.#read(session, from)
    }
    this.#keep(session, window)
  }

  /** Rows that may be of it, once they are reached. */
  *list({ session, first, last, keys, life: hasLife }: Wanted): Generator<LogRow> {
    const window = this.#windows.get(session)
    if (window === undefined || first < window.from || last + rowEventsMax > window.upTo)
      return yield* this.#sql.within.iterate(
        session,
        first,
        last + rowEventsMax,
      ) as Iterable<unknown> as Iterable<LogRow>
    // A flow may have very many turns, each in a session with few.
    const few = window.seqs.size < keys.size ? [...window.seqs.keys()].filter((key) => keys.has(key)) : keys
    for (const key of hasLife ? [...few, life] : few)
      for (const seq of window.seqs.get(key) ?? []) {
        const row = this.#sql.row.get(seq) as LogRow | undefined
        if (row !== undefined) yield row
      }
  }

  /** What a flow takes of the life of a session is not offered to the next one. */
  take(session: string, taken: { has(seq: number): boolean }): void {
    const seqs = this.#windows.get(session)?.seqs
    const left = seqs?.get(life)?.filter((seq) => !taken.has(seq))
    if (left !== undefined) seqs?.set(life, left)
  }

  *#read(session: string, from: number): Generator<null, Window> {
    const window: Window = { from, upTo: Infinity, count: 0, seqs: new Map() }
    for (let after = from - 1; ;) {
      let units = 0
      const before = window.count
      const part = this.#sql.after.iterate(session, after, rowsPerPart) as Iterable<unknown>
      for (const row of part as Iterable<LogRow>) {
        after = row.seq
        noteRow(window, row)
        units += row.events.length
        if (units > unitsPerPart) break
      }
      if (window.count === before) return window
      if (window.count >= this.#limits.perWindow) return { ...window, upTo: after }
      yield null
    }
  }

  #keep(session: string, window: Window): void {
    this.#windows.set(session, window)
    this.#known += window.count
    for (const [oldest] of this.#windows) {
      if (this.#known <= this.#limits.known || oldest === session) return
      this.#forget(oldest)
      this.#dropped.add(oldest)
    }
  }

  #forget(session: string): void {
    this.#known -= this.#windows.get(session)?.count ?? 0
    this.#windows.delete(session)
  }
}

function noteRow(window: Window, row: LogRow): void {
  window.count += 1
  for (const key of new Set(readWhole(row)?.map(findKey))) {
    const seqs = window.seqs.get(key)
    if (seqs === undefined) window.seqs.set(key, [row.seq])
    else seqs.push(row.seq)
  }
}

const findKey = (event: Event): string =>
  event.turn ?? ('flow' in event && event.flow !== null ? event.flow : life)

/** One that cannot be read stays where it is, for `tieline check` to tell of. */
export function readWhole(row: LogRow): Event[] | null {
  try {
    return parseEvents(row)
  } catch (fault) {
    if (!(fault instanceof DamagedRow)) throw fault
    return null
  }
}
