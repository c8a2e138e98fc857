/**
 * Makes commits durable while the event loop goes on. SQLite writes a commit to the file beside the log (`-wal`), and
 * would also wait in the same call until the disk has it: some tenths of a millisecond, or half a second where the
 * disk is busy, and nothing else runs meanwhile. So SQLite only writes (`synchronous = normal`), and that file is
 * synced from here, in a thread. R2: nobody is told before that.
 * Who is alone waits here for a moment all the same: most syncs are over within it, and being woken by the event loop
 * takes as long as they do.
 * The thread does nothing else: in Node's own pool a sync would wait behind every file of somebody's that hangs.
 * Until it has started, and where it has ended, syncs are made on the main thread.
 */
import assert from 'node:assert/strict'
import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { contained } from '../model/contained.ts'
import { ownFile } from '../own-files.ts'

export type LogSync = {
  /**
   * Settles when all that was committed before is durable; null where it is. One at a time. `alone`: nobody has
   * anything else to do meanwhile.
   */
  sync(alone: boolean): Promise<void> | null
  close(): Promise<void>
}

/** What the thread gets: the file, and three counters. */
export type SyncOrder = { handle: number; counters: SharedArrayBuffer }
/**
 * Which sync was asked for last (`ended` asks for no more), which was done last, and which the event loop is told of.
 * Each side writes its own before it reads the other's, so at least one sees both.
 */
export const [askedAt, doneAt, toldAt] = [0, 1, 2]
export const ended = -1
/** One is under way at a time, so a few numbers tell them apart. */
const numbers = 1024
/** What the thread says: that it has started, or which sync is over. A fault loses its code between threads. */
export type SyncWord = 'started' | { of: number; fault: { message: string; code: string | undefined } | null }

/** So long nothing else runs. */
const momentMs = 1
/** After one that took longer, so many are not waited for here. */
const slowMax = 16

/** The file is there: SQLite deletes it only when its last connection closes. SQLite has no lock on it to lose. */
export function openLogSync(log: string): LogSync {
  return new ThreadedSync(openSync(`${log}-wal`, 'r+'))
}

type Waiting = { of: number; resolve: () => void; reject: (fault: Error) => void }

class ThreadedSync implements LogSync {
  readonly #handle: number
  readonly #counters = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT))
  #thread: Worker | null = null
  #gone: Promise<unknown> = Promise.resolve()
  #isReady = false
  #slow = 0
  #waiting: Waiting | null = null

  constructor(handle: number) {
    this.#handle = handle
  }

  sync(alone: boolean): Promise<void> | null {
    assert(this.#waiting === null, 'one sync at a time')
    this.#thread ??= this.#start()
    if (!this.#isReady) return this.#syncHere()
    const asked = (Atomics.load(this.#counters, askedAt) + 1) % numbers
    const isWatched = alone && this.#slow === 0
    if (this.#slow > 0) this.#slow -= 1
    if (!isWatched) Atomics.store(this.#counters, toldAt, asked)
    const before = Atomics.load(this.#counters, doneAt)
    Atomics.store(this.#counters, askedAt, asked)
    Atomics.notify(this.#counters, askedAt)
    return isWatched && this.#isOverSoon(asked, before) ? null : this.#wait(asked)
  }

  #syncHere(): Promise<void> | null {
    try {
      fdatasyncSync(this.#handle)
      return null
    } catch (fault) {
      return Promise.reject(fault as Error)
    }
  }

  #isOverSoon(asked: number, before: number): boolean {
    Atomics.wait(this.#counters, doneAt, before, momentMs)
    if (this.#isDone(asked)) return true
    this.#slow = slowMax
    Atomics.store(this.#counters, toldAt, asked)
    return this.#isDone(asked)
  }

  #isDone = (asked: number): boolean => Atomics.load(this.#counters, doneAt) === asked

  #wait(of: number): Promise<void> {
    // A process that has nothing else to do would end before.
    this.#thread?.ref()
    return new Promise((resolve, reject) => (this.#waiting = { of, resolve, reject }))
  }

  /** Not before it is needed. It keeps no process alive. */
  #start(): Worker {
    const order: SyncOrder = { handle: this.#handle, counters: this.#counters.buffer }
    const thread = new Worker(ownFile('store/sync-worker'), { workerData: order })
    thread.unref()
    const end = (): void => this.#end()
    thread.on(
      'message',
      contained(end, (word: SyncWord) => this.#take(word)),
    )
    this.#gone = new Promise((resolve) => thread.on('exit', resolve))
    thread.on('error', contained(end, end))
    thread.on('exit', contained(end, end))
    return thread
  }

  #take(word: SyncWord): void {
    if (word === 'started') this.#isReady = true
    else if (word.of === this.#waiting?.of)
      this.#settle(word.fault === null ? null : Object.assign(new Error(word.fault.message), word.fault))
  }

  #settle(fault: Error | null): void {
    const waiting = this.#waiting
    this.#waiting = null
    this.#thread?.unref()
    if (fault === null) waiting?.resolve()
    else waiting?.reject(fault)
  }

  /** Nobody knows whether the sync that it was asked for was made, so it is made here. */
  #end(): void {
    this.#isReady = false
    if (this.#waiting === null) return
    try {
      fdatasyncSync(this.#handle)
      this.#settle(null)
    } catch (fault) {
      this.#settle(fault as Error)
    }
  }

  async close(): Promise<void> {
    this.#isReady = false
    this.#thread?.ref()
    Atomics.store(this.#counters, askedAt, ended)
    Atomics.notify(this.#counters, askedAt)
    await this.#gone
    closeSync(this.#handle)
  }
}
