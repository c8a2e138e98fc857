/**
 * Looks at a whole log: the file, every row, the numbering, and whether the views are the fold of it (R10).
 * It reads from one snapshot and writes nothing, so a server may work on the log meanwhile.
 * Long logs take a while, so it says how far it is and can be stopped.
 */
import { DatabaseSync } from 'node:sqlite'
import { DamagedRow } from '../model/damaged-row.ts'
import { Event } from '../model/event.ts'
import { eventsIn, flowOfRow, type LogRow } from './log-row.ts'
import { differences, emptyDatabase, folder, logRows } from './rebuild.ts'

export type LogProblem = {
  what: 'file' | 'row' | 'numbering' | 'views'
  /** The row of the log, and the flow that it belongs to, where they are known. */
  row: number | null
  flow: string | null
  says: string
}

export type LogCheck = {
  ok: boolean
  rows: number
  events: number
  /** The first of them. */
  problems: LogProblem[]
  problemsTotal: number
  /** False where rows cannot be read: then nobody knows what the views should be. */
  viewsCompared: boolean
}

export type Watched = { onProgress?: (done: number, total: number) => void; signal?: AbortSignal }

const problemsMax = 100
const rowsBetweenLooks = 500
const shownMax = 300

export async function checkLog(file: string, watched: Watched = {}): Promise<LogCheck> {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    db.exec('begin')
    return await check(db, watched)
  } finally {
    db.close()
  }
}

async function check(db: DatabaseSync, watched: Watched): Promise<LogCheck> {
  const found = { problems: [] as LogProblem[], total: 0 }
  const tell = (problem: LogProblem): void => {
    found.total += 1
    if (found.problems.length < problemsMax)
      found.problems.push({ ...problem, says: problem.says.slice(0, shownMax) })
  }
  for (const said of integrity(db)) tell({ what: 'file', row: null, flow: null, says: said })
  const folded = emptyDatabase()
  try {
    const seen = { rows: 0, events: 0, whole: true }
    try {
      await checkRows(db, folded, seen, tell, watched)
      if (seen.whole)
        for (const says of differences(db, folded)) tell({ what: 'views', row: null, flow: null, says })
    } catch (error) {
      if ((error as { errcode?: unknown }).errcode === undefined) throw error
      // SQLite cannot read on: what is left is not known.
      seen.whole = false
      tell({
        what: 'file',
        row: null,
        flow: null,
        says: `the file could not be read to its end: ${(error as Error).message}`,
      })
    }
    const { rows, events, whole } = seen
    return {
      ok: found.total === 0,
      rows,
      events,
      problems: found.problems,
      problemsTotal: found.total,
      viewsCompared: whole,
    }
  } finally {
    folded.close()
  }
}

/** SQLite's own check of the pages and of every index. */
function integrity(db: DatabaseSync): string[] {
  try {
    return db
      .prepare(`pragma integrity_check(${problemsMax})`)
      .all()
      .map((row) => String(row['integrity_check']))
      .filter((said) => said !== 'ok')
  } catch (error) {
    return [`SQLite could not check the file: ${error instanceof Error ? error.message : String(error)}`]
  }
}

type Tell = (problem: LogProblem) => void
type Seen = {
  rows: number
  events: number
  /** Whether all of it could be read and folded. */
  whole: boolean
}

async function checkRows(
  db: DatabaseSync,
  folded: DatabaseSync,
  seen: Seen,
  tell: Tell,
  { onProgress, signal }: Watched,
): Promise<void> {
  const { total } = db.prepare('select count(*) as total from log').get() as { total: number }
  const fold = folder(folded)
  /** The number of the last event; null after a row of which nobody knows how many it holds. */
  let last: number | null = 0
  for (const row of logRows(db)) {
    const events = checkRow(db, row, tell)
    if (events === null) seen.whole = false
    else {
      if (last !== null && row.seq !== last + events.length)
        tell({
          what: 'numbering',
          row: row.seq,
          flow: flowOfRow(db, row.seq),
          says:
            `its events are numbered ${row.seq - events.length + 1} to ${row.seq}, ` +
            `but the row before ends with ${last}`,
        })
      if (seen.whole) seen.whole = folds(db, row, events, fold, tell)
      seen.events += events.length
    }
    last = events === null ? null : row.seq
    seen.rows += 1
    if (seen.rows % rowsBetweenLooks !== 0) continue
    onProgress?.(seen.rows, total)
    await new Promise<void>((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
  }
  onProgress?.(seen.rows, total)
}

/**
 * Null where it cannot be read. One that holds an event which is not known is read all the same: its
 * numbering still counts.
 */
function checkRow(db: DatabaseSync, row: LogRow, tell: Tell): Event[] | null {
  try {
    const events = eventsIn(row.seq, row.events)
    for (const [index, event] of events.entries()) {
      const parsed = Event.safeParse(event)
      if (!parsed.success)
        tell({
          what: 'row',
          row: row.seq,
          flow: flowOfRow(db, row.seq),
          says:
            `event ${row.seq - events.length + index + 1} is not one that this version knows: ` +
            `${firstIssue(parsed.error)}`,
        })
    }
    return events
  } catch (error) {
    if (!(error instanceof DamagedRow)) throw error
    tell({ what: 'row', row: row.seq, flow: flowOfRow(db, row.seq), says: error.message })
    return null
  }
}

const firstIssue = ({ issues }: { issues: readonly { path: PropertyKey[]; message: string }[] }): string =>
  `${issues[0]?.path.map(String).join('.') ?? ''}: ${issues[0]?.message ?? ''}`

/** False where the fold itself says no: what comes after it cannot be compared any more. */
function folds(
  db: DatabaseSync,
  row: LogRow,
  events: readonly Event[],
  fold: ReturnType<typeof folder>,
  tell: Tell,
): boolean {
  try {
    fold(row, events)
    return true
  } catch (error) {
    tell({
      what: 'row',
      row: row.seq,
      flow: flowOfRow(db, row.seq),
      says:
        `what it says does not follow from the rows before: ` +
        `${error instanceof Error ? error.message : String(error)}`,
    })
    return false
  }
}
