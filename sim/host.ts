/** A machine that runs nodes: up, down, frozen or cut off. Everything that reaches a node passes through it. */
import { StoreUnavailable } from '../src/runtime/kernel/store-health.ts'
import type { Clock } from '../src/runtime/kernel/ports.ts'
import { adjustOffset } from '../src/store/postgres/clock-offset.ts'
import type { Fault, Plan } from './plan.ts'
import { mix } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/** A fault that the simulator injected, as opposed to a bug. */
export class InjectedFault extends Error {
  override readonly name = 'InjectedFault'
}

/** Also what the store says while its disk does not take what is written. */
export const isInjected = (error: unknown): boolean =>
  error instanceof InjectedFault || error instanceof StoreUnavailable

export const describeFault = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

/** To the store and back: when it began, and what the store's clock showed; null where it did not get there. */
export type Trip = { sentAt: number; storeTime: number | null }

const hourMs = 3_600_000

type Window = Extract<Fault, { ms: number }>

export class Host {
  readonly index: number
  readonly #scheduler: Scheduler
  readonly #seed: number
  readonly #count: (what: string) => void
  /** Raised by every crash: what belongs to an earlier life never comes back. */
  life = 0
  up = false
  frozen = false
  /** Since when nothing was wrong here. */
  wellSince = Infinity
  /** Which format of the log its program knows. */
  format = 1
  /** Its program may not start, or no longer decide. */
  #isBarred = false
  failing: { left: number; how: 'failed' | 'unknown' } = { left: 0, how: 'failed' }
  readonly #windows = new Set<Window>()
  #held: (() => void)[] = []
  #sent: (() => void)[] = []
  #draws = 0
  /** How far its own clock is ahead of the store's. */
  skewMs: number
  /**
   * What each life knew of that, from answers of the store; where all share one clock, there is nothing to know.
   * What a life that is over had sent before may still be decided, with what it knew.
   */
  readonly #offsetsMs: number[] = []
  readonly #hasOwnClock: boolean

  constructor(
    index: number,
    { seed, ownClocks }: Pick<Plan, 'seed' | 'ownClocks'>,
    scheduler: Scheduler,
    count: (what: string) => void,
  ) {
    this.index = index
    this.#seed = seed
    this.#hasOwnClock = ownClocks
    this.skewMs = ownClocks ? (mix(seed, 'own clock', index) % (2 * hourMs)) - hourMs : 0
    this.#scheduler = scheduler
    this.#count = count
  }

  count = (what: string): void => this.#count(what)
  draw = (below: number): number =>
    below <= 1 ? 0 : mix(this.#seed, `host ${this.index}`, (this.#draws += 1)) % below
  window = <K extends Window['kind']>(kind: K): Extract<Window, { kind: K }> | undefined => {
    for (const window of this.#windows)
      if (window.kind === kind) return window as Extract<Window, { kind: K }>
    return undefined
  }

  /** Runs code of a node: now, when it thaws, or never if that life is over. */
  enter(life: number, run: () => void): void {
    if (!this.up || this.life !== life) return
    if (this.frozen) this.#held.push(() => this.enter(life, run))
    else run()
  }

  /** Leaves the node for the store: waits while the node is cut off. */
  leave(run: () => void): void {
    const cut = this.window('cut')
    if (cut === undefined) return run()
    this.#count(`cut.${cut.how}`)
    this.#sent.push(run)
  }

  #readClock = (): number => this.#scheduler.wall + this.skewMs

  /** As a node of a cluster does: its time is the database's, as well as it can tell. */
  learnTime({ sentAt, storeTime }: Trip): void {
    if (!this.#hasOwnClock || storeTime === null) return
    const received = this.#readClock()
    const sent = received - (this.#scheduler.now - sentAt)
    const known = this.#offsetsMs[this.life] ?? 0
    this.#offsetsMs[this.life] = adjustOffset(known, { at: storeTime, sent, received })
  }

  clock(life: number): Clock {
    return {
      now: () => this.#readClock() + (this.#offsetsMs[life] ?? 0),
      elapsed: () => this.#scheduler.now,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted === true) return reject(signal.reason)
          const forget = this.#scheduler.after(Math.max(0, ms), `wake ${this.index}`, () =>
            this.enter(life, () => {
              signal?.removeEventListener('abort', abort)
              resolve()
            }),
          )
          const abort = (): void => {
            forget()
            reject(signal?.reason)
          }
          signal?.addEventListener('abort', abort, { once: true })
        }),
    }
  }

  /** Until its next start it is of no use. */
  bar(): void {
    this.#isBarred = true
    this.markUnwell()
  }

  crash(): void {
    this.life += 1
    this.#isBarred = false
    this.up = false
    this.frozen = false
    this.#held = []
    this.wellSince = Infinity
    this.failing.left = 0
  }

  freeze(): void {
    this.frozen = true
    this.markUnwell()
  }

  thaw(): void {
    if (!this.frozen) return
    this.frozen = false
    this.#count('thaw')
    const held = this.#held
    this.#held = []
    for (const run of held) run()
    this.recover()
  }

  open(window: Window): void {
    this.#windows.add(window)
    this.markUnwell()
  }

  close(window: Window): void {
    this.#windows.delete(window)
    if (window.kind === 'cut') {
      const sent = this.#sent
      this.#sent = []
      for (const run of sent) run()
    }
    this.recover()
  }

  markUnwell = (): void => void (this.wellSince = Infinity)
  recover = (): void => {
    if (this.up && !this.#isBarred && !this.frozen && this.#windows.size === 0 && this.failing.left === 0)
      this.wellSince = this.#scheduler.now
  }
}
