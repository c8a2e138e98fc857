/** Gives pages that nothing stands on any more back to the disk. */
import type { DatabaseSync } from 'node:sqlite'
import { nextRound } from '../../runtime/kernel/next-round.ts'
import type { ArchivePorts } from './archive-flows.ts'

/** A few milliseconds each, and others run in between. */
const pagesPerSlice = 256

const readPragma = (db: DatabaseSync, name: 'freelist_count' | 'auto_vacuum'): number =>
  (db.prepare(`pragma ${name}`).get() as Record<string, number>)[name] ?? 0

const incremental = 2

/** While others work. A file that an older version made keeps its free pages for what comes. */
export async function freePages(reader: DatabaseSync, commit: ArchivePorts['commit']): Promise<void> {
  if (readPragma(reader, 'auto_vacuum') !== incremental) return
  for (let left = readPragma(reader, 'freelist_count'); left > 0;) {
    await commit((db) => db.exec(`pragma incremental_vacuum(${pagesPerSlice})`))
    await nextRound()
    const now = readPragma(reader, 'freelist_count')
    if (now >= left) return
    left = now
  }
}

/** For a log that nothing runs on: all of it is written anew without gaps, also what an older version made. */
export function writeAnew(db: DatabaseSync): void {
  db.exec('pragma auto_vacuum = incremental; vacuum; pragma wal_checkpoint(truncate)')
}
