/**
 * Makes commits durable while the event loop goes on. SQLite writes a commit to the file beside the log (`-wal`), and
 * would also wait in the same call until the disk has it: some tenths of a millisecond, or half a second where the
 * disk is busy, and nothing else runs meanwhile. So SQLite only writes (`synchronous = normal`), and that file is
 * synced from here, in a thread. R2: nobody is told before that.
 * The thread does nothing else: in Node's own pool a sync would wait behind every file of somebody's that hangs.
 * Until it has started, and where it has ended, syncs are made on the main thread.
 */
import assert from 'node:assert/strict'
import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { contained } from '../model/contained.ts'
import { ownFile } from '../own-files.ts'

export type LogSync = {
  /** Settles when all that was committed before is durable. One at a time. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** What the thread gets: the file, and where it finds how many syncs were asked for; `ended` asks for no more. */
export type SyncOrder = { handle: number; asked: SharedArrayBuffer }
export const ended = -1
/** What it answers with. A fault loses its code where an error crosses threads. */
export type Synced = 'started' | 'synced' | { message: string; code: string | undefined }

/** The file is there: SQLite deletes it only when its last connection closes. SQLite has no lock on it to lose. */
export function openLogSync(log: string): LogSync {
  return new ThreadedSync(openSync(`${log}-wal`, 'r+'))
}

type Waiting = { resolve: () => void; reject: (fault: Error) => void }

class ThreadedSync implements LogSync {
  readonly #handle: number
  readonly #asked = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #thread: Worker | null = null
  #gone: Promise<unknown> = Promise.resolve()
  #isReady = false
  #waiting: Waiting | null = null

  constructor(handle: number) {
    this.#handle = handle
  }

  async sync(): Promise<void> {
    assert(this.#waiting === null, 'one sync at a time')
    this.#thread ??= this.#start()
    if (!this.#isReady) return fdatasyncSync(this.#handle)
    // A process that has nothing else to do would end before.
    this.#thread.ref()
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      Atomics.add(this.#asked, 0, 1)
      Atomics.notify(this.#asked, 0)
    })
  }

  /** Not before it is needed. It keeps no process alive. */
  #start(): Worker {
    const order: SyncOrder = { handle: this.#handle, asked: this.#asked.buffer }
    const thread = new Worker(ownFile('store/sync-worker'), { workerData: order })
    thread.unref()
    const end = (): void => this.#end()
    thread.on(
      'message',
      contained(end, (done: Synced) => this.#take(done)),
    )
    this.#gone = new Promise((resolve) => thread.on('exit', resolve))
    thread.on('error', contained(end, end))
    thread.on('exit', contained(end, end))
    return thread
  }

  #take(done: Synced): void {
    if (done === 'started') this.#isReady = true
    else this.#settle(done === 'synced' ? null : Object.assign(new Error(done.message), { code: done.code }))
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
    Atomics.store(this.#asked, 0, ended)
    Atomics.notify(this.#asked, 0)
    await this.#gone
    closeSync(this.#handle)
  }
}
