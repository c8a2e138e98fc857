/**
 * The store inside the process.
 *
 * Transactions run one after another inside one SQLite transaction, which is committed when the queue is
 * drained: one fsync serves all that were waiting.
 * R1: works run alone, so facts cannot change between check and append. R2: answers, refusals and throws
 * alike are delivered after the commit, because
 * a refusal may rest on a neighbour that was not yet durable. R10: views are folded in the transaction that
 * appends.
 */
import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import type { DamagedRow } from '../model/damaged-row.ts'
import type { Event, StoredEvent } from '../model/event.ts'
import type { Millis, NodeId, SessionId } from '../model/id.ts'
import type { Lists } from '../runtime/kernel/lists-port.ts'
import {
  AppendFault,
  NeedsKeys,
  type EventFilter,
  type Hint,
  type Key,
  type Store,
  type Tx,
} from '../runtime/kernel/store-port.ts'
import type { StoreHealth } from '../runtime/kernel/store-health.ts'
import { isDiskFault, serialise } from './append-text.ts'
import { applyAll } from './apply.ts'
import { StoreFault } from './directory.ts'
import { selectEntriesGently } from './entries.ts'
import { need, prepareFacts, sessionFacts, turnFacts } from './facts.ts'
import { collectHints } from './hints.ts'
import { prepareLists } from './lists.ts'
import { watchRows } from './log-row.ts'
import { openFiles, type OpenFiles } from './open-files.ts'
import { trackOutage, type Outage } from './outage.ts'
import { prepareReads } from './reads.ts'
import { createTx } from './tx.ts'
import { reopenWriter, createWriter, type LogFile, type Writer } from './writer.ts'

const worksPerGroupMax = 256
const rerunsMax = 5

