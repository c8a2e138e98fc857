/**
 * Runs transactions one after another inside one SQLite transaction, which is committed when the queue is
 * drained: one sync of the disk serves all that were waiting, and nobody but those in the queue waits for it.
 * R1: works run alone, so facts cannot change between check and append. R2: answers, refusals and throws
 * alike are delivered after the sync, because a refusal may rest on a neighbour that was not yet durable.
 * R10: the log is written in the commit; the views follow (`behind.ts`), and no fact is read from one that lags.
 */
import { AppendFault, type Hint, type Key, type Tx } from '../runtime/kernel/store-port.ts'
import assert from 'node:assert/strict'
import type { Event } from '../model/event.ts'
import { Behind } from './behind.ts'
import { StoreFault } from './directory.ts'
import { isDiskFault } from './disk-fault.ts'
import { Deliveries } from './deliveries.ts'
import { findLastSeq } from './log-row.ts'
import type { Live } from './live.ts'
import type { LogSync } from './log-sync.ts'
import { trackDisk, type Outage } from './outage.ts'
import { OutageViews } from './outage-views.ts'
import type { QueueOptions } from './queue-options.ts'
import { WorkQueue, type Job, type Settled } from './work-queue.ts'
import { WorkRunner } from './work-runner.ts'
import { createWriter, reopenWriter, writeAllToLog, type OpenFiles, type Writer } from './writer.ts'

const worksPerGroupMax = 256
/** Others run between two groups. */
const groupMsMax = 16

export class CommitQueue {
  writer: Writer
  commits = 0
  /** The last event that is known to be on disk: nobody is told of a later one. */
  durable: number
  readonly listeners = new Set<(hints: readonly Hint[]) => void>()
  readonly outage: Outage
  readonly #files: OpenFiles
  readonly #options: QueueOptions
  readonly #jobs = new WorkQueue<Job>()
  readonly #deliveries = new Deliveries(this.listeners)
  readonly behind = new Behind(() => this.writer)
  readonly #outageViews: OutageViews
  readonly #runner: WorkRunner
  /** Called when the group that runs is done. */
  #waiting: (() => void)[] = []
  #following = false
  /** From the first work of a group until it is durable, or has failed. */
  #draining = false
  #scheduled = false
  /** A sync has failed: what is in the file beside the log may be lost with the machine, whatever later syncs say. */
  #unsynced = false
  #closed = false

