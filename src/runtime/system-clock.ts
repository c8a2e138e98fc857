/** The machine's time. The only file that may read it: everything else takes a Clock, so that a simulated one can take its place. */
import type { Clock } from './ports.ts'

/** Node fires a timer at once when its delay does not fit into 31 bits, so a long sleep is made of several. */
const timerMsMax = 2_147_483_647

export const systemClock: Clock = {
  now: () => Date.now(),
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
