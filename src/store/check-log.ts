/**
 * Looks at a whole log: the file, every row, the numbering, and whether the views are the fold of it (R10).
 * It reads from one snapshot and writes nothing, so a server may work on the log meanwhile.
 * Long logs take a while, so it says how far it is and can be stopped.
 */
import { DatabaseSync } from 'node:sqlite'
import { DamagedRow } from '../model/damaged-row.ts'
import { Event } from '../model/event.ts'
import { applyAll } from './apply.ts'
import { prepareWrites, type Writes } from './write-statements.ts'
import { stripMoved } from './archive/moved-lines.ts'
import { findFlow, numberEvents, parseEvents, type LogRow } from './log-row.ts'
import { differences, emptyDatabase, visitRows, type Watched } from './rebuild.ts'
import { foldedUpTo } from './tail.ts'

export type LogProblem = {
  what: 'file' | 'row' | 'numbering' | 'segment' | 'views'
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

const problemsMax = 100
const shownMax = 300

export async function checkLog(file: string, watched: Watched = {}): Promise<LogCheck> {
  const db = new DatabaseSync(file, { readOnly: true })
  const folded = emptyDatabase()
  try {
    db.exec('begin')
    return await new Check(db, folded).run(watched)
  } finally {
    folded.close()
    db.close()
  }
}

class Check {
  readonly #db: DatabaseSync
  readonly #folded: DatabaseSync
  readonly #writes: Writes
  /** How far the views are. */
  readonly #upTo: number
  readonly #problems: LogProblem[] = []
  #problemsTotal = 0
  #rows = 0
  #events = 0
  /** The number of the last event; null after a row of which nobody knows how many it holds. */
  #last: number | null = 0
  /** Segments that cannot be read. */
  readonly #broken = new Set<string>()
  /** Whether all of it could be read and folded. */
  #whole = true

  constructor(db: DatabaseSync, folded: DatabaseSync) {
    this.#db = db
    this.#folded = folded
    this.#writes = prepareWrites(folded)
    this.#upTo = foldedUpTo(db) ?? Infinity
  }

  async run(watched: Watched): Promise<LogCheck> {
    for (const said of checkFile(this.#db)) this.#add('file', said)
    try {
      await visitRows(
        this.#db,
        watched,
        (row) => this.#visit(row),
        (fault, { file, n }) => this.#leaveOut(`${fault.why} (its block ${n})`, file),
      )
      if (this.#whole) stripMoved(this.#db, this.#folded)
      if (this.#whole) for (const says of differences(this.#db, this.#folded)) this.#add('views', says)
    } catch (error) {
      if ((error as { errcode?: unknown }).errcode === undefined) throw error
      // SQLite cannot read on: what is left is not known.
      this.#whole = false
      this.#add('file', `the file could not be read to its end: ${(error as Error).message}`)
    }
    return {
      ok: this.#problemsTotal === 0,
      rows: this.#rows,
      events: this.#events,
      problems: this.#problems,
      problemsTotal: this.#problemsTotal,
      viewsCompared: this.#whole,
    }
  }

  #add(what: LogProblem['what'], says: string, row: number | null = null): void {
    this.#problemsTotal += 1
    if (this.#problems.length >= problemsMax) return
    const flow = row === null ? null : findFlow(this.#db, row)
    this.#problems.push({ what, row, flow, says: says.slice(0, shownMax) })
  }

  /** Rows of a segment that cannot be read: one problem for each, and nobody knows how many events it holds. */
  #leaveOut(says: string, file: string): void {
    this.#whole = false
    this.#last = null
    if (this.#broken.has(file)) return
    this.#broken.add(file)
    this.#add('segment', says)
  }

  #visit(row: LogRow): void {
    this.#rows += 1
    const events = this.#parse(row)
    if (events === null) this.#whole = false
    else {
      const first = row.seq - events.length + 1
      // Where a segment cannot be read, a gap is what it held.
      if (this.#last !== null && this.#broken.size === 0 && first !== this.#last + 1)
        this.#add(
          'numbering',
          `its events are numbered ${first} to ${row.seq}, but the row before ends with ${this.#last}`,
          row.seq,
        )
      // What comes after it the views do not have yet, and need not.
      if (this.#whole && row.seq <= this.#upTo) this.#fold(row, events)
      this.#events += events.length
    }
    this.#last = events === null ? null : row.seq
  }

  /** Null where it cannot be read. A row with an unknown event counts as read: its numbering still holds. */
  #parse(row: LogRow): Event[] | null {
    try {
      const events = parseEvents(row)
      for (const { seq, event } of numberEvents(row, events)) {
        const issue = Event.safeParse(event).error?.issues[0]
        if (issue === undefined) continue
        const problem = `${issue.path.map(String).join('.')}: ${issue.message}`
        this.#add('row', `event ${seq} is not one that this version knows: ${problem}`, row.seq)
      }
      return events
    } catch (error) {
      if (!(error instanceof DamagedRow)) throw error
      this.#add('row', error.message, row.seq)
      return null
    }
  }

  /** After a row that cannot be folded, the rest cannot be compared. */
  #fold(row: LogRow, events: readonly Event[]): void {
    try {
      applyAll(this.#writes, row, events)
    } catch (error) {
      this.#whole = false
      const said = error instanceof Error ? error.message : String(error)
      this.#add('row', `what it says does not follow from the rows before: ${said}`, row.seq)
    }
  }
}

/** SQLite's own check of the pages and of every index. */
function checkFile(db: DatabaseSync): string[] {
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
