/**
 * Makes commits durable while the event loop goes on. SQLite writes a commit to the file beside the log (`-wal`), and
 * would also wait in the same call until the disk has it: some tenths of a millisecond, or half a second where the
 * disk is busy, and nothing else runs meanwhile. So SQLite only writes (`synchronous = normal`), and that file is
 * synced from here, in a thread. R2: nobody is told before that.
 */
import { closeSync, fdatasync, openSync } from 'node:fs'

export type LogSync = {
  /** Settles when all that was committed before is durable. */
  sync(): Promise<void>
  close(): void
}

/** The file is there: SQLite deletes it only when its last connection closes. SQLite has no lock on it to lose. */
export function openLogSync(log: string): LogSync {
  const handle = openSync(`${log}-wal`, 'r+')
  return {
    sync: () =>
      new Promise((resolve, reject) =>
        fdatasync(handle, (fault) => (fault === null ? resolve() : reject(fault))),
      ),
    close: () => closeSync(handle),
  }
}
