/**
 * One row of the log, as the events that it holds: what was decided together stands together. A row that
 * cannot be read is never skipped silently: the watcher of the connection learns which one it is.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { DamagedRow } from '../model/damaged-row.ts'
import type { Event, StoredEvent } from '../model/event.ts'
import type { Millis } from '../model/id.ts'
import { AppendFault } from '../runtime/kernel/store-port.ts'
import { movedRows } from './archive/moved-rows.ts'
import { unitsPerSlice } from './slices.ts'

export type LogRow = { seq: number; at: number; events: string }
/** A row with its events; `units` is how long it is, in UTF-16 units. */
export type StoredTransaction = { at: Millis; events: StoredEvent[]; units: number }
type OnDamage = (fault: DamagedRow) => void

const shownMax = 60
const rowsPerPage = 256

/** Throws a DamagedRow. Only checks that it is a list of typed objects, because every read comes through here. */
export function parseEvents({ seq, events }: LogRow, flow: string | null = null): Event[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(events)
  } catch (cause) {
    throw new DamagedRow(seq, 'it is not JSON', flow, { cause })
  }
  if (Array.isArray(parsed) && parsed.length > 0 && parsed.every(isEvent)) return parsed as Event[]
  // What is in it may be too deep to be written again.
  const shown = events.slice(0, shownMax)
  throw new DamagedRow(seq, `it is not a list of events, but ${shown}`, flow)
}

const isEvent = (value: { type?: unknown } | null): boolean => typeof value?.type === 'string'

/** `seq` of a row is the number of its last event. */
export const numberEvents = ({ seq, at }: Omit<LogRow, 'events'>, events: readonly Event[]): StoredEvent[] =>
  events.map((event, index) => ({ seq: seq - events.length + index + 1, at, event }))

export function serialise(events: readonly Event[]): string {
  try {
    return JSON.stringify(events)
  } catch (cause) {
    throw new AppendFault(`an event is not JSON (${(cause as Error).message})`, { cause })
  }
}

const watchers = new WeakMap<DatabaseSync, OnDamage>()

export const watchRows = (db: DatabaseSync, onDamage: OnDamage): void => void watchers.set(db, onDamage)

/** The events of a row, or none where it cannot be read. */
export function readEvents(db: DatabaseSync, row: LogRow): Event[] {
  try {
    return parseEvents(row)
  } catch {
    const onDamage = watchers.get(db)
    if (onDamage !== undefined) reportDamage(db, row, onDamage)
    return []
  }
}

/** Finding out whose row it is costs a search, which only a damaged row is worth. */
function reportDamage(db: DatabaseSync, row: LogRow, onDamage: OnDamage): void {
  try {
    parseEvents(row, findFlow(db, row.seq))
  } catch (fault) {
    if (fault instanceof DamagedRow) onDamage(fault)
    else throw fault
  }
}

/** As far as the views know it: the turn that was opened last in one of its sessions. */
export function findFlow(db: DatabaseSync, seq: number): string | null {
  const row = db
    .prepare(
      `select flow from all_turns where opened_seq <= ?1
        and session in (select session from log_sessions where seq = ?1) order by opened_seq desc limit 1`,
    )
    .get(seq)
  return (row?.['flow'] as string | undefined) ?? null
}

/** Looks up one event by its number, in the log and in segments. */
export function prepareFindEvent(
  db: DatabaseSync,
  read = (row: LogRow): Event[] => readEvents(db, row),
  findMoved = (seq: number): LogRow | null => readMoved(db, seq),
): (seq: number) => StoredEvent | null {
  const statement = db.prepare('select seq, at, events from log where seq >= ? order by seq limit 1')
  const pick = (row: LogRow | null | undefined, seq: number): StoredEvent | null => {
    if (row === undefined || row === null) return null
    const events = read(row)
    const event = events[seq - row.seq + events.length - 1]
    return event === undefined ? null : { seq, at: row.at, event }
  }
  return (seq) => pick(statement.get(seq) as LogRow | undefined, seq) ?? pick(findMoved(seq), seq)
}

