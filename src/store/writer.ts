/**
 * The connection that writes, with its statements. It is made again after a fault of the disk: what the old
 * one had begun is gone with it.
 */
import type { DatabaseSync } from 'node:sqlite'
import { prepareWrites } from './apply.ts'
import { connect } from './directory.ts'
import { FileGone, fileIdentity, probeDisk } from './disk-fault.ts'
import { prepareFacts } from './facts.ts'

export type Writer = ReturnType<typeof createWriter>

export const createWriter = (db: DatabaseSync) => ({
  db,
  facts: prepareFacts(db),
  writes: prepareWrites(db),
  begin: db.prepare('begin immediate'),
  commit: db.prepare('commit'),
  log: db.prepare('insert into log (seq, at, events) values (?, ?, ?)'),
  logSession: db.prepare('insert into log_sessions (session, seq) values (?, ?)'),
  heartbeat: db.prepare(
    'insert into nodes (id, until) values (?, ?) on conflict do update set until = excluded.until',
  ),
  last: db.prepare('select max(seq) as seq from log'),
})

/** The file of a log and the one beside it that commits go to first, as they were when the log was opened. */
export type LogFile = { path: string; check(): void }

export function logFile(path: string): LogFile {
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
export function reopenWriter(file: LogFile, old: Writer): Writer {
  file.check()
  probeDisk(file.path)
  const db = connect(file.path)
  try {
    const writer = createWriter(db)
    old.db.close()
    return writer
  } catch (error) {
    db.close()
    throw error
  }
}
