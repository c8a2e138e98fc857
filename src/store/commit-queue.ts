/**
 * Runs transactions one after another inside one SQLite transaction, which is committed when the queue is
 * drained: one fsync serves all that were waiting.
 * R1: works run alone, so facts cannot change between check and append. R2: answers, refusals and throws
 * alike are delivered after the commit, because a refusal may rest on a neighbour that was not yet durable.
 * R10: views are folded in the transaction that appends.
 */
import { AppendFault, NeedsKeys } from '../runtime/kernel/store-port.ts'
import type { Cleaner, Hint, Key, Tx } from '../runtime/kernel/store-port.ts'
import assert from 'node:assert/strict'
import type { Event } from '../model/event.ts'
import type { Millis, SessionId } from '../model/id.ts'
import type { StoreHealth } from '../runtime/kernel/store-health.ts'
import { applyAll } from './apply.ts'
import { StoreFault } from './directory.ts'
import { isDiskFault } from './disk-fault.ts'
import { createTx, need, type Reading } from './facts.ts'
import { collectHints } from './hints.ts'
import { findLastSeq } from './log-row.ts'
import { trackDisk, type Outage } from './outage.ts'
import { WorkQueue } from './work-queue.ts'
import { createWriter, reopenWriter, type OpenFiles, type Writer } from './writer.ts'

const worksPerGroupMax = 256
const rerunsMax = 5

type Job = {
  keys: readonly Key[]
  /** What is known of the texts that it appends, once they were looked at. */
  known: unknown
  work: (tx: Tx) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
type Settled = { job: Job; ok: boolean; value: unknown }

export type QueueOptions = {
  now: () => Millis
  /** Time that only passes, for pauses between tries. */
  elapsed: () => Millis
  /** Asked before the log, the views and the hints see an event. */
  cleaner: Cleaner
  /** Called once for each change. */
  onHealth: (health: StoreHealth) => void
}

export class CommitQueue {
  writer: Writer
  commits = 0
  seq: number
  readonly listeners = new Set<(hints: readonly Hint[]) => void>()
  readonly outage: Outage
  readonly #files: OpenFiles
  readonly #options: QueueOptions
  readonly #jobs = new WorkQueue<Job>()
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
    this.seq = findLastSeq(files.reader)
  }

  transact<T>(keys: readonly Key[], work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreFault('the store is closed'))
    const unavailable = this.outage.refusal()
    if (unavailable !== null) return Promise.reject(unavailable)
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({ keys, known: null, work, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  /** Waits for what was begun; afterwards every transaction is rejected. */
  async drain(): Promise<void> {
    while (!this.#jobs.isEmpty() || this.#draining)
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
    const [settled, hints]: [Settled[], Hint[]] = [[], []]
    let durable = this.seq
    try {
      const known = this.#recover()
      // What was under way when the disk failed was kept after all: those who follow the log look for it.
      if (known > durable) hints.push({ kind: 'appended' })
      durable = known
      this.writer.begin.run()
      // A work may await only `tx`, or it would hold up all others: then nothing but promise jobs runs until
      // the group is done.
      const watch = setImmediate(() =>
        assert(!this.#inWork, 'a transaction awaited something other than its facts'),
      )
      while (current !== undefined) {
        const done = await this.#run(current, hints)
        if (done !== null) settled.push(done)
        current = settled.length < worksPerGroupMax ? this.#jobs.take() : undefined
      }
      clearImmediate(watch)
      this.writer.commit.run()
      this.#files.file?.check()
      this.commits += 1
      this.outage.end()
    } catch (cause) {
      this.seq = durable
      const others = [...settled.map(({ job }) => job), ...this.#jobs.drain()]
      if (cause instanceof AppendFault && !isDiskFault(cause.cause) && current !== undefined)
        this.#rerunWithout(current, others, cause)
      else this.#failGroup(cause, current === undefined ? others : [current, ...others])
      return
    } finally {
      this.#draining = false
    }
    this.#jobs.endRound()
    this.#deliver(settled, hints)
    if (settled.length >= worksPerGroupMax) this.#schedule()
  }

  /** R2: called after the commit. */
  #deliver(settled: readonly Settled[], hints: readonly Hint[]): void {
    for (const { job, ok, value } of settled) {
      if (ok) job.resolve(value)
      else job.reject(value)
    }
    if (hints.length === 0) return
    for (const listener of this.listeners) {
      try {
        listener(hints)
      } catch (fault) {
        // A listener must not keep the others, or the next group, from going on.
        process.emitWarning(fault instanceof Error ? fault : String(fault))
      }
    }
  }

  /** What one work appends cannot be written: the group is undone, and the others run again without it. */
  #rerunWithout(job: Job, others: readonly Job[], cause: AppendFault): void {
    this.writer.db.exec('rollback')
    for (const other of others) this.#jobs.push(other)
    job.reject(cause)
    setImmediate(() => this.#schedule())
  }

  /** The disk failed: this group may be lost, so all is rejected. The next work tries again after a pause. */
  #failGroup(cause: unknown, jobs: readonly Job[]): void {
    const fault = this.outage.begin(cause instanceof AppendFault ? cause.cause : cause)
    this.#writing = false
    try {
      if (this.writer.db.isTransaction) this.writer.db.exec('rollback')
    } catch {
      // A new connection is made before anything is written again, and what this one had begun goes with it.
    }
    for (const job of jobs) job.reject(fault)
  }

  /** After a fault: a new connection, if the disk takes what is written. The log says how far it came. */
  #recover(): number {
    if (this.outage.isOver()) return this.seq
    const { file, onDamage } = this.#files
    if (file !== null) this.writer = reopenWriter(file, this.writer, onDamage)
    return (this.seq = findLastSeq(this.writer.db))
  }

  /** Null where the job is held until its texts were looked at; it runs again then. */
  async #run(job: Job, hints: Hint[]): Promise<Settled | null> {
    let keys = new Set<string>(job.keys)
    for (let rerun = 0; ; rerun += 1) {
      const events: Event[] = []
      const held = rerun > rerunsMax ? null : keys
      const reading: Reading = { sql: this.writer.facts, now: Math.floor(this.#options.now()), held }
      try {
        this.#inWork = true
        const value = await job.work(createTx(reading, events))
        this.#inWork = false
        const clean = events.length === 0 ? null : this.#options.cleaner.clean(events, job.known)
        if (clean === undefined) {
          this.#hold(job, keys, events)
          return null
        }
        this.#append(clean ?? events, reading, hints)
        return { job, ok: true, value }
      } catch (error) {
        this.#inWork = false
        // With the global key nothing can be missing: a work that still asks is wrong, and is rejected.
        if (error instanceof NeedsKeys && held !== null) {
          keys = new Set([...keys, ...error.keys])
          continue
        }
        if (error instanceof AppendFault && this.#writing) throw error
        return { job, ok: false, value: error }
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

  #append(events: readonly Event[], reading: Reading, hints: Hint[]): void {
    if (events.length === 0) return
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
      applyAll(this.writer.writes, { seq: this.seq, at }, events, sessions)
    } catch (cause) {
      throw new AppendFault(`an event could not be recorded (${(cause as Error).message})`, { cause })
    }
    this.#writing = false
    collectHints(events, { first: this.seq - events.length + 1, at }, hints)
  }
}

export function serialise(events: readonly Event[]): string {
  try {
    return JSON.stringify(events)
  } catch (cause) {
    throw new AppendFault(`an event is not JSON (${(cause as Error).message})`, { cause })
  }
}
