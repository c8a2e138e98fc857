/** `tieline archive`: moves what ended long ago out of a log that nothing runs on. */
import type { DatabaseSync } from 'node:sqlite'
import type { Millis } from '../../model/id.ts'
import { openDatabase, ownDirectory, placeFault } from '../directory.ts'
import { foldTail } from '../tail.ts'
import { archiveFlows, previewArchive, sizeOf, type Archived, type ArchiveAsk } from './archive-flows.ts'
import { writeAnew } from './free-pages.ts'

export type ArchiveOptions = Pick<ArchiveAsk, 'endedBefore' | 'onProgress' | 'signal'> & {
  directory: string
  now: Millis
}
/** `bytesBefore` and `bytesAfter` are the sizes of the whole directory. */
export type ArchivedLog = Archived & { bytesBefore: number; bytesAfter: number }
export type ArchivePreview = Omit<Archived, 'bytes'> & { bytesBefore: number }

const unitsPerSegment = 16 * 1024 * 1024

/** What would be moved. Changes nothing. */
export const previewLog = ({ directory, ...ask }: ArchiveOptions): Promise<ArchivePreview> =>
  withLog(directory, async (db) => ({
    ...(await previewArchive(db, { ...ask, unitsPerSegment })),
    bytesBefore: sizeOf(directory),
  }))

export const archiveLog = ({ directory, ...ask }: ArchiveOptions): Promise<ArchivedLog> =>
  withLog(directory, async (db) => {
    const bytesBefore = sizeOf(directory)
    const commit = async (write: (to: DatabaseSync) => void): Promise<void> => inTransaction(db, write)
    const done = await archiveFlows({ reader: db, commit }, { ...ask, unitsPerSegment })
    if (done.segments > 0) writeAnew(db)
    return { ...done, bytesBefore, bytesAfter: sizeOf(directory) }
  })

async function withLog<T>(directory: string, work: (db: DatabaseSync) => Promise<T>): Promise<T> {
  const owned = ownDirectory(directory)
  try {
    const db = openDatabase(owned.file)
    try {
      foldTail(db)
      return await work(db)
    } finally {
      db.close()
    }
  } catch (error) {
    throw placeFault(owned.file, error)
  } finally {
    owned.release()
  }
}

function inTransaction(db: DatabaseSync, write: (to: DatabaseSync) => void): void {
  db.exec('begin immediate')
  try {
    write(db)
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}
