/**
 * One row of the log, as the events that it holds. A row that cannot be read is never passed over in silence:
 * those who watch a connection are told which it is.
 */
import type { DatabaseSync } from 'node:sqlite'
import { DamagedRow } from '../model/damaged-row.ts'
import type { Event } from '../model/event.ts'

export type LogRow = { seq: number; at: number; events: string }

const shownMax = 60

/** Throws a DamagedRow. That it is a list is all that is looked at: this is on the way of every read. */
export function eventsIn(seq: number, text: string, flow: string | null = null): Event[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw new DamagedRow(seq, 'it is not JSON', flow, { cause })
  }
  if (!Array.isArray(parsed) || parsed.length === 0)
    throw new DamagedRow(
      seq,
      `it is not a list of events, but ${JSON.stringify(parsed).slice(0, shownMax)}`,
      flow,
    )
  return parsed as Event[]
}

const watchers = new WeakMap<DatabaseSync, (fault: DamagedRow) => void>()

export const watchRows = (db: DatabaseSync, told: (fault: DamagedRow) => void): void =>
  void watchers.set(db, told)

/** The events of a row, or none where it cannot be read. */
export function readableEvents(db: DatabaseSync, seq: number, text: string): Event[] {
  try {
    return eventsIn(seq, text)
  } catch {
    const told = watchers.get(db)
    if (told !== undefined) tellOf(db, seq, text, told)
    return []
  }
}

/** Looking for whose it is costs a search, which only a damaged row is worth. */
function tellOf(db: DatabaseSync, seq: number, text: string, told: (fault: DamagedRow) => void): void {
  try {
    eventsIn(seq, text, flowOfRow(db, seq))
  } catch (fault) {
    if (fault instanceof DamagedRow) told(fault)
    else throw fault
  }
}

/** As far as the views know it: the turn that was opened last in one of its sessions. */
export function flowOfRow(db: DatabaseSync, seq: number): string | null {
  const row = db
    .prepare(
      `select flow from turns where opened_seq <= ?1
        and session in (select session from log_sessions where seq = ?1) order by opened_seq desc limit 1`,
    )
    .get(seq)
  return (row?.['flow'] as string | undefined) ?? null
}
