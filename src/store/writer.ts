/**
 * What the store works on: its directory, the connection that writes, with its statements, and the one that
 * reads. After a fault of the disk the writer is made again: what the old one had begun is gone with it.
 */
import { DatabaseSync } from 'node:sqlite'
import type { DamagedRow } from '../model/damaged-row.ts'
import { canAsk, Checkpoints } from './checkpoints.ts'
import { prepareWrites } from './write-statements.ts'
import {
  connect,
  damagedFault,
  isCheckedLater,
  openDatabase,
  ownDirectory,
  placeFault,
  StoreFault,
} from './directory.ts'
import { FileGone, fileIdentity, isDamage, probeDisk } from './disk-fault.ts'
import { prepareFacts } from './fact-statements.ts'
import { watchRows } from './log-row.ts'
import { openLogSync, type LogSync } from './log-sync.ts'
import { foldTail, prepareMark } from './tail.ts'
import { viewsProblem } from './views-belong.ts'

export type OpenFiles = {
  db: DatabaseSync
  reader: DatabaseSync
  file: LogFile | null
  checkpoints: Checkpoints | null
  /** Null where a commit is as durable as it will be. */
  logSync: LogSync | null
  /** Whether somebody should look through the file: the last process did not close it. */
  isSuspect: boolean
  onDamage: (fault: DamagedRow) => void
  release: () => void
}

export function openFiles(
  directory: string | DatabaseSync,
  onDamage: OpenFiles['onDamage'],
  syncing: typeof openLogSync = openLogSync,
): OpenFiles {
  if (typeof directory !== 'string' || directory === ':memory:') {
    const db = typeof directory === 'string' ? openDatabase(directory) : directory
    watchRows(db, onDamage)
    const ofFile = { file: null, checkpoints: null, logSync: null, isSuspect: false }
    return { db, reader: db, ...ofFile, onDamage, release: () => undefined }
  }
  const owned = ownDirectory(directory)
  const opened: DatabaseSync[] = []
  try {
    const isSuspect = isCheckedLater(owned.file)
    const db = openDatabase(owned.file)
    opened.push(db)
    const reader = new DatabaseSync(owned.file)
    opened.push(reader)
    reader.exec('pragma query_only = on; pragma temp_store = memory')
    watchRows(db, onDamage)
    watchRows(reader, onDamage)
    foldTail(db)
    const problem = viewsProblem(reader)
    if (problem !== null)
      throw new StoreFault(
        `${owned.file}: what is derived from the log does not belong to it (${problem}). ` +
          'Nothing was changed. Run "tieline rebuild" to derive it again, or "tieline check" to see why.',
      )
    // The lock says that nobody else is alive: leases of earlier processes have ended with them.
    db.exec('update nodes set until = 0')
    const file = openLogFile(owned.file)
    const checkpoints = canAsk(db) ? new Checkpoints(owned.file) : null
    const logSync = syncing(owned.file)
    return { db, reader, file, checkpoints, logSync, isSuspect, onDamage, release: () => owned.release() }
  } catch (error) {
    for (const one of opened) one.close()
    owned.release()
    throw isDamage(error) ? damagedFault(owned.file, error) : placeFault(owned.file, error)
  }
}

export type Writer = ReturnType<typeof createWriter>

export const createWriter = (db: DatabaseSync) => ({
  db,
  facts: prepareFacts(db),
  writes: prepareWrites(db),
  mark: prepareMark(db),
  hasTurn: db.prepare('select 1 from all_turns where id = ?'),
  hasSession: db.prepare('select 1 from sessions where id = ?'),
  begin: db.prepare('begin immediate'),
  commit: db.prepare('commit'),
  log: db.prepare('insert into log (seq, at, events) values (?, ?, ?)'),
  heartbeat: db.prepare(
    'insert into nodes (id, until) values (?, ?) on conflict do update set until = excluded.until',
  ),
})

/** The file of a log and the one beside it that commits go to first, as they were when the log was opened. */
type LogFile = { path: string; check(): void }

function openLogFile(path: string): LogFile {
  const [log, ahead] = [fileIdentity(path), fileIdentity(`${path}-wal`)]
  return {
    path,
    /** R2: SQLite goes on writing to a file that was deleted or replaced, and nobody would ever read it. */
    check() {
      if (fileIdentity(path) !== log)
        throw new FileGone('the log was deleted, moved or replaced while it was in use')
      if (fileIdentity(`${path}-wal`) !== ahead)
        throw new FileGone(
          'the file beside the log (-wal) was deleted, moved or replaced while it was in use',
        )
    },
  }
}

/** Throws while the disk does not take what is written. */
export function reopenWriter(file: LogFile, old: Writer, onDamage: OpenFiles['onDamage']): Writer {
  file.check()
  probeDisk(file.path)
  const db = connect(file.path)
  try {
    const writer = createWriter(db)
    watchRows(db, onDamage)
    old.db.close()
    return writer
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * After a sync that failed, the kernel takes what it could not write for written: no later sync of that file says
 * anything about it. So all of it goes to the log itself, which is synced, and the file begins again.
 */
export function writeAllToLog(db: DatabaseSync): void {
  const { busy } = db.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number }
  if (busy !== 0)
    throw new Error('what was committed could not be written to the log, because somebody reads it')
}
