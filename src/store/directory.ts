/** A data directory has one owner. The lock is a lock of the kernel on a file of its own, so that it is gone with the process, however it died. */
import { closeSync, existsSync, mkdirSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { applicationId, migrations } from './schema.ts'

/** The store cannot be used; the message says what to do. Nothing was changed on disk. */
export class StoreFault extends Error {}

export type Directory = { file: string; release(): void }

export function ownDirectory(path: string): Directory {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const lock = new DatabaseSync(join(path, 'owner.lock'))
  try {
    lock.exec('pragma busy_timeout = 0; pragma journal_mode = memory; begin exclusive')
  } catch (cause) {
    lock.close()
    throw new StoreFault(`${path} is in use by another Tieline process. Connect to that one, end it, or choose another data directory.`, { cause })
  }
  return { file: join(path, 'tieline.db'), release: () => lock.close() }
}

/** Reads the header before SQLite opens the file, so that a file that is not ours is never written to. */
export function checkHeader(file: string): void {
  if (!existsSync(file)) return
  const header = Buffer.alloc(100)
  const handle = openSync(file, 'r')
  const size = readSync(handle, header, 0, 100, 0)
  closeSync(handle)
  if (size === 0) return
  if (size < 100 || header.toString('latin1', 0, 15) !== 'SQLite format 3') throw new StoreFault(`${file} is damaged or is not a Tieline log. It was left as it is: move it away, or restore it from a copy.`)
}

/** Opens and migrates. A file of a newer version, of another program, or one that is damaged is left as it is. */
export function openDatabase(file: string): DatabaseSync {
  if (file !== ':memory:') checkHeader(file)
  const db = new DatabaseSync(file)
  try {
    prepare(db, file)
    return db
  } catch (cause) {
    db.close()
    if (cause instanceof StoreFault) throw cause
    throw new StoreFault(`${file} cannot be read as a Tieline log (${(cause as Error).message}). It was left as it is: move it away, or restore it from a copy.`, { cause })
  }
}

function prepare(db: DatabaseSync, file: string): void {
  const version = (db.prepare('pragma user_version').get() as { user_version: number }).user_version
  const owner = (db.prepare('pragma application_id').get() as { application_id: number }).application_id
  const tables = (db.prepare('select count(*) as n from sqlite_schema').get() as { n: number }).n
  if (tables > 0 && owner !== applicationId) throw new StoreFault(`${file} is a database of another program. Choose another data directory.`)
  if (version > migrations.length) throw new StoreFault(`${file} was written by a newer Tieline (its format is ${version}, this one knows ${migrations.length}). Update Tieline; the file was left as it is.`)
  const damage = tables === 0 ? 'ok' : (db.prepare('pragma quick_check(1)').get() as { quick_check: string }).quick_check
  if (damage !== 'ok') throw new StoreFault(`${file} is damaged (${damage}). It was left as it is: move it away, or restore it from a copy.`)
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000; pragma cache_size = -65536; pragma temp_store = memory')
  if (version === migrations.length) return
  db.exec('begin immediate')
  for (const step of migrations.slice(version)) db.exec(step)
  db.exec(`pragma application_id = ${applicationId}; pragma user_version = ${migrations.length}; commit`)
}
