/** Derives the views of a log again, in one transaction: after a crash they are as they were. */
import type { DatabaseSync } from 'node:sqlite'
import { applyAll } from './apply.ts'
import { prepareWrites, type Writes } from './write-statements.ts'
import { stripMoved } from './archive/moved-lines.ts'
import { openDatabase, ownDirectory, placeFault, StoreFault } from './directory.ts'
import { findFlow, parseEvents, type LogRow } from './log-row.ts'
import { differences, emptyDatabase, emptyViews, visitRows, type Watched } from './rebuild.ts'

export type LogRebuild = {
  rows: number
  /** The first difference of each view, before. None where there was nothing to do. */
  differed: string[]
  /** Rows that were left out, because they cannot be read or do not follow from those before. */
  leftOut: LeftOut[]
}
type LeftOut = { row: number; flow: string | null; says: string }

export type RebuildOptions = Watched & {
  directory: string
  /** Leaves out rows that cannot be read, and what depends on them. */
  leaveOut?: boolean
}

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

async function rebuildIn(
  db: DatabaseSync,
  leaveOut: boolean,
  { onProgress, ...watched }: Watched,
): Promise<LogRebuild> {
  const folded = emptyDatabase()
  /** Folds twice: first beside the views, to know what differs and that it can be done, then in their place. */
  const foldInto = async (to: DatabaseSync, round: 0 | 1): Promise<{ rows: number; leftOut: LeftOut[] }> => {
    const [writes, leftOut]: [Writes, LeftOut[]] = [prepareWrites(to), []]
    const report = (done: number, total: number) => onProgress?.(round * total + done, 2 * total)
    const rows = await visitRows(
      db,
      { ...watched, onProgress: report },
      (row) => foldRow({ from: db, to, writes }, row, leaveOut, leftOut),
      (fault) => leave(leaveOut, leftOut, { row: fault.row, flow: null, says: fault.message }, fault),
    )
    stripMoved(db, to)
    return { rows, leftOut }
  }
  try {
    const { rows, leftOut } = await foldInto(folded, 0)
    const differed = differences(db, folded)
    if (differed.length > 0) await replaceViews(db, () => foldInto(db, 1))
    return { rows, differed, leftOut }
  } finally {
    folded.close()
  }
}

async function replaceViews(db: DatabaseSync, fold: () => Promise<unknown>): Promise<void> {
  db.exec('begin immediate')
  try {
    emptyViews(db)
    await fold()
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

/** What a row that is left out had begun to change is undone. */
function foldRow(
  { from, to, writes }: { from: DatabaseSync; to: DatabaseSync; writes: Writes },
  row: LogRow,
  leaveOut: boolean,
  leftOut: LeftOut[],
): void {
  if (leaveOut) to.exec('savepoint one_row')
  try {
    applyAll(writes, row, parseEvents(row))
    if (leaveOut) to.exec('release one_row')
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    leave(
      leaveOut,
      leftOut,
      { row: row.seq, flow: from === to ? null : findFlow(from, row.seq), says },
      error,
    )
    to.exec('rollback to one_row; release one_row')
  }
}

function leave(mayLeave: boolean, leftOut: LeftOut[], one: LeftOut, cause: unknown): void {
  if (!mayLeave || leftOut.length >= leftOutMax)
    throw new StoreFault(
      `${one.says} (row ${one.row}) Nothing was changed. Restore the log from a copy, ` +
        `or run "tieline rebuild --leave-out", which leaves out such rows and what depends on them.`,
      { cause },
    )
  leftOut.push(one)
}
