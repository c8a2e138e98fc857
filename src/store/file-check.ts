/**
 * SQLite's own check of a log's file. A long one takes seconds, so it is not made at every start: only after an end
 * that was not clean, and then in a thread of its own while the log is already used.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { contained } from '../model/contained.ts'
import { ownFile } from '../own-files.ts'

/** `done` of `of` tables; null where nothing is being checked. */
export type FileCheck = { progress(): { done: number; of: number } | null; close(): Promise<void> }

export type Checked = { done: number; of: number; damage: string | null }

/** Looks through one table after the other, each in its own snapshot, until one is damaged. */
export function* checkTables(file: string): Generator<Checked> {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = db
      .prepare(`select name from sqlite_schema where type = 'table' and rootpage > 0 order by name`)
      .all()
      .map((row) => String(row['name']))
    yield { done: 0, of: tables.length, damage: null }
    for (const [index, table] of tables.entries()) {
      const damage = findDamage(db, table)
      yield { done: index + 1, of: tables.length, damage }
      if (damage !== null) return
    }
  } finally {
    db.close()
  }
}

/** What SQLite finds first, in the whole file or in one table; null where it finds nothing. */
export function findDamage(db: DatabaseSync, table: string | null = null): string | null {
  const of = table === null ? '1' : `'${table.replaceAll("'", "''")}'`
  const said = String(db.prepare(`pragma quick_check(${of})`).get()?.['quick_check'])
  return said === 'ok' ? null : said
}

export function damageIn(directory: string): string | null {
  for (const { damage } of checkTables(join(directory, 'tieline.db'))) if (damage !== null) return damage
  return null
}

/** SQLite's result code for a file that is damaged: whoever explains faults knows it. */
const corrupt = 11

export class DamagedFile extends Error {
  readonly errcode = corrupt
}

export const nothingChecked: FileCheck = { progress: () => null, close: async () => undefined }

/** Begins at once, and keeps no process alive. `onDamage` is called at most once. */
export function checkInBackground(file: string, onDamage: (fault: DamagedFile) => void): FileCheck {
  let at: { done: number; of: number } | null = { done: 0, of: 0 }
  const worker = new Worker(ownFile('store/file-check-worker'), { workerData: file })
  worker.unref()
  const end = (): void => void (at = null)
  worker.on(
    'message',
    contained(end, ({ damage, ...progress }: Checked) => {
      at = damage === null && progress.done < progress.of ? progress : null
      if (damage !== null) onDamage(new DamagedFile(damage))
    }),
  )
  // A thread that cannot be started says nothing about the file; whoever reads it will find out.
  worker.on('error', contained(end, end))
  worker.on('exit', contained(end, end))
  return {
    progress: () => at,
    async close() {
      await worker.terminate()
    },
  }
}
