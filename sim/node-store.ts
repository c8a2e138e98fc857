/**
 * The store as one node sees it: the real one behind a wire and a disk that can be slow, fail, or leave the
 * node without an answer.
 * Every transaction is also watched: facts must lie within the keys that it holds (R1), and nobody is
 * answered before the log has it (R2).
 */
import type { Event } from '../src/model/event.ts'
import type { NodeId } from '../src/model/id.ts'
import { NeedsKeys, type Hint, type Key, type Store, type Tx } from '../src/runtime/kernel/store-port.ts'
import { StoreUnavailable } from '../src/runtime/kernel/store-health.ts'
import { InjectedFault, type Host, type Trip } from './host.ts'
import { EarlyYes } from './early-yes.ts'
import { expectNamed } from './named-keys.ts'
import { HeldKeys } from './overlap.ts'
import type { Fact } from './record-works.ts'
import type { Mark, Shared } from './shared.ts'
import type { Program, Versions } from './versions.ts'
import { watchTx } from './watched-tx.ts'

type Attempt = 'whole' | 'failed' | 'unknown'

export class NodeStore implements Store {
  readonly #shared: Shared
  readonly #host: Host
  readonly #node: NodeId
  readonly #program: Program

  constructor(shared: Shared, host: Host, node: NodeId) {
    this.#shared = shared
    this.#host = host
    this.#node = node
    this.#program = { node, host, life: host.life, format: host.format }
  }

  transact<T>(keys: readonly Key[], work: (tx: Tx) => Promise<T>): Promise<T> {
    const attempt = this.#attempt()
    return this.#travel(() => this.#commit(keys, work, attempt), true)
  }

