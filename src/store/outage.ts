/**
 * The time in which the store cannot write: why, since when, and when to try again. Trying costs a file and a
 * commit, so it is done less and less often.
 */
import { dirname } from 'node:path'
import type { Millis } from '../model/id.ts'
import { StoreUnavailable, type StoreHealth } from '../runtime/kernel/store-health.ts'
import { faultWords, freeBytesAt, type FaultWords } from './disk-fault.ts'

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
  /** What is wrong now. */
  fault(): StoreUnavailable | null
  end(): void
}

type Clocks = { now: () => Millis; elapsed: () => Millis }
type Explained = FaultWords & { freeBytes: number | null }

/** Of a store in a file. */
export const trackDisk = (file: string, clocks: Clocks, onChange: (health: StoreHealth) => void): Outage =>
  trackOutage(file, clocks, onChange, (cause) => {
    const freeBytes = file === ':memory:' ? null : freeBytesAt(dirname(file))
    return { ...faultWords(cause, freeBytes), freeBytes }
  })

/** `now` is for the record, `elapsed` for the pauses. */
export function trackOutage(
  path: string,
  { now, elapsed }: Clocks,
  onChange: (health: StoreHealth) => void,
  explain: (cause: unknown) => Explained,
  pauseMsMax = retryMsMax,
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
      // It is known already, and was only told to one more.
      if (cause instanceof StoreUnavailable) return cause
      const { reason, cure, passes, freeBytes } = explain(cause)
      if (current === null && elapsed() - soundSince >= soundMsMin) tries = 0
      const pauseMs = passes ? Math.min(pauseMsMax, retryMsMin * 2 ** tries) : Infinity
      tries = Math.min(tries + 1, 10)
      const changed = current === null || current.fault.refusal.reason !== reason
      const fault = new StoreUnavailable(
        {
          code: 'store_unavailable',
          path,
          reason,
          cure: passes ? `${cure} ${goesOn}` : cure,
          freeBytes,
          retryInMs: Math.min(pauseMs, pauseMsMax),
        },
        { cause },
      )
      current = { since: current?.since ?? now(), fault, retryAt: elapsed() + pauseMs }
      if (changed) onChange(health())
      return fault
    },
    refusal: () => (current === null || elapsed() >= current.retryAt ? null : current.fault),
    isOver: () => current === null,
    fault: () => current?.fault ?? null,
    end() {
      if (current === null) return
      current = null
      soundSince = elapsed()
      onChange(health())
    },
  }
}