type Job = {
  keys: readonly Key[]
  work: (tx: Tx) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
type Settled = { job: Job; ok: boolean; value: unknown }

export type SqliteOptions = {
  /** A data directory, or ':memory:'. */
  directory: string
  now: () => Millis
  /** Time that only passes, for pauses between tries; `now` unless given. */
  elapsed?: () => Millis
  /**
   * What is written instead of these events, where they may not be written as they are: before the log, the
   * views and the hints see them.
   */
  clean?: (events: readonly Event[]) => readonly Event[] | null
  /** Told once for each change. */
  onHealth?: (health: StoreHealth) => void
  /** Told of a row of the log that cannot be read, each time that somebody comes across it. */
  onDamage?: (fault: DamagedRow) => void
}

/** What tests, the simulator and `rebuild` may also do. */
export type SqliteStore = Store & {
  readonly lists: Lists
  readonly db: DatabaseSync
  readonly commits: () => number
}

export const sqliteStore = (options: SqliteOptions): SqliteStore =>
  new Sqlite(openFiles(options.directory, options.onDamage ?? (() => undefined)), options)

class Sqlite implements SqliteStore {
  #writer: Writer
  readonly #file: LogFile | null
  readonly #outage: Outage
  readonly #now: () => Millis
  readonly #clean: NonNullable<SqliteOptions['clean']>
  readonly #release: () => void
  readonly #onDamage: (fault: DamagedRow) => void
  /**
   * R2: what is asked for outside a transaction comes through a connection that sees only what was committed.
   */
  readonly #reader: DatabaseSync
  readonly #committed
  readonly #reads
  readonly lists: Lists
  #queue: Job[] = []
  #draining = false
  #scheduled = false
  #inWork = false
  /** Whether a work's events are being written: from then on the group cannot be committed without them. */
  #writing = false
  #closed = false
  #closing: Promise<void> | null = null
  #commits = 0
  #seq: number
  readonly #listeners = new Set<(hints: readonly Hint[]) => void>()

  constructor({ db, reader, file, release }: OpenFiles, options: SqliteOptions) {
    const {
      now,
      elapsed = now,
      clean = () => null,
      onHealth = () => undefined,
      onDamage = () => undefined,
    } = options
    this.#writer = createWriter(db)
    this.#reader = reader
    this.#file = file
    this.#now = now
    this.#clean = clean
    this.#release = release
    this.#onDamage = onDamage
    this.#outage = trackOutage(file?.path ?? ':memory:', { now, elapsed }, onHealth)
    this.#reads = prepareReads(reader)
    this.lists = prepareLists(reader)
    this.#committed = reader === db ? this.#writer.facts : prepareFacts(reader)
    this.#seq = this.#reads.lastSeq()
  }

  get db(): DatabaseSync {
    return this.#writer.db
  }

  readonly lastSeq = (): number => this.#seq
  readonly commits = (): number => this.#commits

  readonly health = (): StoreHealth => this.#outage.health()

  transact<T>(keys: readonly Key[], work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreFault('the store is closed'))
    const unavailable = this.#outage.refusal()
    if (unavailable !== null) return Promise.reject(unavailable)
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ keys, work, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#draining) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    if (this.#draining) return
    this.#draining = true
    const [settled, hints]: [Settled[], Hint[]] = [[], []]
    let durable = this.#seq
    let current: Job | undefined
    try {
      const known = this.#recover()
      // What was under way when the disk failed was kept after all: those who follow the log look for it.
      if (known > durable) hints.push({ kind: 'appended' })
      durable = known
      this.#writer.begin.run()
      // A work may await only `tx`, or it would hold up everybody: then nothing but promise jobs runs until
      // the group is done.
      const watch = setImmediate(() =>
        assert(!this.#inWork, 'a transaction awaited something other than its facts'),
      )
      while (settled.length < worksPerGroupMax) {
        current = this.#queue.shift()
        if (current === undefined) break
        settled.push(await this.#run(current, hints))
      }
      current = undefined
      clearImmediate(watch)
      this.#writer.commit.run()
      this.#file?.check()
      this.#commits += 1
      this.#outage.end()
    } catch (cause) {
      this.#seq = durable
      const others = [...settled.map(({ job }) => job), ...this.#queue]
      if (cause instanceof AppendFault && !isDiskFault(cause.cause) && current !== undefined)
        this.#without(current, others, cause)
      else this.#failGroup(cause, current === undefined ? others : [current, ...others])
      return
    } finally {
      this.#draining = false
    }
    this.#deliver(settled, hints)
    if (this.#queue.length > 0) this.#schedule()
  }

  /** R2: everybody is told after the commit. */
  #deliver(settled: readonly Settled[], hints: readonly Hint[]): void {
    for (const { job, ok, value } of settled) {
      if (ok) job.resolve(value)
      else job.reject(value)
    }
    if (hints.length === 0) return
    for (const listener of this.#listeners) {
      try {
        listener(hints)
      } catch (fault) {
        // Whoever listens must not keep the others, or the next group, from going on.
        process.emitWarning(fault instanceof Error ? fault : String(fault))
      }
    }
  }

  /**
   * What one work wanted to append cannot be written: the group is undone, the others run again without it,
   * and it alone is told no.
   */
  #without(job: Job, others: readonly Job[], cause: AppendFault): void {
    this.db.exec('rollback')
    this.#queue = [...others]
    job.reject(cause)
    setImmediate(() => this.#schedule())
  }

  /**
   * The disk failed: what was decided in this group is not known to be kept, so nobody is told yes. The next
   * work tries again, after a pause.
   */
  #failGroup(cause: unknown, jobs: readonly Job[]): void {
    const fault = this.#outage.begin(cause instanceof AppendFault ? cause.cause : cause)
    this.#queue = []
    this.#writing = false
    try {
      if (this.db.isTransaction) this.db.exec('rollback')
    } catch {
      // A new connection is made before anything is written again, and what this one had begun goes with it.
    }
    for (const job of jobs) job.reject(fault)
  }

  /**
   * After a fault: a new connection, if the disk takes what is written. What the log says is how far it came,
   * whatever was thought before.
   */
  #recover(): number {
    if (this.#outage.isOver()) return this.#seq
    if (this.#file !== null) {
      this.#writer = reopenWriter(this.#file, this.#writer)
      watchRows(this.#writer.db, this.#onDamage)
    }
    this.#seq = (this.#writer.last.get() as { seq: number | null }).seq ?? 0
    return this.#seq
  }

  async #run(job: Job, hints: Hint[]): Promise<Settled> {
    let keys = new Set<string>(job.keys)
    for (let rerun = 0; ; rerun += 1) {
      const events: Event[] = []
      const at = Math.floor(this.#now())
      const held = rerun > rerunsMax ? null : keys
      try {
        this.#inWork = true
        const value = await job.work(createTx(this.#writer.facts, at, held, events))
        this.#inWork = false
        this.#append(events, at, held, hints)
        return { job, ok: true, value }
      } catch (error) {
        this.#inWork = false
        // With the global key nothing can be missing: who still asks is wrong, and is told so.
        if (error instanceof NeedsKeys && held !== null) {
          keys = new Set([...keys, ...error.keys])
          continue
        }
        if (error instanceof AppendFault && this.#writing) throw error
        return { job, ok: false, value: error }
      }
    }
  }

  #append(given: readonly Event[], at: Millis, held: ReadonlySet<string> | null, hints: Hint[]): void {
    if (given.length === 0) return
    const events = this.#clean(given) ?? given
    const sessions = new Set<SessionId>()
    for (const event of events) sessions.add(event.session)
    // A timeline is written only under its session's key, so that its order means something on every engine.
    need(
      held,
      [...sessions].map((session): Key => `session:${session}`),
    )
    const text = serialise(events)
    this.#writing = true
    try {
      const numbered = events.map((event, index) => ({ event, seq: this.#seq + index + 1 }))
      this.#seq += events.length
      this.#writer.log.run(this.#seq, at, text)
      for (const session of sessions) this.#writer.logSession.run(session, this.#seq)
      applyAll(this.#writer.writes, numbered, at)
    } catch (cause) {
      throw new AppendFault(`an event could not be recorded (${(cause as Error).message})`, { cause })
    }
    this.#writing = false
    collectHints(events, { first: this.#seq - events.length + 1, at }, hints)
  }

  read = async (
    after: number,
    filter: EventFilter,
    limit: number,
  ): Promise<{ events: StoredEvent[]; next: number }> => {
    const page = this.#reads.read(after, filter, limit)
    // Whoever pages through a long log lets others go between two pages.
    if (page.events.length >= limit) await new Promise<void>((resolve) => setImmediate(resolve))
    return page
  }
  event = async (seq: number): Promise<StoredEvent | null> => this.#reads.event(seq)
  refused = async (call: string): Promise<StoredEvent | null> => this.#reads.refused(call)
  turn: Store['turn'] = async (id) => turnFacts(this.#committed, id, null)?.turn ?? null
  session: Store['session'] = async (id) => this.#reads.session(id)
  sessionFacts: Store['sessionFacts'] = async (id) => sessionFacts(this.#committed, id, this.#now(), null)
  turns: Store['turns'] = async (filter, limit) => this.#reads.turns(filter, limit)
  sessions: Store['sessions'] = async (filter, limit) => this.#reads.sessions(filter, limit)
  due: Store['due'] = async (at, limit, after) => this.#reads.due(at, limit, after)
  entries: Store['entries'] = (session, select) => selectEntriesGently(this.#reader, session, select)
  entriesByNumber: Store['entriesByNumber'] = async (session, numbers) =>
    this.#reads.entries(session, numbers)

  onHint(listener: (hints: readonly Hint[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async heartbeat(node: NodeId, ttlMs: number): Promise<void> {
    await this.transact([], async () => {
      this.#writer.heartbeat.run(node, this.#now() + ttlMs)
    })
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    while (this.#queue.length > 0 || this.#draining)
      await new Promise<void>((resolve) => setImmediate(() => resolve()))
    this.#closed = true
    if (this.#reader !== this.db) this.#reader.close()
    this.db.close()
    this.#release()
  }
}
