/**
 * Lets a turn that is run again go on only as its record says.
 *
 * Every effect that the turn asks for reserves the recorded event that answers it, and waits until all
 * recorded events before that have passed: so branches that ran
 * side by side come back in the order in which they did. An effect that has no recorded event is never run:
 * it waits here until the record has ended, or nothing moves any more.
 */
import type { Event, EventOf, StoredEvent } from '../../model/event.ts'
import type { CallId } from '../../model/id.ts'
import type { Clock } from '../kernel/ports.ts'

/**
 * An effect that is asked for and not in the record. Only a driver's own step can have broken without leaving
 * a result.
 */
export type Stray = { kind: 'step' | 'tool' | 'call'; asked: string; reject: (reason: unknown) => void }

export type Gate = {
  /** The next recorded event that fits and that nobody has reserved; undefined where there is none. */
  reserve<E extends Event>(fits: (event: Event) => event is E): E | undefined
  /** Resolves when it is this event's turn, and lets the next one pass. */
  reach(event: Event): Promise<void>
  /** Waits with an effect that is not in the record. */
  stray(kind: Stray['kind'], asked: string): Promise<never>
  /** A caller has begun to wait for a call, or has opened one that it does not wait for. */
  callWaited(call: CallId): void
  /** Watches until `over` aborts. */
  watch(clock: Clock, quietMs: number, over: AbortSignal): Promise<void>
}

export type GateEvents = {
  /** A recorded call has ended: its caller goes on. */
  ended(event: EventOf<'call.ended'>): void
  /** All recorded events have passed, and `strays` want more. Called again for each new one. */
  exhausted(strays: readonly Stray[]): void
  /**
   * Nothing moves: the next recorded event, and what is asked for instead: effects that are not recorded, and
   * those that come later in the record.
   */
  stuck(next: Event, strays: readonly Stray[], later: readonly Event[]): void
  /** The turn does nothing at all, and has not ended. */
  silent(): void
}

/** How many quiet periods a turn may take for work of its own that asks for nothing. */
const silentPeriodsMax = 10

export function createReplayGate(recorded: readonly StoredEvent[], on: GateEvents): Gate {
  const events = recorded.map((stored) => stored.event)
  const reserved = new Set<Event>()
  const waiting = new Map<Event, () => void>()
  const waited = new Set<CallId>()
  const strays: Stray[] = []
  let cursor = 0
  let activity = 0

  const pump = (): void => {
    activity += 1
    for (let head = events[cursor]; head !== undefined; head = events[cursor]) {
      if (head.type === 'call.ended') {
        if (!waited.has(head.call)) return
        cursor += 1
        on.ended(head)
        continue
      }
      const go = waiting.get(head)
      if (go === undefined) return
      waiting.delete(head)
      cursor += 1
      go()
    }
    on.exhausted(strays)
  }
  const standStill = (periods: number): boolean => {
    const next = events[cursor]
    if (next !== undefined && (strays.length > 0 || waiting.size > 0))
      on.stuck(next, strays, [...waiting.keys()])
    else if (periods >= silentPeriodsMax) on.silent()
    else return false
    return true
  }
  return {
    reserve<E extends Event>(fits: (event: Event) => event is E) {
      const found = events.find((event): event is E => !reserved.has(event) && fits(event))
      if (found !== undefined) reserved.add(found)
      return found
    },
    reach: (event) =>
      new Promise<void>((resolve) => {
        waiting.set(event, resolve)
        pump()
      }),
    stray: (kind, asked) =>
      new Promise<never>((_, reject) => {
        strays.push({ kind, asked, reject })
        pump()
      }),
    callWaited(call) {
      waited.add(call)
      pump()
    },
    async watch(clock, quietMs, over) {
      for (let periods = 0; !over.aborted;) {
        const before = activity
        await clock.sleep(quietMs, over).catch(() => undefined)
        if (over.aborted) return
        periods = activity === before ? periods + 1 : 0
        if (periods > 0 && standStill(periods)) return
      }
    },
  }
}
