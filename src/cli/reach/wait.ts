/** Waiting for something outside, for a bounded time. */
import { systemClock } from '../../runtime/kernel/system-clock.ts'

const pollMs = 20

/** Asks until the answer is not null, or the time is over: then null. */
export async function poll<T>(
  msMax: number,
  ask: () => Promise<T | null> | T | null,
  signal?: AbortSignal,
): Promise<T | null> {
  for (const until = systemClock.elapsed() + msMax; ; await systemClock.sleep(pollMs, signal)) {
    const found = await ask()
    if (found !== null || systemClock.elapsed() > until) return found
  }
}

/** Acts after a while, unless the signal aborts before. */
export const actLater = (ms: number, signal: AbortSignal, act: () => void): void =>
  void systemClock.sleep(ms, signal).then(act, () => undefined)
