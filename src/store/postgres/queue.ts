/**
 * Runs transactions in groups. A group takes its keys in PostgreSQL (R1), catches up with the log, decides on
 * this node's own views, and appends and commits in one flight. R2: answers, refusals and throws alike are
 * delivered after the commit. Views follow the commit, so that they are never ahead of the log (R10).
 */
import type { Event } from '../../model/event.ts'
import type { Millis } from '../../model/id.ts'
import { AppendFault, type Hint, type Key, type Tx } from '../../runtime/kernel/store-port.ts'
import type { QueueOptions } from '../queue-options.ts'
import { StoreFault } from '../directory.ts'
import type { Outage } from '../outage.ts'
import { decideGroup, type Decided, type Settled } from './decide.ts'
import { needsEverything, takeGroup, type Job } from './group.ts'
import { LinkFault, type Link } from './link.ts'
import { appendAndCommit, beginWith, readTail, rollBack, rowsPerRead, type News } from './remote.ts'
import type { Replica } from './replica.ts'
import type { Places } from './schema.ts'

export type ClusterOptions = Omit<QueueOptions, 'onHealth'> & {
  places: Places
  outage: Outage
  /** A connection for transactions, and one for what waits for nobody's keys. */
  writeLink: () => Promise<Link>
  sideLink: () => Promise<Link>
  /** What the database's clock showed in an answer that was asked for at `since`; returns what counts as now. */
  setNow: (now: Millis, since: Millis) => Millis
  /** Says to other nodes that there is something new. */
  tell: () => void
  sleep: (ms: number) => Promise<void>
  newMark: () => string
}

/** So long a group tries again after its connection was lost, before its works are refused. */
const patienceMs = 1500
const retryMs = 50

export class GroupQueue {
  commits = 0
  reruns = 0
  readonly listeners = new Set<(hints: readonly Hint[]) => void>()
  readonly #replica: Replica
  readonly #options: ClusterOptions
  readonly #jobs: Job[] = []
  readonly #local: (() => void)[] = []
  #looking: { resolve: () => void; reject: (fault: unknown) => void }[] = []
  #busy = false
  #closed = false
  /** Of the group that was sent last, and whether its row was read: it is read once, whatever breaks then. */
  #sent = { mark: '', isRead: false }

  constructor(replica: Replica, options: ClusterOptions) {
    this.#replica = replica
    this.#options = options
  }

