/**
 * Runs transactions one after another inside one SQLite transaction, which is committed when the queue is
 * drained: one fsync serves all that were waiting.
 * R1: works run alone, so facts cannot change between check and append. R2: answers, refusals and throws
 * alike are delivered after the commit, because a refusal may rest on a neighbour that was not yet durable.
 * R10: the log is written in the commit; the views follow (`behind.ts`), and no fact is read from one that lags.
 */
import { AppendFault, NeedsKeys, type Hint, type Key, type Tx } from '../runtime/kernel/store-port.ts'
import assert from 'node:assert/strict'
import type { Event } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { Behind } from './behind.ts'
import { StoreFault } from './directory.ts'
import { isDiskFault } from './disk-fault.ts'
import { createTx, need, type Reading } from './facts.ts'
import { Deliveries } from './deliveries.ts'
import { collectHints } from './hints.ts'
import { findLastSeq, serialise } from './log-row.ts'
import type { Live } from './live.ts'
import { trackDisk, type Outage } from './outage.ts'
import { OutageViews } from './outage-views.ts'
import type { QueueOptions } from './queue-options.ts'
import { WorkQueue, type Job, type Settled } from './work-queue.ts'
import { createWriter, reopenWriter, type OpenFiles, type Writer } from './writer.ts'

const worksPerGroupMax = 256
/** Others run between two groups. */
const groupMsMax = 16
const rerunsMax = 5

export class CommitQueue {
  writer: Writer
  commits = 0
  seq: number
  readonly listeners = new Set<(hints: readonly Hint[]) => void>()
  readonly outage: Outage
  readonly #files: OpenFiles
  readonly #options: QueueOptions
  readonly #jobs = new WorkQueue<Job>()
  readonly #deliveries = new Deliveries(this.listeners)
  readonly behind = new Behind(() => this.writer)
  readonly #outageViews: OutageViews
  /** Called when the group that runs is done. */
  #waiting: (() => void)[] = []
  #following = false
  #draining = false
  #scheduled = false
  #inWork = false
  /** Whether a work's events are being written: from then on the group cannot be committed without them. */
  #writing = false
  #closed = false

