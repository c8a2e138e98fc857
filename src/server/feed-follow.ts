/**
 * One listener's way through the log. It never slows anybody: what it cannot take is not kept for it.
 * F1: every event that it may see comes once and in order. F2: while it catches up, it is given no more than
 * it takes: the subscription is let go and begun again where it stopped.
 * F3: once it is up to date, falling behind by more than the bound ends it, with the last number that was
 * sent, so that it can come back.
 */
import type { StoredEvent } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import type { LogDesk } from '../runtime/desk/log.ts'
import type { Sight } from '../runtime/desk/sight.ts'
import type { Frame, Frames } from './feed-frame.ts'
import type { Delta } from '../wire/log.ts'

export type Outlet = {
  /** `sent` is called, later, when the kernel has taken it, or when it never will. */
  send(frame: Frame, sent?: () => void): void
  /** Bytes that were handed over and not yet taken. */
  buffered(): number
  /** It is too slow. */
  drop(lastSeq: number): void
}

export type Follower = {
  /** From `after` on, of these sessions or of all; in place of what it followed before. */
  start(after: number, sessions: readonly SessionId[] | null): void
  stop(): void
}

export type FollowOptions = {
  log: Pick<LogDesk, 'follow' | 'lastSeq'>
  frames: Frames
  /** Null sees everything. */
  sight: Sight | null
  bufferedBytesMax: number
  outlet: Outlet
  fault: (fault: unknown) => void
}

/** How much is handed over at once while catching up. */
const catchUpBytes = 256 * 1024
/** Events that wait while it is found out whether they may be seen. */
const waitingMax = 1000

export const follow = (options: FollowOptions): Follower => new LogFollower(options)

class LogFollower implements Follower {
  readonly #options: FollowOptions
  #sessions: readonly SessionId[] | null = null
  /** Everything up to here was sent, or is not for it. */
  #cursor = 0
  #sent = 0
  /** Where the log ended when it began to follow: up to there it catches up. */
  #target = 0
  /** Tells a subscription from one that was given up. */
  #round = 0
  #unsubscribe: (() => void) | null = null
  #waiting: StoredEvent[] | null = null
  /** Events came that there was no room for: they are read again. */
  #behind = false

  constructor(options: FollowOptions) {
    this.#options = options
  }

  start(after: number, sessions: readonly SessionId[] | null): void {
    this.#cursor = after
    this.#sent = after
    this.#sessions = sessions
    this.#resume()
  }

  stop(): void {
    this.#round += 1
    this.#waiting = null
    this.#behind = false
    this.#pause()
  }

  #pause(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = null
  }

  #resume(): void {
    this.stop()
    // Nobody is followed: there is nothing to come.
    if (this.#sessions?.length === 0) return
    const { log } = this.#options
    const round = this.#round
    this.#target = log.lastSeq()
    const unsubscribe = log.follow(this.#cursor, this.#sessions, {
      events: (events) => {
        if (round === this.#round) this.#guard(() => this.#take(events))
      },
      delta: (delta) => {
        if (round === this.#round) this.#guard(() => this.#delta(delta))
      },
    })
    // It may have been told so much while it subscribed that it stopped again.
    if (round === this.#round) this.#unsubscribe = unsubscribe
    else unsubscribe()
  }

  /** The feed of the runtime is never disturbed by one listener. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (fault) {
      this.stop()
      this.#options.fault(fault)
    }
  }

  #take(events: readonly StoredEvent[]): void {
    if (this.#waiting !== null) {
      if (this.#waiting.length + events.length <= waitingMax && !this.#behind) this.#waiting.push(...events)
      else this.#behind = true
      return
    }
    const round = this.#round
    for (const [index, stored] of events.entries()) {
      if (stored.seq <= this.#cursor) continue // F1
      const visible = this.#options.sight?.known(stored.event) ?? (this.#options.sight === null ? true : null)
      if (visible === null) return this.#learn(events.slice(index), round)
      if (visible) this.#send(stored)
      else this.#cursor = stored.seq
      if (round !== this.#round) return
    }
  }

  #learn(rest: StoredEvent[], round: number): void {
    const first = rest[0] as StoredEvent
    this.#waiting = rest
    const goOn = (): void => {
      if (round !== this.#round) return
      const waiting = this.#waiting ?? []
      const behind = this.#behind
      this.#waiting = null
      this.#behind = false
      this.#guard(() => this.#take(waiting))
      if (!behind || round !== this.#round) return
      // What is asked about now delays the reading again, and then it is read from the log.
      if (this.#waiting === null) this.#resume()
      else this.#behind = true
    }
    this.#options.sight?.learn(first.event.session).then(goOn, (fault: unknown) => {
      if (round !== this.#round) return
      this.stop()
      this.#options.fault(fault)
    })
  }

  #send(stored: StoredEvent): void {
    const { outlet, frames, bufferedBytesMax } = this.#options
    const buffered = outlet.buffered()
    const isCatchingUp = stored.seq <= this.#target
    if (!isCatchingUp && buffered > bufferedBytesMax) {
      this.stop() // F3
      outlet.drop(this.#sent)
      return
    }
    this.#cursor = stored.seq
    this.#sent = stored.seq
    const frame = frames.event(stored)
    if (!isCatchingUp || buffered < catchUpBytes) return outlet.send(frame)
    this.stop() // F2
    const round = this.#round
    outlet.send(frame, () => {
      if (round === this.#round) this.#resume()
    })
  }

  /** Deltas are not in the log: whoever cannot take them now reads the whole text when the turn has ended. */
  #delta(delta: Delta): void {
    const { outlet, frames, sight } = this.#options
    if (outlet.buffered() < catchUpBytes && (sight === null || sight.sees(delta.session)))
      outlet.send(frames.delta(delta))
  }
}
