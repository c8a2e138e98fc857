/**
 * Commits go to the file beside the log first (`-wal`); a checkpoint writes them to the log itself, which takes as
 * long as the disk takes for megabytes. So a thread with its own connection makes it while work goes on. With nothing
 * left over, SQLite begins that file from its start again, and it stays as long as it is. That never comes about while
 * others commit, so for the last few pages commits wait: the thread writes them and makes the first commit of the
 * new beginning too, because SQLite waits for the disk in that one. The event loop goes on meanwhile.
 * Whatever becomes of the thread, SQLite makes checkpoints by itself where that file has grown too long.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { contained } from '../model/contained.ts'
import { ownFile } from '../own-files.ts'

/** In pages. `passed` to the thread at once; commits wait for `last`; `restarted` is when the file may begin again. */
export type CheckpointSizes = { passed: number; last: number; restarted: number; alone: number }

const usual: CheckpointSizes = { passed: 1000, last: 256, restarted: 4000, alone: 16_000 }
/** Where no thread helps. */
const pagesAlone = 4000
/** Asking how long the file is costs a few microseconds. */
const commitsPerLook = 8

/** How many pages are in the file beside the log, and how many of them are in the log too. */
type Pages = { log: number; checkpointed: number }

/** What the thread answers; null where it could not do it. */
export type Passed = Pages | null

type Connection = { db: DatabaseSync; look: StatementSync }

/** `restart` only while nobody else commits. */
export type Order = 'pass' | 'restart' | 'end'

export class Checkpoints {
  /** Passes of the thread so far. */
  passes = 0
  readonly #file: string
  readonly #sizes: CheckpointSizes
  #worker: Worker | null = null
  #ended: Promise<unknown> = Promise.resolve()
  #passing = false
  /** Called when the thread has answered, or never will. */
  #waiting: (() => void) | null = null
  #isOver = false
  #commits = 0
  /** Somebody reads what is older than the rest: until the file has so many pages a pass would achieve nothing. */
  #notBefore = 0
  /** The connection that leaves checkpoints to the thread, and what asks it. */
  #connection: Connection | null = null

  constructor(file: string, sizes: CheckpointSizes = usual) {
    this.#file = file
    this.#sizes = sizes
  }

  /**
   * Outside a transaction. Throws nothing: a checkpoint that fails has lost nothing. Where it returns a promise, nobody
   * commits until that settles.
   */
  afterCommit(db: DatabaseSync): Promise<void> | null {
    this.#commits += 1
    if (this.#passing || this.#isOver || this.#commits % commitsPerLook !== 0) return null
    try {
      return this.#consider(db)
    } catch {
      // SQLite's own limit still holds.
      return null
    }
  }

  #consider(db: DatabaseSync): Promise<void> | null {
    const { log, checkpointed } = readPages(this.#connect(db).look)
    // It began from its start again.
    if (log < this.#notBefore - this.#sizes.passed) this.#notBefore = 0
    const left = log - checkpointed
    if (log < this.#notBefore) return null
    if (log >= this.#sizes.restarted && left <= this.#sizes.last) {
      this.#ask(db, 'restart')
      return new Promise((resolve) => (this.#waiting = resolve))
    }
    if (left >= this.#sizes.passed || log >= this.#sizes.restarted) this.#ask(db, 'pass')
    return null
  }

  #note(done: Passed): void {
    if (done !== null && done.checkpointed >= done.log) return
    this.#notBefore = (done?.log ?? this.#sizes.restarted) + this.#sizes.passed
  }

  /** After a fault of the disk there is another connection. */
  #connect(db: DatabaseSync): Connection {
    if (this.#connection?.db !== db) {
      const look = db.prepare('pragma wal_checkpoint(noop)')
      this.#connection = { db, look }
      if (this.#worker !== null) this.#leaveToThread(db, true)
    }
    return this.#connection
  }

  #leaveToThread(db: DatabaseSync, isThere: boolean): void {
    db.exec(`pragma wal_autocheckpoint = ${isThere ? this.#sizes.alone : pagesAlone}`)
  }

  #ask(db: DatabaseSync, order: Order): void {
    if (this.#worker === null) {
      this.#worker = this.#start()
      this.#leaveToThread(db, true)
    }
    this.#passing = true
    this.#worker.postMessage(order)
  }

  /** Not before it is needed: most processes end before. It keeps no process alive. */
  #start(): Worker {
    const worker = new Worker(ownFile('store/checkpoint-worker'), { workerData: this.#file })
    worker.unref()
    const end = (): void => this.#end()
    worker.on(
      'message',
      contained(end, (done: Passed) => {
        this.#passing = false
        this.passes += 1
        this.#note(done)
        // Soon, while little was committed meanwhile.
        this.#commits = commitsPerLook - 1
        this.#goOn()
      }),
    )
    this.#ended = new Promise((resolve) => worker.on('exit', resolve))
    worker.on('error', contained(end, end))
    worker.on('exit', contained(end, end))
    return worker
  }

  /** Without the thread SQLite does it as if there never was one. */
  #end(): void {
    this.#goOn()
    if (this.#isOver) return
    this.#isOver = true
    this.#passing = false
    if (this.#connection?.db.isOpen === true) this.#leaveToThread(this.#connection.db, false)
  }

  #goOn(): void {
    this.#waiting?.()
    this.#waiting = null
  }

  /** The thread must have closed its connection first: whoever closes the last one tidies up. */
  async close(): Promise<void> {
    this.#isOver = true
    // A process that has nothing else to do would end before.
    this.#worker?.ref()
    this.#worker?.postMessage('end')
    await this.#ended
  }
}

export function readPages(statement: StatementSync): Pages {
  const { log, checkpointed } = statement.get() as Pages
  return { log, checkpointed }
}

/** An older SQLite takes the question how long the file is for an order to make a checkpoint. */
export function canAsk(db: DatabaseSync): boolean {
  const { version } = db.prepare('select sqlite_version() as version').get() as { version: string }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 3 || (major === 3 && minor >= 51)
}