  transact<T>(keys: readonly Key[], work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreFault('the store is closed'))
    const unavailable = this.#options.outage.refusal()
    if (unavailable !== null) return Promise.reject(unavailable)
    return new Promise<T>((resolve, reject) => {
      const known = { known: null, held: false, reruns: 0 }
      this.#jobs.push({ keys, ...known, work, resolve: resolve as (value: unknown) => void, reject })
      this.#start()
    })
  }

  /** Reads what others have committed up to now. */
  look(): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreFault('the store is closed'))
    return new Promise((resolve, reject) => {
      this.#looking.push({ resolve, reject })
      this.#start()
    })
  }

  /** Writes to the views of this node while no group is in the middle of it. */
  locally(write: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#local.push(() => {
        try {
          write()
          resolve()
        } catch (fault) {
          reject(fault as Error)
        }
      })
      this.#start()
    })
  }

  isClosed = (): boolean => this.#closed

  /** Waits for what was begun; afterwards every transaction is rejected. */
  async drain(): Promise<void> {
    while (this.#jobs.length > 0 || this.#busy) await new Promise<void>((resolve) => setImmediate(resolve))
    this.#closed = true
  }

  #start(): void {
    if (this.#busy) return
    this.#busy = true
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    for (;;) {
      for (const write of this.#local.splice(0)) write()
      const group = takeGroup(this.#jobs)
      if (group.length > 0) await this.#runGroup(group)
      else if (this.#looking.length > 0) await this.#lookNow()
      else if (this.#local.length === 0) break
    }
    this.#busy = false
  }

  async #lookNow(): Promise<void> {
    const waiting = this.#looking
    this.#looking = []
    try {
      await this.#readOn(await this.#options.sideLink())
      for (const { resolve } of waiting) resolve()
    } catch (fault) {
      for (const { reject } of waiting) reject(fault)
    }
  }

  /** Without any key: for a node that is far behind, and for hints. */
  async #readOn(link: Link): Promise<void> {
    for (;;) {
      const news = await this.#ask(() => readTail(link, this.#options.places, this.#replica.seq))
      this.#deliver([], this.#take(news))
      if (news.rows.length < rowsPerRead) return
    }
  }

  async #ask(ask: () => Promise<News>): Promise<News> {
    const since = this.#options.elapsed()
    const news = await ask()
    return { ...news, now: this.#options.setNow(news.now, since) }
  }

  #take(news: News): Hint[] {
    const hints: Hint[] = []
    this.#replica.take(news.rows, hints)
    this.#sent.isRead ||= news.rows.some(({ mark }) => mark === this.#sent.mark)
    this.#replica.setLeases(news.leases)
    return hints
  }

  async #runGroup(group: readonly Job[]): Promise<void> {
    const { elapsed, outage, sleep, newMark } = this.#options
    const since = elapsed()
    const mark = newMark()
    /** What was sent and not answered: it may have been committed. */
    let sent: Decided | null = null
    for (;;) {
      try {
        const link = await this.#options.writeLink()
        const news = await this.#begin(link, group)
        const theirs = this.#take(news)
        // R2: its keys are free again, so the commit that lost its connection is over, and the log tells how.
        if (sent !== null && this.#sent.isRead) {
          // Nothing was done in it, so nobody has to wait for its end, or mind if it breaks.
          rollBack(link).catch(() => undefined)
          this.#options.tell()
          return this.#finish(sent, theirs)
        }
        sent = null
        this.#deliver([], theirs)
        const decided = await decideGroup(this.#replica, this.#options.cleaner, group, news.now)
        if (decided.rows.length === 0) {
          this.#replica.undo()
          // It has read what was committed, and nothing else: nobody has to wait for its end.
          rollBack(link).catch(() => undefined)
        } else {
          sent = decided
          this.#sent = { mark, isRead: false }
          await this.#commit(link, decided, mark)
        }
        return this.#finish(decided, decided.hints)
      } catch (error) {
        this.#replica.undo()
        const fault = error instanceof AppendFault ? error.cause : error
        if (!isPassing(fault) || elapsed() - since > patienceMs || !outage.isOver())
          return this.#fail(fault, group)
        await sleep(retryMs)
      }
    }
  }

  #finish({ settled, again }: Decided, hints: readonly Hint[]): void {
    this.#options.outage.end()
    for (const one of again.toReversed()) {
      this.#jobs.unshift(one.job)
      if ('events' in one) this.#hold(one.job, one.events)
      else {
        one.job.keys = one.keys
        one.job.reruns += 1
        this.reruns += 1
      }
    }
    this.#deliver(settled, hints)
  }

  /** Takes the keys. Who is far behind catches up first, so that nobody waits for that. */
  async #begin(link: Link, group: readonly Job[]): Promise<News> {
    const { places } = this.#options
    const keys = group.some(needsEverything) ? null : group.flatMap(({ keys }) => keys)
    for (;;) {
      const asked = this.#looking.length
      const news = await this.#ask(() => beginWith(link, places, keys, this.#replica.seq))
      if (news.rows.length < rowsPerRead) {
        for (const { resolve } of this.#looking.splice(0, asked)) setImmediate(resolve)
        return news
      }
      await rollBack(link)
      await this.#readOn(link)
    }
  }

  async #commit(link: Link, decided: Decided, mark: string): Promise<void> {
    const replica = this.#replica
    const before = await appendAndCommit(link, this.#options.places, decided.rows, mark)
    this.commits += 1
    this.#options.tell()
    if (before === replica.seq) {
      replica.writer.commit.run()
      replica.seq += decided.rows.at(-1)?.upTo ?? 0
      return
    }
    // Others committed in between, with other keys. What was decided holds; its numbers are others.
    this.#replica.undo()
    decided.hints.length = 0
    const news = await readTail(link, this.#options.places, replica.seq)
    decided.hints.push(...this.#take(news))
    if (news.rows.length === rowsPerRead) await this.#readOn(link)
  }

  #hold(job: Job, events: readonly Event[]): void {
    job.held = true
    const goOn = (): void => {
      job.held = false
      this.#start()
    }
    this.#options.cleaner.inspect(events).then(
      (known) => {
        job.known = known
        goOn()
      },
      (fault: unknown) => {
        job.work = () => Promise.reject(fault as Error)
        goOn()
      },
    )
  }

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

  #fail(fault: unknown, group: readonly Job[]): void {
    this.#replica.undo()
    const unavailable = this.#options.outage.begin(fault)
    for (const job of [...group, ...this.#jobs.splice(0)]) job.reject(unavailable)
    for (const { reject } of this.#looking.splice(0)) reject(unavailable)
  }
}

/** PostgreSQL's own codes: a lock was not had in time, a deadlock, a serialisation. */
const passing = new Set(['55P03', '40P01', '40001'])
const isPassing = (fault: unknown): boolean =>
  fault instanceof LinkFault || passing.has(String((fault as { code?: unknown }).code))