  constructor(files: OpenFiles, options: QueueOptions) {
    this.#files = files
    this.#options = options
    this.writer = createWriter(files.db)
    this.outage = trackDisk(files.file?.path ?? ':memory:', options, options.onHealth)
    this.#outageViews = new OutageViews(files.reader)
    this.seq = findLastSeq(files.reader)
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
    let durable = this.seq
    try {
      const known = this.#recover()
      // What was under way when the disk failed was kept after all: those who follow the log look for it.
      if (known > durable) settled.push({ job: null, ok: true, value: null, hints: [{ kind: 'appended' }] })
      durable = known
      this.writer.begin.run()
      // A work may await only `tx`, or it would hold up all others: then nothing but promise jobs runs until
      // the group is done.
      const watch = setImmediate(() =>
        assert(!this.#inWork, 'a transaction awaited something other than its facts'),
      )
      while (current !== undefined) {
        const done = await this.#run(current)
        if (done !== null) settled.push(done)
        current = isFull() ? undefined : this.#jobs.take()
      }
      clearImmediate(watch)
      this.behind.foldLong()
      this.#commit()
      this.outage.end()
    } catch (cause) {
      this.seq = durable
      const others = [...settled.splice(0).flatMap(({ job }) => job ?? []), ...this.#jobs.drain()]
      if (cause instanceof AppendFault && !isDiskFault(cause.cause) && current !== undefined)
        this.#rerunWithout(current, others, cause)
      else this.#failGroup(cause, current === undefined ? others : [current, ...others])
    } finally {
      this.#draining = false
      for (const go of this.#waiting.splice(0)) go()
    }
    this.#jobs.endRound()
    if (!this.#jobs.isEmpty()) this.#schedule()
    // Also after a group that failed: those of an earlier one may wait to be told.
    this.#deliveries.add(settled, this.#jobs.hasUrgent())
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
    this.#writing = false
    this.behind.undo()
    try {
      if (this.writer.db.isTransaction) this.writer.db.exec('rollback')
    } catch {
      // A new connection is made before anything is written again, and what this one had begun goes with it.
    }
  }

  #commit(): void {
    this.writer.commit.run()
    this.#files.file?.check()
    this.commits += 1
    this.behind.commit()
    this.#files.checkpoints?.afterCommit(this.writer.db)
    this.#followLater()
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
   * Before a read outside a transaction: whatever is committed is in the views then. Where another connection
   * reads, that is after the group that runs now.
   */
  catchUp(): Promise<void> | null {
    if (!this.behind.isBehind()) return null
    if (this.#draining && this.#files.reader !== this.writer.db)
      return new Promise<void>((resolve) => this.#waiting.push(resolve)).then(() => this.catchUp()?.then())
    this.catchUpHere()
    return null
  }

  /** What is in memory, where all of it is committed. */
  known = (): Live | null => (this.#draining ? null : this.behind.live)

  /** The same for whoever reads with the connection that writes, also in the middle of a group. */
  catchUpHere(): void {
    if (this.behind.isEmpty()) return
    if (this.#draining) this.behind.fold()
    else this.#foldAlone()
  }

  #foldAlone(): void {
    if (!this.outage.isOver()) return this.#outageViews.fold(this.seq)
    try {
      this.writer.begin.run()
      this.behind.fold()
      this.#commit()
    } catch (cause) {
      this.outage.begin(cause instanceof AppendFault ? cause.cause : cause)
      this.#rollBack()
    }
  }

  /** After a fault: a new connection, if the disk takes what is written. The log says how far it came. */
  #recover(): number {
    if (this.outage.isOver()) return this.seq
    // It began after these works came: a commit that succeeds would be no reason to call it over.
    const lasting = this.outage.refusal()
    if (lasting !== null) throw lasting
    this.#outageViews.drop()
    const { file, onDamage } = this.#files
    if (file !== null) this.writer = reopenWriter(file, this.writer, onDamage)
    this.behind.reload(this.writer.db)
    return (this.seq = findLastSeq(this.writer.db))
  }

  /** Null where the job is held until its texts were looked at; it runs again then. */
  async #run(job: Job): Promise<Settled | null> {
    let keys = new Set<string>(job.keys)
    for (let rerun = 0; ; rerun += 1) {
      const events: Event[] = []
      const held = rerun > rerunsMax ? null : keys
      const reading = this.behind.read(Math.floor(this.#options.now()), held)
      try {
        this.#inWork = true
        const value = await job.work(createTx(reading, events))
        this.#inWork = false
        const clean = events.length === 0 ? null : this.#options.cleaner.clean(events, job.known)
        if (clean === undefined) {
          this.#hold(job, keys, events)
          return null
        }
        return { job, ok: true, value, hints: this.#append(clean ?? events, reading) }
      } catch (error) {
        this.#inWork = false
        // With the global key nothing can be missing: a work that still asks is wrong, and is rejected.
        if (error instanceof NeedsKeys && held !== null) {
          keys = new Set([...keys, ...error.keys])
          continue
        }
        if (error instanceof AppendFault && (this.#writing || this.behind.broken)) throw error
        return { job, ok: false, value: error, hints: [] }
      }
    }
  }

  /**
   * R1: what it decided is forgotten, and decided again when its texts are known. Until then no work with one
   * of its keys passes it, so that what one turn records stays in order.
   */
  #hold(job: Job, keys: ReadonlySet<string>, events: readonly Event[]): void {
    job.keys = [...keys] as Key[]
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

  #append(events: readonly Event[], reading: Reading): Hint[] {
    if (events.length === 0) return []
    const at = reading.now
    const sessions = new Set<SessionId>()
    for (const event of events) sessions.add(event.session)
    // A timeline is written only under its session's key, so that its order means something on every engine.
    const keys = Array.from(sessions, (session): Key => `session:${session}`)
    need(reading, keys)
    const text = serialise(events)
    this.#writing = true
    try {
      this.seq += events.length
      this.writer.log.run(this.seq, at, text)
      this.behind.append({ seq: this.seq, at, events, sessions }, text.length)
    } catch (cause) {
      throw new AppendFault(`an event could not be recorded (${(cause as Error).message})`, { cause })
    }
    this.#writing = false
    return collectHints(events, { first: this.seq - events.length + 1, at })
  }
}
