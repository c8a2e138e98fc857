/**
 * A data directory has one owner. The lock is a lock of the kernel on a file of its own, so that it is gone
 * with the process, however it died.
 */
import { closeSync, existsSync, mkdirSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { emptyLogFile } from '../own-files.ts'
import { placeEmptyLog } from './empty-log.ts'
import { faultWords, FileGone, freeBytesAt, freeWords, isAboutPlace } from './disk-fault.ts'
import { closeToOthers, dataNames, findForeignOwner, makePrivate } from '../trust/private-files.ts'
import { findDamage } from './file-check.ts'
import { fillRequests } from './fill-requests.ts'
import { applicationId, migrations, requestsSince } from './schema.ts'

/** The store cannot be used; the message says what to do. Nothing was changed on disk. */
export class StoreFault extends Error {}

export function ownDirectory(path: string): { file: string; release(): void } {
  prepareDirectory(path)
  const lock = lockFile(join(path, 'owner.lock'), path)
  return { file: join(path, 'tieline.db'), release: () => lock.close() }
}

/** Makes it where it is missing, and closes it and what is in it to others. Throws a StoreFault. */
export function prepareDirectory(path: string): void {
  try {
    makeDirectory(resolve(path))
  } catch (cause) {
    throw new StoreFault(
      `${path} cannot be used as a data directory (${(cause as Error).message}). Choose another one.`,
      { cause },
    )
  }
  const owner = findForeignOwner(path)
  if (owner !== null)
    throw new StoreFault(
      `${path} belongs to another user (uid ${owner}), who could read and replace all that is in it. ` +
        'Choose another data directory, or give this one to the user who runs Tieline (chown).',
    )
  closeToOthers(path, dataNames)
}

/** One level at a time: Node's own `recursive` never ends where a file system makes none, such as /proc. */
function makeDirectory(path: string): void {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw new Error('it is a file')
    return
  }
  if (dirname(path) !== path) makeDirectory(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

const leftAlone = 'It was left as it is: move it away, or restore it from a copy.'

/** SQLite's result code for a file that is none of its own. */
const notADatabase = 26

function lockFile(file: string, path: string): DatabaseSync {
  const lock = openLock(file, path)
  try {
    lock.exec('pragma busy_timeout = 0; pragma journal_mode = memory; begin exclusive')
    return lock
  } catch (cause) {
    lock.close()
    if ((cause as { errcode?: number }).errcode !== notADatabase) {
      throw new StoreFault(
        `${path} is in use by another Tieline process. ` +
          'Connect to that one, end it, or choose another data directory.',
        { cause },
      )
    }
    // A damaged lock says nothing about anybody, and holds nothing worth keeping.
    rmSync(file)
    return lockFile(file, path)
  }
}

function openLock(file: string, path: string): DatabaseSync {
  try {
    makePrivate(file)
    return new DatabaseSync(file)
  } catch (cause) {
    throw new StoreFault(
      `${path} cannot be written to (${(cause as Error).message}${freeWords(path)}). ` +
        'Choose another data directory, make room, or change its permissions.',
      { cause },
    )
  }
}

/**
 * Whether the last process that had it open ended without closing it. Then the file beside it, which commits go to
 * first, is still there.
 */
export const endedUncleanly = (file: string): boolean =>
  (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0

/** Reads the header before SQLite opens the file, so that a file that is not ours is never written to. */
function checkHeader(file: string): void {
  if (!existsSync(file)) return
  const header = Buffer.alloc(100)
  const handle = openSync(file, 'r')
  const size = readSync(handle, header, 0, 100, 0)
  closeSync(handle)
  // An empty file is a fresh one, unless what was written to it is still waiting beside it.
  if (size === 0 && !existsSync(`${file}-wal`)) return
  if (size < 100 || header.toString('latin1', 0, 15) !== 'SQLite format 3')
    throw new StoreFault(`${file} is damaged or is not a Tieline log. ${leftAlone}`)
  // Where it was closed, it is as long as it says, whenever it says so for the last change of it.
  const isSaid = header.readUInt32BE(24) === header.readUInt32BE(92)
  if (!isSaid || endedUncleanly(file)) return
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const missing = header.readUInt32BE(28) * pageBytes - statSync(file).size
  if (missing > 0)
    throw new StoreFault(`${file} is damaged (${missing} bytes of it are missing). ${leftAlone}`)
}

/** A file up to this size is looked through at every start: that takes less than loading a module does. */
const checkedBytesMax = 8 * 1024 * 1024

/** Whether it is looked through in the background, once it is open. */
export const isCheckedLater = (file: string): boolean =>
  endedUncleanly(file) && statSync(file).size > checkedBytesMax

/** Opens and migrates. A file that is newer, damaged or another program's is only read, and left as it is. */
export function openDatabase(file: string, empty = emptyLogFile): DatabaseSync {
  if (file === ':memory:') return migrate(new DatabaseSync(file))
  checkHeader(file)
  try {
    if (empty !== null) placeEmptyLog(file, empty)
    if (existsSync(file) && statSync(file).size > 0) inspect(file)
    else makePrivate(file)
    return migrate(new DatabaseSync(file))
  } catch (cause) {
    if (cause instanceof StoreFault || isAboutPlace(cause)) throw placeFault(file, cause)
    throw damagedFault(file, cause)
  }
}

export const damagedFault = (file: string, cause: unknown): StoreFault =>
  new StoreFault(`${file} cannot be read as a Tieline log (${(cause as Error).message}). ${leftAlone}`, {
    cause,
  })

/** A place that cannot be written says nothing about the log: a full disk is no reason to move it away. */
export function placeFault(file: string, cause: unknown): unknown {
  if (!isAboutPlace(cause)) return cause
  const { reason, cure } = faultWords(cause, freeBytesAt(dirname(file)))
  return new StoreFault(
    `${file} cannot be used now: ${reason}${freeWords(dirname(file))}. ${cure} Then try again.`,
    { cause },
  )
}

function inspect(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const owner = readNumber(db, 'application_id')
    const version = readNumber(db, 'user_version')
    const tables = (db.prepare('select count(*) as n from sqlite_schema').get() as { n: number }).n
    if (owner !== applicationId && (tables > 0 || owner !== 0 || version !== 0))
      throw new StoreFault(`${file} is a database of another program. Choose another data directory.`)
    if (version > migrations.length)
      throw new StoreFault(
        `${file} was written by a newer Tieline (its format is ${version}, this one knows ` +
          `${migrations.length}). Update Tieline; the file was left as it is.`,
      )
    const damage = statSync(file).size > checkedBytesMax ? null : findDamage(db)
    if (damage !== null) throw new StoreFault(`${file} is damaged (${damage}). ${leftAlone}`)
  } finally {
    db.close()
  }
}

const readNumber = (db: DatabaseSync, pragma: 'application_id' | 'user_version'): number =>
  (db.prepare(`pragma ${pragma}`).get() as Record<string, number>)[pragma] ?? 0

/** A commit is written here, and made durable by `log-sync.ts`. */
const settings = `pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 4000;
  pragma cache_size = -65536; pragma temp_store = memory`

/** Opens a log that this process opened before. One of another format has replaced it, and is not touched. */
export function connect(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  try {
    if (readNumber(db, 'user_version') !== migrations.length)
      throw new FileGone('the log was replaced by one of another format')
    db.exec(settings)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function migrate(db: DatabaseSync): DatabaseSync {
  // Only a new file can be told so: what is moved out of it later gives its pages back to the disk.
  if (readNumber(db, 'user_version') === 0) db.exec('pragma auto_vacuum = incremental')
  db.exec(settings)
  const version = readNumber(db, 'user_version')
  if (version === migrations.length) return db
  db.exec('begin immediate')
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue
    db.exec(step)
    // Before any line of a turn can have been moved.
    if (version > 0 && index + 1 === requestsSince) fillRequests(db)
  }
  db.exec(`pragma application_id = ${applicationId}; pragma user_version = ${migrations.length}; commit`)
  return db
}
