/**
 * Opens what the store works on: its directory, the connection that writes and the one that reads, once they
 * are known to belong together.
 */
import { DatabaseSync } from 'node:sqlite'
import type { DamagedRow } from '../model/damaged-row.ts'
import { openDatabase, ownDirectory, placeFault, StoreFault } from './directory.ts'
import { watchRows } from './log-row.ts'
import { viewsProblem } from './views-belong.ts'
import { logFile, type LogFile } from './writer.ts'

export type OpenFiles = { db: DatabaseSync; reader: DatabaseSync; file: LogFile | null; release: () => void }

export function openFiles(directory: string, onDamage: (fault: DamagedRow) => void): OpenFiles {
  if (directory === ':memory:') {
    const db = openDatabase(directory)
    watchRows(db, onDamage)
    return { db, reader: db, file: null, release: () => undefined }
  }
  const owned = ownDirectory(directory)
  const opened: DatabaseSync[] = []
  try {
    const db = openDatabase(owned.file)
    opened.push(db)
    const reader = new DatabaseSync(owned.file, { readOnly: true })
    opened.push(reader)
    watchRows(db, onDamage)
    watchRows(reader, onDamage)
    const problem = viewsProblem(reader)
    if (problem !== null)
      throw new StoreFault(
        `${owned.file}: what is derived from the log does not belong to it (${problem}). ` +
          'Nothing was changed. Run "tieline rebuild" to derive it again, or "tieline check" to see why.',
      )
    // The lock says that nobody else is alive: leases of earlier processes have ended with them.
    db.exec('update nodes set until = 0')
    return { db, reader, file: logFile(owned.file), release: () => owned.release() }
  } catch (error) {
    for (const one of opened) one.close()
    owned.release()
    throw placeFault(owned.file, error)
  }
}
