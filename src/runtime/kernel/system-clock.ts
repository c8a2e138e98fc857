/**
 * The machine's time. The only file that may read it: everything else takes a Clock, so that a simulated one
 * can take its place.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Millis } from '../../model/id.ts'
import type { Clock } from './ports.ts'

/**
 * Node fires a timer at once when its delay does not fit into 31 bits, so a long sleep is made of several.
 */
const timerMsMax = 2_147_483_647

export const systemClock: Clock = {
  now: () => Date.now(),
  // Whole milliseconds, as deadlines have them.
  elapsed: () => Math.floor(performance.now()),
  async sleep(ms, signal) {
    const until = performance.now() + ms
    do {
      const left = until - performance.now()
      await sleepOnce(Math.min(Math.max(0, left), timerMsMax), signal)
    } while (performance.now() < until)
  },
}

/** The timer holds the process open while it is awaited, and is gone as soon as the signal aborts. */
function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

/**
 * Calls `wake` after `ms` unless the returned function was called before. It keeps no process alive: only for
 * what may be left undone at the end.
 */
export function wakeLater(ms: number, wake: () => void): () => void {
  const timer = setTimeout(wake, Math.min(ms, timerMsMax)).unref()
  return () => clearTimeout(timer)
}

/** A moment as the outside writes it. */
export const isoTime = (at: Millis): string => new Date(at).toISOString()

export type LoopLag = {
  /** In milliseconds, since the last look. */
  look(): { mean: number; p99: number; max: number }
  stop(): void
}

/**
 * How late the event loop is: a timer that should fire every `resolutionMs` says so. It does not hold the
 * process open.
 */
export function watchLoopLag(resolutionMs = 50): LoopLag {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  const late = (nanos: number): number =>
    Number.isFinite(nanos) ? Math.max(0, nanos / 1e6 - resolutionMs) : 0
  return {
    look() {
      const lag = { mean: late(delays.mean), p99: late(delays.percentile(99)), max: late(delays.max) }
      delays.reset()
      return lag
    },
    stop: () => void delays.disable(),
  }
}
