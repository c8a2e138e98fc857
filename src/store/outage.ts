/**
 * The time in which the store cannot write: why, since when, and when to try again. Trying costs a file and a
 * commit, so it is done less and less often.
 */
import { dirname } from 'node:path'
import type { Millis } from '../model/id.ts'
import { StoreUnavailable, type StoreHealth } from '../runtime/kernel/store-health.ts'
import { faultWords, freeBytesAt } from './disk-fault.ts'

const retryMsMin = 100
const retryMsMax = 5000
/** A store that fails again so soon has not recovered: it is tried as seldom as before. */
const soundMsMin = 10_000
const goesOn = 'The server then goes on by itself.'

export type Outage = {
  health(): StoreHealth
  /** Notes a fault, and returns the error for the works that it hit. */
  begin(cause: unknown): StoreUnavailable
  /** The error meanwhile. Null where it is time to try again, or there is no outage. */
  refusal(): StoreUnavailable | null
  isOver(): boolean
  end(): void
}

/** `now` is for the record, `elapsed` for the pauses. */
export function trackOutage(
  file: string,
  { now, elapsed }: { now: () => Millis; elapsed: () => Millis },
  onChange: (health: StoreHealth) => void,
): Outage {
  let current: { since: Millis; fault: StoreUnavailable; retryAt: Millis } | null = null
  let tries = 0
  let soundSince = -Infinity
  const health = (): StoreHealth =>
    current === null
      ? { state: 'ok' }
      : { state: 'unavailable', since: current.since, refusal: current.fault.refusal }
  return {
    health,
    begin(cause) {
      const freeBytes = file === ':memory:' ? null : freeBytesAt(dirname(file))
      const { reason, cure, passes } = faultWords(cause, freeBytes)
      if (current === null && elapsed() - soundSince >= soundMsMin) tries = 0
      const pauseMs = passes ? Math.min(retryMsMax, retryMsMin * 2 ** tries) : Infinity
      tries = Math.min(tries + 1, 10)
      const changed = current === null || current.fault.refusal.reason !== reason
      const fault = new StoreUnavailable(
        {
          code: 'store_unavailable',
          path: file,
          reason,
          cure: passes ? `${cure} ${goesOn}` : cure,
          freeBytes,
          retryInMs: Math.min(pauseMs, retryMsMax),
        },
        { cause },
      )
      current = { since: current?.since ?? now(), fault, retryAt: elapsed() + pauseMs }
      if (changed) onChange(health())
      return fault
    },
    refusal: () => (current === null || elapsed() >= current.retryAt ? null : current.fault),
    isOver: () => current === null,
    end() {
      if (current === null) return
      current = null
      soundSince = elapsed()
      onChange(health())
    },
  }
}