  constructor(files: OpenFiles, options: QueueOptions) {
    this.#files = files
    this.#options = options
    this.writer = createWriter(files.db)
    this.outage = trackDisk(files.file?.path ?? ':memory:', options, options.onHealth)
    this.#outageViews = new OutageViews(files.reader)
    this.durable = findLastSeq(files.reader)
    this.#runner = new WorkRunner(this.durable, {
      options,
      behind: this.behind,
      writer: () => this.writer,
      hold: (job, events) => this.#hold(job, events),
    })
  }

  transact<T>(keys: readonly Key[], work: (tx: Tx) => Promise<T>, urgent = false): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreFault('the store is closed'))
    const unavailable = this.outage.refusal()
    if (unavailable !== null) return Promise.reject(unavailable)
    return new Promise<T>((resolve, reject) => {
      const settle = { resolve: resolve as (value: unknown) => void, reject }
      this.#jobs.push({ keys, known: null, urgent, work, ...settle })
      this.#schedule()
    })
  }

  /** Waits for what was begun; afterwards every transaction is rejected. */
  async drain(): Promise<void> {
    while (!this.#jobs.isEmpty() || this.#draining || !this.#deliveries.isEmpty())
      await new Promise<void>((resolve) => setImmediate(() => resolve()))
    this.#closed = true
  }

  #schedule(): void {
    if (this.#scheduled || this.#draining) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#runGroup()
    })
  }

  async #runGroup(): Promise<void> {
    if (this.#draining) return
    let current = this.#jobs.take()
    if (current === undefined) return this.#jobs.endRound()
    this.#draining = true
    const settled: Settled[] = []
    const since = this.#options.elapsed()
    const isFull = (): boolean =>
      settled.length >= worksPerGroupMax || this.#options.elapsed() - since > groupMsMax
    try {
      // What was under way when the disk failed was kept after all: those who follow the log look for it.
      if (this.#recover()) settled.push({ job: null, ok: true, value: null, hints: [{ kind: 'appended' }] })
      this.writer.begin.run()
      // A work may await only `tx`, or it would hold up all others: then nothing but promise jobs runs until
      // the group is done.
      const watch = setImmediate(() =>
        assert(!this.#runner.isDeciding, 'a transaction awaited something other than its facts'),
      )
      while (current !== undefined) {
        const done = await this.#runner.run(current)
        if (done !== null) settled.push(done)
        current = isFull() ? undefined : this.#jobs.take()
      }
      clearImmediate(watch)
      this.behind.foldLong()
      this.#commit()
      const trouble = this.outage.fault()
      const syncing = this.#sync()
      if (syncing !== null) await syncing
      // What was found meanwhile is not over.
      if (this.outage.fault() === trouble) this.outage.end()
    } catch (cause) {
      const others = [...settled.splice(0).flatMap(({ job }) => job ?? []), ...this.#jobs.drain()]
      if (cause instanceof AppendFault && !isDiskFault(cause.cause) && current !== undefined)
        this.#rerunWithout(current, others, cause)
      else this.#failGroup(cause, current === undefined ? others : [current, ...others])
    }
    this.#jobs.endRound()
    // Also after a group that failed: those of an earlier one may wait to be told.
    this.#deliveries.add(settled, this.#jobs.hasUrgent())
    // Where the file beside the log is about to begin again, nobody writes meanwhile.
    const restarting = this.#files.checkpoints?.afterCommit(this.writer.db) ?? null
    if (restarting !== null) await restarting
    this.#draining = false
    for (const go of this.#waiting.splice(0)) go()
    if (!this.#jobs.isEmpty()) this.#schedule()
  }

  /** What one work appends cannot be written: the group is undone, and the others run again without it. */
  #rerunWithout(job: Job, others: readonly Job[], cause: AppendFault): void {
    this.#rollBack()
    for (const other of others) this.#jobs.push(other)
    job.reject(cause)
  }

  /** The disk failed: this group may be lost, so all is rejected. The next work tries again after a pause. */
  #failGroup(cause: unknown, jobs: readonly Job[]): void {
    const fault = this.outage.begin(cause instanceof AppendFault ? cause.cause : cause)
    this.#rollBack()
    for (const job of jobs) job.reject(fault)
  }

  /** What was decided is undone: the log and the views say what is true. */
  #rollBack(): void {
    this.#runner.isWriting = false
    this.#runner.seq = this.durable
    this.behind.undo()
    try {
      if (this.writer.db.isTransaction) this.writer.db.exec('rollback')
    } catch {
      // A new connection is made before anything is written again, and what this one had begun goes with it.
    }
  }

  #commit(): void {
    this.writer.commit.run()
    this.commits += 1
    this.behind.commit()
    this.#followLater()
  }

  /**
   * R2: what is committed becomes durable. Only events need it: views are made again from them, and leases end with
   * their process. In memory there is nothing to wait for.
   */
  #sync(): Promise<void> | null {
    const { seq } = this.#runner
    const { logSync } = this.#files
    if (logSync !== null && seq > this.durable) return this.#syncFile(logSync, seq)
    this.#files.file?.check()
    this.durable = seq
    return null
  }

  async #syncFile(logSync: LogSync, seq: number): Promise<void> {
    const synced = logSync.sync()
    this.#deliveries.tell()
    await synced.catch((cause: unknown) => {
      this.#unsynced = true
      throw cause
    })
    this.#files.file?.check()
    this.durable = this.#runner.seq = seq
  }

  /** Soon the views follow by themselves, so that whoever looks at the file finds them. */
  #followLater(): void {
    if (this.#following || !this.behind.isBehind()) return
    this.#following = true
    this.#options.later?.(() => {
      this.#following = false
      if (!this.#closed) void this.catchUp()
    })
  }

  /**
   * Before a read outside a transaction: whatever is committed is durable and in the views then. Where another
   * connection reads, that is after the group that runs now.
   */
  catchUp(): Promise<void> | null {
    if (!this.behind.isBehind() && this.isSettled()) return null
    const group = this.settling()
    if (group !== null) return group.then(() => this.catchUp()?.then())
    this.catchUpHere()
    return null
  }

  /** Until the group that runs is done, where another connection could read of it. */
  settling = (): Promise<void> | null =>
    this.#draining && this.#files.reader !== this.writer.db
      ? new Promise<void>((resolve) => this.#waiting.push(resolve))
      : null

  /** Whether all that can be read is durable. */
  isSettled = (): boolean => !this.#draining && this.outage.isOver()

  /** R2: why nobody is answered from the views: they have a commit of which nobody knows whether it stays. */
  unsure = (): Error | null => (this.#outageViews.isAhead(this.durable) ? this.outage.fault() : null)

  /** What is in memory, once all of it is durable. */
  async known(): Promise<Live | null> {
    for (let group = this.settling(); group !== null; group = this.settling()) await group
    return this.#draining ? null : this.behind.live
  }

  /** The same for whoever reads with the connection that writes, also in the middle of a group. */
  catchUpHere(): void {
    if (this.behind.isEmpty()) return
    if (this.writer.db.isTransaction) this.behind.fold()
    else this.#foldAlone()
  }

  #foldAlone(): void {
    if (!this.outage.isOver()) return this.#outageViews.fold(this.durable)
    try {
      this.writer.begin.run()
      this.behind.fold()
      this.#commit()
      this.#files.file?.check()
    } catch (cause) {
      this.outage.begin(cause instanceof AppendFault ? cause.cause : cause)
      this.#rollBack()
    }
  }

  /** After a fault: a new connection, if the disk takes what is written. Whether the log came further than known. */
  #recover(): boolean {
    if (this.outage.isOver()) return false
    // It began after these works came: a commit that succeeds would be no reason to call it over.
    const lasting = this.outage.refusal()
    if (lasting !== null) throw lasting
    this.#outageViews.drop()
    const { file, onDamage } = this.#files
    if (file !== null) this.writer = reopenWriter(file, this.writer, onDamage)
    if (this.#unsynced) writeAllToLog(this.writer.db)
    this.#unsynced = false
    this.behind.reload(this.writer.db)
    const before = this.durable
    this.durable = this.#runner.seq = findLastSeq(this.writer.db)
    return this.durable > before
  }

  /**
   * R1: what it decided is forgotten, and decided again when its texts are known. Until then no work with one
   * of its keys passes it, so that what one turn records stays in order.
   */
  #hold(job: Job, events: readonly Event[]): void {
    this.#jobs.hold(job)
    const goOn = (): void => {
      this.#jobs.release(job)
      // A group that runs now has passed it over, and is done in the next round.
      setImmediate(() => this.#schedule())
    }
    this.#options.cleaner.inspect(events).then(
      (known) => {
        job.known = known
        goOn()
      },
      (fault: unknown) => {
        job.work = () => Promise.reject(fault)
        goOn()
      },
    )
  }
}
