/**
 * The store as PostgreSQL would be in READ COMMITTED with locks on the keys: works overlap, time passes between
 * two facts of one, each fact sees what is committed at its own moment, and only the named keys keep two works
 * apart. What a work appends is decided by the facts that it read, so before it is written they are read once
 * more: if one has changed, no key that it holds protects it (R1).
 * What was written is watched as well: every row belongs to a key, and its writer must hold that.
 */
import type { Event } from '../src/model/event.ts'
import type { SendFacts, SessionFacts } from '../src/model/facts.ts'
import { NeedsKeys, type Key, type Tx } from '../src/runtime/kernel/store-port.ts'
import { prepareFacts } from '../src/store/fact-statements.ts'
import { createTx, need } from '../src/store/facts.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'
import { InjectedFault, type Host } from './host.ts'
import { KeyLocks } from './key-locks.ts'
import { mix } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import { watchWrites } from './watched-writes.ts'

/** A frozen node keeps its locks for so long; then the database ends its transaction. */
const idleMsMax = 400
const pausesMs = [0, 0, 0, 0, 1, 1, 2] as const
/** A path that others make longer meanwhile shows one more key in each run: then everything is held. */
export const rerunsMax = 5

type Fact = { name: string; given: readonly unknown[]; value: string }
type Options = { store: SqliteStore; scheduler: Scheduler; seed: number; fail: (why: string) => void }

/** What a transaction holds. A planted bug may forget some: they are not locked, and nobody asks for them. */
export class HeldKeys extends Set<string> {
  everything = false
  readonly #forgets: (key: string) => boolean
  constructor(keys: Iterable<string>, forgets: (key: string) => boolean) {
    super(keys)
    this.#forgets = forgets
  }
  override has(key: string): boolean {
    return this.everything || super.has(key) || this.#forgets(key)
  }
  isLocked = (key: string): boolean => this.everything || super.has(key)
}

export class Overlap {
  readonly #options: Options
  readonly #locks = new KeyLocks()
  readonly #sql
  readonly #writes
  #draws = 0
  /** The time of the work that is being written: its events stand in the log with the time of its decision. */
  now: number | null = null

  constructor(options: Options) {
    this.#options = options
    this.#sql = prepareFacts(options.store.db)
    this.#writes = watchWrites(options.store.db)
  }

  /** `landing` is called when the events are written, in the order of the log. */
  async transact<T>(
    held: HeldKeys,
    work: (tx: Tx) => Promise<T>,
    host: Host,
    landing: () => void,
  ): Promise<T> {
    const life = host.life
    for (let rerun = 0; ; rerun += 1) {
      held.everything = rerun > rerunsMax
      const release = await (held.everything ? this.#locks.takeAll() : this.#locks.take(held))
      try {
        return await this.#attempt(work, held, () => this.#pause(host, life), landing)
      } catch (error) {
        if (!(error instanceof NeedsKeys)) throw error
        for (const key of error.keys) held.add(key)
      } finally {
        release()
      }
    }
  }

  async #attempt<T>(
    work: (tx: Tx) => Promise<T>,
    held: HeldKeys,
    pause: () => Promise<void>,
    landing: () => void,
  ): Promise<T> {
    const [sql, { store, scheduler }] = [this.#sql, this.#options]
    const reading = {
      // Whatever was written is in the views then.
      get sql() {
        follow(store)
        return sql
      },
      now: scheduler.wall,
      held,
    }
    const events: Event[] = []
    const facts: Fact[] = []
    const result = await work(slowly(createTx(reading, events), facts, pause))
    await pause()
    if (events.length === 0) this.#recheck(reading, facts, held)
    else {
      need(
        reading,
        events.map((event): Key => `session:${event.session}`),
      )
      await this.#write(reading, facts, held, events, landing)
    }
    return result
  }

  async #write(
    reading: Parameters<typeof createTx>[0],
    facts: readonly Fact[],
    held: HeldKeys,
    events: readonly Event[],
    landing: () => void,
  ): Promise<void> {
    const { scheduler, store, fail } = this.#options
    this.now = reading.now
    scheduler.inflight += 1
    const keys = new Set(events.map((event): Key => `session:${event.session}`))
    try {
      await store.transact([...keys], async (tx) => {
        this.#recheck(reading, facts, held)
        follow(store)
        this.#writes.begin()
        tx.append(...events)
        landing()
      })
      follow(store)
      const outside = this.#writes.findOutside(held.isLocked)
      if (outside !== null) fail(`R1: ${events.map(({ type }) => type).join(', ')} wrote ${outside}`)
    } finally {
      scheduler.inflight -= 1
      this.now = null
    }
  }

  /** For what is not a work: not in the moment in which a work is written. */
  async alone(run: () => Promise<void>): Promise<void> {
    const { scheduler } = this.#options
    await new Promise<void>((resolve) => void scheduler.after(0, 'beat', resolve))
    scheduler.inflight += 1
    await run().finally(() => (scheduler.inflight -= 1))
  }

  /** R1: what was decided rests on facts that nobody could change meanwhile. */
  #recheck(reading: Parameters<typeof createTx>[0], facts: readonly Fact[], held: HeldKeys): void {
    const now = createTx({ sql: reading.sql, now: reading.now, held: null }, []) as unknown as Readers
    for (const { name, given, value } of facts) {
      void now[name]?.(...given).then((again) => {
        const changed = render(name, again)
        if (changed !== value)
          this.#options.fail(
            `R1: ${name}(${JSON.stringify(given)}) changed under ${[...held].join(', ') || 'no key'}: ` +
              `${value} became ${changed}`,
          )
      })
    }
  }

  /** Time in which others go on. A transaction ends with its node, and with a node that is frozen too long. */
  #pause(host: Host, life: number): Promise<void> {
    const { scheduler, seed } = this.#options
    const ms = pausesMs[mix(seed, 'overlap', (this.#draws += 1)) % pausesMs.length] ?? 0
    return new Promise((resolve, reject) => {
      const lose = (): void => reject(new InjectedFault('the transaction ended with its connection'))
      scheduler.after(ms, 'fact', () => {
        if (!host.up || host.life !== life) return lose()
        if (host.frozen) scheduler.after(idleMsMax, 'idle', lose)
        host.enter(life, resolve)
      })
    })
  }
}

/** The views may be behind the log until somebody looks at them. */
const follow = ({ db }: SqliteStore): boolean => db.isOpen

type Readers = Record<string, (...given: unknown[]) => Promise<unknown>>

/** Leases are not under keys: whether a runner is alive may change at any moment, and its epoch fences it. */
function render(name: string, value: unknown): string {
  const apart = { runnerAlive: undefined }
  if (name === 'session') return JSON.stringify({ ...(value as SessionFacts), ...apart })
  if (name !== 'send') return JSON.stringify(value) ?? 'nothing'
  const facts = value as SendFacts
  return JSON.stringify({ ...facts, target: { ...facts.target, ...apart } })
}

/** The same facts, each after a pause, and noted. */
function slowly(tx: Tx, facts: Fact[], pause: () => Promise<void>): Tx {
  const slow: Record<string, unknown> = { ...tx }
  for (const [name, read] of Object.entries(tx as unknown as Readers)) {
    if (typeof read !== 'function' || name === 'append') continue
    slow[name] = async (...given: unknown[]) => {
      await pause()
      const value = await read(...given)
      facts.push({ name, given, value: render(name, value) })
      return value
    }
  }
  return slow as unknown as Tx
}
