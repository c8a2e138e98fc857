/**
 * Derives the views of a log anew, while nobody else uses it. All in one transaction: a crash in the middle
 * leaves them as they were.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Watched } from './check-log.ts'
import { openDatabase, ownDirectory, placeFault, StoreFault } from './directory.ts'
import { eventsIn, flowOfRow, type LogRow } from './log-row.ts'
import { differences, emptyDatabase, emptyViews, folder, logRows } from './rebuild.ts'

export type LogRebuild = {
  rows: number
  /** The first difference of each view, before. None where there was nothing to do. */
  differed: string[]
  /** Rows that were left out, because they cannot be read or do not follow from those before. */
  leftOut: { row: number; flow: string | null; says: string }[]
}

export type RebuildOptions = Watched & {
  directory: string
  /** Leaves out rows that cannot be read, and what depends on them. */
  leaveOut?: boolean
}

const rowsBetweenLooks = 500
const leftOutMax = 1000

export async function rebuildLog({
  directory,
  leaveOut = false,
  ...watched
}: RebuildOptions): Promise<LogRebuild> {
  const owned = ownDirectory(directory)
  try {
    const db = openDatabase(owned.file)
    try {
      return await rebuildIn(db, leaveOut, watched)
    } finally {
      db.close()
    }
  } catch (error) {
    throw placeFault(owned.file, error)
  } finally {
    owned.release()
  }
}

type Left = LogRebuild['leftOut']

async function rebuildIn(
  db: DatabaseSync,
  leaveOut: boolean,
  { onProgress = () => undefined, signal }: Watched,
): Promise<LogRebuild> {
  const { total } = db.prepare('select count(*) as total from log').get() as { total: number }
  const folded = emptyDatabase()
  try {
    // Twice: first beside the views, to know what differs and that it can be done at all, then in their
    // place.
    const leftOut = await foldRows(db, folded, leaveOut, {
      onProgress: (done) => onProgress(done, 2 * total),
      ...(signal === undefined ? {} : { signal }),
    })
    const differed = differences(db, folded)
    if (differed.length > 0)
      await replaceViews(db, leaveOut, {
        onProgress: (done) => onProgress(total + done, 2 * total),
        ...(signal === undefined ? {} : { signal }),
      })
    return { rows: total, differed, leftOut }
  } finally {
    folded.close()
  }
}

async function replaceViews(db: DatabaseSync, leaveOut: boolean, watched: Watched): Promise<void> {
  db.exec('begin immediate')
  try {
    emptyViews(db)
    await foldRows(db, db, leaveOut, watched)
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

async function foldRows(
  from: DatabaseSync,
  to: DatabaseSync,
  leaveOut: boolean,
  { onProgress, signal }: Watched,
): Promise<Left> {
  const fold = folder(to)
  const leftOut: Left = []
  let done = 0
  for (const row of logRows(from)) {
    foldRow(from, to, row, fold, leaveOut, leftOut)
    done += 1
    if (done % rowsBetweenLooks !== 0) continue
    onProgress?.(done, done)
    await new Promise<void>((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
  }
  onProgress?.(done, done)
  return leftOut
}

/** What a row that is left out had begun to change is undone. */
function foldRow(
  from: DatabaseSync,
  to: DatabaseSync,
  row: LogRow,
  fold: ReturnType<typeof folder>,
  leaveOut: boolean,
  leftOut: Left,
): void {
  if (leaveOut) to.exec('savepoint one_row')
  try {
    fold(row, eventsIn(row.seq, row.events))
    if (leaveOut) to.exec('release one_row')
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    if (!leaveOut || leftOut.length >= leftOutMax)
      throw new StoreFault(
        `${says} (row ${row.seq}) Nothing was changed. Restore the log from a copy, ` +
          `or run "tieline rebuild --leave-out", which leaves out such rows and what depends on them.`,
        { cause: error },
      )
    to.exec('rollback to one_row; release one_row')
    leftOut.push({ row: row.seq, flow: from === to ? null : flowOfRow(from, row.seq), says })
  }
}
