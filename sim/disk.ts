/**
 * The disk under the store of a plan, with faults. SQLite in Node takes no file layer of ours, so the faults come
 * in where the store's connection meets the disk. Full: SQLite itself refuses a page more. Lost: the commit reports a
 * fault, and is not there. Kept: the commit is there to read, and its sync reports a fault. Torn: the machine dies
 * while a commit is being written, and the log is opened from copies of its files in which the last commit is cut
 * off somewhere.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { LogSync } from '../src/store/log-sync.ts'
import { InjectedFault } from './host.ts'
import { hop } from './scheduler.ts'

/** Files in memory where the machine has such a place: what is tried here is not the speed of a real disk. */
const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export type DiskFault = 'full' | 'kept' | 'lost' | 'torn'

export class Disk {
  readonly #root = mkdtempSync(join(place, 'tieline-sim-'))
  /** Draws from the plan where a commit is cut off. */
  readonly #draw: (below: number) => number
  #opened = 0
  directory: string
  /** What is wrong now. */
  fault: DiskFault | null = null
  /** Whether the last commit that reported a fault is in the log all the same. */
  kept = false
  /** Called when the machine has died inside a commit, with the directory that it left. */
  onDeath: () => void = () => undefined
  readonly #limited = new WeakSet<DatabaseSync>()

  constructor(draw: (below: number) => number) {
    this.#draw = draw
    this.directory = this.#next()
    disks.add(this)
  }

  #next(): string {
    this.#opened += 1
    const directory = join(this.#root, String(this.#opened))
    mkdirSync(directory)
    return directory
  }

  /** The connection that writes. */
  writer: DatabaseSync | null = null

  /** A full disk has no page more for the connection that writes, also not for a new one. */
  press(): void {
    const db = this.writer
    if (db === null || !db.isOpen) return
    if (this.fault === 'full' && !this.#limited.has(db)) {
      this.#limited.add(db)
      db.exec('pragma max_page_count = 1')
    } else if (this.fault !== 'full' && this.#limited.delete(db))
      db.exec('pragma max_page_count = 4294967294')
  }

  commit(statement: StatementSync): unknown {
    if (this.fault === 'torn') return this.#tear(statement)
    if (this.fault !== 'lost') return statement.run()
    this.kept = false
    throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 1034 })
  }

  /** Others run before it has settled, and may meet what is not durable. */
  openSync = (): LogSync => ({
    sync: async () => {
      await hop()
      if (this.fault !== 'kept') return
      this.kept = true
      throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
    },
    close: () => Promise.resolve(),
  })

  #tear(statement: StatementSync): never {
    const [log, ahead] = ['tieline.db', 'tieline.db-wal'].map((name) => join(this.directory, name))
    const before = sizeOf(ahead)
    statement.run()
    const after = sizeOf(ahead)
    const left = this.#next()
    copyFileSync(log ?? '', join(left, 'tieline.db'))
    copyFileSync(ahead ?? '', join(left, 'tieline.db-wal'))
    // Where the file did not grow, the commit went to places in it that were free: it is there as a whole.
    if (after > before) truncateSync(join(left, 'tieline.db-wal'), before + this.#draw(after - before))
    // What is cut off may also be what SQLite wrote behind the commit to fill a sector.
    this.kept = this.#lastIn(left) === this.#lastIn(this.directory)
    this.directory = left
    this.fault = null
    this.onDeath()
    throw new InjectedFault('the machine died while it wrote')
  }

  /** Of a copy: who opens a log for the first time tidies it up. */
  #lastIn(directory: string): unknown {
    const copy = join(this.#root, 'copy')
    cpSync(directory, copy, { recursive: true })
    const db = new DatabaseSync(join(copy, 'tieline.db'))
    const row = db.prepare('select max(seq) as seq from log').get()
    db.close()
    rmSync(copy, { recursive: true })
    return row?.['seq']
  }

  remove(): void {
    disks.delete(this)
    rmSync(this.#root, { recursive: true, force: true })
  }
}

const sizeOf = (file: string | undefined): number =>
  statSync(file ?? '', { throwIfNoEntry: false })?.size ?? 0

const disks = new Set<Disk>()

/** The disk that a database lies on; undefined for those in memory. */
function findDisk(db: DatabaseSync): Disk | undefined {
  const path = db.location()
  return path === null ? undefined : [...disks].find(({ directory }) => path.startsWith(`${directory}/`))
}

// oxlint-disable-next-line unbound-method -- It is called with the database that it belongs to.
const { prepare } = DatabaseSync.prototype
DatabaseSync.prototype.prepare = function prepareOnDisk(this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql)
  const disk = sql === 'commit' ? findDisk(this) : undefined
  if (disk === undefined) return statement
  disk.writer = this
  return { run: () => disk.commit(statement) } as unknown as StatementSync
}