/** The row of a segment that holds an event. Where its segment cannot be read, the watcher learns of it. */
export function readMoved(db: DatabaseSync, seq: number): LogRow | null {
  try {
    return movedRows(db).find(seq)
  } catch (fault) {
    tellDamage(db, fault)
    return null
  }
}

function tellDamage(db: DatabaseSync, fault: unknown): void {
  if (!(fault instanceof DamagedRow)) throw fault
  watchers.get(db)?.(fault)
}

/** `looked` is how much of the log was read so far, in UTF-16 units. */
export type EventReader = { looked: number; find: (seq: number) => StoredEvent | null }

/** Looks up events by their numbers, and measures what that costs. */
export function prepareEventReader(db: DatabaseSync): EventReader {
  const reader: EventReader = {
    looked: 0,
    find: prepareFindEvent(db, (row) => {
      reader.looked += row.events.length
      return readEvents(db, row)
    }),
  }
  return reader
}

/** The newest row may have been moved, where nothing happened for long. */
export function findLastSeq(db: DatabaseSync): number {
  const { seq } = db.prepare('select max(seq) as seq from log').get() as { seq: number | null }
  return Math.max(seq ?? 0, movedRows(db).last())
}

const throwDamage = (fault: DamagedRow): never => {
  throw fault
}

/** All rows in order, those in segments among them. Throws a DamagedRow where a segment cannot be read. */
export const listRows = (
  db: DatabaseSync,
  onDamage: Parameters<ReturnType<typeof movedRows>['list']>[1] = throwDamage,
): Iterable<LogRow> => {
  const rows = db.prepare('select seq, at, events from log order by seq').iterate() as Iterable<unknown>
  const moved = movedRows(db)
  return moved.last() > 0
    ? mergeRows(rows as Iterable<LogRow>, moved.list(0, onDamage))
    : (rows as Iterable<LogRow>)
}

/** Rows after a number, at most so many, from the log and from segments. */
export function* mergeRows(
  log: Iterable<LogRow>,
  moved: Iterable<LogRow>,
  count = Infinity,
): Generator<LogRow> {
  const [ours, theirs] = [log[Symbol.iterator](), moved[Symbol.iterator]()]
  try {
    let [a, b] = [ours.next(), theirs.next()]
    for (let given = 0; given < count; given += 1) {
      if (a.done === true && b.done === true) return
      if (b.done === true || (a.done !== true && a.value.seq < b.value.seq)) {
        yield a.value as LogRow
        a = ours.next()
      } else {
        yield b.value
        b = theirs.next()
      }
    }
  } finally {
    ours.return?.()
    theirs.return?.()
  }
}

/** Rows of segments after a number; the watcher learns of those that cannot be read. */
export const listMoved = (db: DatabaseSync, after: number): Iterable<LogRow> =>
  movedRows(db).list(after, (fault) => tellDamage(db, fault))

/** Rows after a number: some, or none where the log ends. */
function readPage(db: DatabaseSync, page: StatementSync, after: number): LogRow[] {
  const rows: LogRow[] = []
  const moved = movedRows(db)
  const ours = page.iterate(after, rowsPerPage) as Iterable<unknown> as Iterable<LogRow>
  const theirs = moved.last() > after ? moved.list(after, throwDamage) : []
  let units = 0
  for (const row of mergeRows(ours, theirs, rowsPerPage)) {
    rows.push(row)
    units += row.events.length
    if (units > unitsPerSlice) break
  }
  return rows
}

/**
 * The log up to an event, as it was written, so that another store folds it to the same views. Others may run between
 * two rows: a statement that were open meanwhile would show everybody on this connection the log as it was.
 */
export function* readTransactions(db: DatabaseSync, upTo: () => number): Generator<StoredTransaction> {
  const page = db.prepare('select seq, at, events from log where seq > ? order by seq limit +?')
  const last = upTo()
  for (let after = 0; ;) {
    const rows = readPage(db, page, after)
    for (const row of rows) {
      if (row.seq > last) return
      yield { at: row.at, events: numberEvents(row, parseEvents(row)), units: row.events.length }
      after = row.seq
    }
    if (rows.length === 0) return
  }
}