  #attempt(): Attempt {
    const { failing } = this.#host
    if (failing.left === 0) return 'whole'
    failing.left -= 1
    this.#host.count(`commit.${failing.how}`)
    if (failing.left === 0) this.#host.recover()
    return failing.how
  }

  /** To the store and back. The store executes what arrives, even if the node has died meanwhile. */
  #travel<T>(act: () => Promise<T>, writes: boolean): Promise<T> {
    const { scheduler, latencyMs } = this.#shared
    const host = this.#host
    const cut = host.window('cut')
    const trip: Trip = { sentAt: scheduler.now, storeTime: null }
    if (cut?.how === 'throw') {
      host.count('cut.throw')
      return this.#answer(Promise.reject(new InjectedFault('the store cannot be reached')), latencyMs, trip)
    }
    const slow = writes ? (host.window('slow')?.byMs ?? 0) : 0
    const delay = host.window('delay')?.byMs ?? 0
    if (slow > 0) host.count('disk.slow')
    if (delay > 0) host.count('agent.network_delay')
    const there = host.draw(latencyMs + 1) + slow + (delay === 0 ? 0 : host.draw(delay))
    const back = host.draw(latencyMs + 1) + (delay === 0 ? 0 : host.draw(delay))
    const acted = new Promise<T>((resolve, reject) => {
      const go = (): void =>
        host.leave(() => {
          // Works that overlap take their time.
          const counted = this.#shared.overlap === null || !writes ? 1 : 0
          scheduler.inflight += counted
          trip.storeTime = scheduler.wall
          act()
            .finally(() => (scheduler.inflight -= counted))
            .then(resolve, reject)
        })
      if (there === 0) go()
      else
        scheduler.after(there, `there ${host.index}`, () => {
          // Half of what a dying node had sent is lost on the way.
          if (host.life === this.#program.life || host.draw(2) === 0) go()
        })
    })
    return this.#answer(acted, back, trip)
  }

  #answer<T>(acted: Promise<T>, back: number, trip: Trip): Promise<T> {
    const arrive = (run: () => void): void => {
      if (back === 0) this.#host.enter(this.#program.life, run)
      else
        this.#shared.scheduler.after(back, `back ${this.#host.index}`, () =>
          this.#host.enter(this.#program.life, run),
        )
    }
    const give = (run: () => void): void =>
      arrive(() => {
        this.#host.learnTime(trip)
        run()
      })
    return new Promise<T>((resolve, reject) => {
      acted.then(
        (value) => give(() => resolve(value)),
        (error: unknown) => give(() => reject(error)),
      )
    })
  }

  async #commit<T>(keys: readonly Key[], work: (tx: Tx) => Promise<T>, attempt: Attempt): Promise<T> {
    const { store, marks, bug, overlap, disk, recorder } = this.#shared
    let mark: Mark | null = null
    let runs = 0
    // Where works run one after another, nothing would show it.
    const forgets = (overlap === null ? undefined : bug?.forgets?.(keys)) ?? (() => false)
    const named = (bug?.keys?.(keys) ?? keys).filter((key) => !forgets(key))
    const held = new HeldKeys(named, forgets)
    disk?.press()
    const transact = (run: (tx: Tx) => Promise<T>): Promise<T> =>
      overlap === null
        ? store.transact(named, run)
        : overlap.transact(held, run, this.#host, () => {
            if (mark !== null) marks.push(mark)
            note?.()
          })
    let note: (() => void) | null = null
    /** A work that runs again, since its texts had to be looked at first, has not happened before. */
    let undo: (() => void) | null = null
    const value = await transact(async (tx) => {
      runs += 1
      if (mark !== null) mark.stale = true
      mark = null
      undo?.()
      this.#shared.versions?.decide(this.#program)
      const events: Event[] = []
      const facts: Fact[] = []
      const asked = expectNamed(recorder?.watch(tx, facts) ?? tx, this.#shared.fail)
      const result = await work(watchTx(this.#shared, asked, held, events, this.#node)).catch(
        (error: unknown) => {
          if (error instanceof NeedsKeys) for (const key of error.keys) held.add(key)
          if (error instanceof Error && error.name === 'Fenced') this.#host.count('stale.refused')
          throw error
        },
      )
      if (attempt === 'failed') throw new InjectedFault('the commit failed')
      const written = bug?.append === undefined ? events : bug.append(events, this.#node)
      const keys = [...held] as Key[]
      const done = { kind: 'work' as const, host: this.#host.index, now: tx.now, keys, facts }
      note = () => void (undo = recorder?.note({ ...done, events: written }) ?? null)
      // Where works overlap, what they write takes effect later.
      if (overlap === null || written.length === 0) note()
      if (written.length === 0) return result
      tx.append(...written)
      for (const event of written) {
        this.#shared.writers.set(event, this.#node)
        // Whom a notice goes to is among the facts; the store asks for that key.
        if (event.type !== 'notice.raised' && !held.has(`session:${event.session}`))
          this.#shared.fail(`R1: ${event.type} is written to ${event.session}, which was not named`)
      }
      mark = { node: this.#node, stale: false, seen: false }
      if (overlap === null || bug?.acknowledge === 'early') marks.push(mark)
      if (bug?.acknowledge === 'early') {
        mark.stale = true
        throw new EarlyYes(result)
      }
      return result
    }).catch((error: unknown) => {
      if (error instanceof EarlyYes) return error.value as T
      if (error instanceof StoreUnavailable) this.#lost(mark, error)
      throw error
    })
    this.#shared.rerun(runs - 1)
    bug?.committed?.(store)
    this.#acknowledged(mark)
    if (mark !== null) this.#shared.versions?.wrote(this.#program)
    if (attempt === 'unknown') throw new InjectedFault('nobody knows whether the commit was made')
    return value
  }

  /** The disk failed: what was written is gone, or was kept after all. */
  #lost(mark: Mark | null, { refusal }: StoreUnavailable): void {
    const { disk } = this.#shared
    this.#host.count(
      `disk.${refusal.reason === 'the disk is full' ? 'full' : disk?.kept === true ? 'kept' : 'lost'}`,
    )
    if (mark !== null) mark.stale = disk?.kept !== true
  }

  /** R2: what is acknowledged is in the log. */
  #acknowledged(mark: Mark | null): void {
    if (mark === null) return
    this.#shared.check()
    if (!mark.seen)
      this.#shared.fail(`R2: ${mark.node} got an acknowledgement, and the log does not have the commit`)
  }

  /** Reads are quick, but cannot pass a cut. */
  #read<T>(act: () => Promise<T>): Promise<T> {
    return this.#host.window('cut') === undefined ? act() : this.#travel(act, false)
  }

  /** Others run between its slices, and no time passes meanwhile. */
  #readInSlices<T>(act: () => Promise<T>): Promise<T> {
    const { scheduler } = this.#shared
    return this.#read(() => {
      scheduler.inflight += 1
      return act().finally(() => (scheduler.inflight -= 1))
    })
  }

  /** As a program does that opens its store. */
  join = (versions: Versions): Promise<void> => this.#travel(async () => versions.join(this.#program), false)

  heartbeat: Store['heartbeat'] = (node, ttlMs) => {
    const attempt = this.#attempt()
    return this.#travel(async () => {
      if (attempt === 'failed') throw new InjectedFault('the commit failed')
      await this.#beat(node, ttlMs)
      if (attempt === 'unknown') throw new InjectedFault('nobody knows whether the commit was made')
    }, true)
  }

  async #beat(node: NodeId, ttlMs: number): Promise<void> {
    const { overlap, store, recorder, scheduler, versions } = this.#shared
    const isLate = this.#host.life !== this.#program.life
    const note = (isSure: boolean): void => this.#shared.beat(node, { ttlMs, isSure, isLate })
    note(false)
    versions?.beat(this.#program, ttlMs)
    recorder?.done.push({ kind: 'beat', host: this.#host.index, now: scheduler.wall, node, ttlMs })
    if (overlap === null) await store.heartbeat(node, ttlMs)
    else await overlap.alone(() => store.heartbeat(node, ttlMs))
    note(true)
  }

  onHint(listener: (hints: readonly Hint[]) => void): () => void {
    return this.#shared.store.onHint((hints) => {
      if (!this.#host.up || this.#host.life !== this.#program.life) return
      this.#tell(
        listener,
        hints.map((hint) => this.#stripped(hint)),
      )
    })
  }

  /** A hint from another process says what happened and not how. */
  #stripped(hint: Hint): Hint {
    if (!('event' in hint) || hint.event === undefined || this.#shared.writers.get(hint.event) === this.#node)
      return hint
    const { event: _, ...bare } = hint
    return bare
  }

  #tell(listener: (hints: readonly Hint[]) => void, hints: readonly Hint[]): void {
    const { scheduler, latencyMs } = this.#shared
    const host = this.#host
    if (host.window('cut') !== undefined) return
    const how = host.draw(2) === 0 ? host.window('hints')?.how : undefined
    if (how !== undefined) host.count(`hint.${how}`)
    if (how === 'lost') return
    const delay = host.draw(latencyMs + 1) + (how === 'late' ? 200 + host.draw(3000) : 0)
    const tell = (): void => host.enter(this.#program.life, () => listener(hints))
    scheduler.after(delay, `hint ${host.index}`, tell)
    if (how === 'doubled') scheduler.after(delay + host.draw(1500), `hint ${host.index}`, tell)
  }

  lastSeq = (): number => this.#shared.store.lastSeq()
  health = () => this.#shared.store.health()
  read: Store['read'] = (after, filter, limit) =>
    this.#read(async () => {
      const page = await this.#shared.store.read(after, filter, limit)
      const { bug } = this.#shared
      return bug?.read === undefined
        ? page
        : { ...page, events: page.events.filter((stored) => bug.read?.(stored) ?? true) }
    })
  due: Store['due'] = (now, limit, after) =>
    this.#readInSlices(async () => {
      const due = await this.#shared.store.due(now, limit, after)
      return this.#shared.bug?.due?.(due) ?? due
    })
  turn: Store['turn'] = (id) => this.#read(() => this.#shared.store.turn(id))
  session: Store['session'] = (id) => this.#read(() => this.#shared.store.session(id))
  sessionFacts: Store['sessionFacts'] = (id) =>
    this.#read(async () => {
      const facts = await this.#shared.store.sessionFacts(id)
      return this.#shared.bug?.session?.(facts) ?? facts
    })
  turns: Store['turns'] = (filter, limit) => this.#read(() => this.#shared.store.turns(filter, limit))
  sessions: Store['sessions'] = (filter, limit) =>
    this.#read(() => this.#shared.store.sessions(filter, limit))
  event: Store['event'] = (seq) => this.#read(() => this.#shared.store.event(seq))
  spentOn: Store['spentOn'] = (day) => this.#read(() => this.#shared.store.spentOn(day))
  refused: Store['refused'] = (call) => this.#read(() => this.#shared.store.refused(call))
  entries: Store['entries'] = (session, select) =>
    this.#read(async () => {
      const page = await this.#shared.store.entries(session, select)
      return this.#shared.bug?.entries?.(page) ?? page
    })
  entriesByNumber: Store['entriesByNumber'] = (session, numbers) =>
    this.#read(() => this.#shared.store.entriesByNumber(session, numbers))
  close = (): Promise<void> => Promise.resolve()
}
