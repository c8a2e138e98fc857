/** Whether work grows with its input and not faster; and how long the event loop stood still meanwhile. */

/** What earlier tests of the same process left is not collected while something is measured. */
function collect(): void {
  globalThis.gc?.()
}

/** CPU time of this thread in milliseconds: a busy machine makes it no longer, nor do other threads of this process. */
export function cpuMs(work: () => unknown): number {
  const from = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(from)
  return (user + system) / 1000
}

const roundsMax = 5
/** Shorter times are mostly noise. */
const noiseMs = 4

export type Growth = { size: number; ms: number }[]

/**
 * Measures `work` on inputs of `size`, twice and four times that. The smallest of several times counts: noise
 * only ever adds.
 * `make` is not measured.
 */
export function measureGrowth<T>(
  size: number,
  make: (size: number) => T,
  work: (input: T) => unknown,
): Growth {
  // The largest first: the compiler is done with the work then.
  const measured = [size * 4, size * 2, size].map((each) => {
    const input = make(each)
    collect()
    let ms = Infinity
    for (let round = 0; round < roundsMax; round += 1)
      ms = Math.min(
        ms,
        cpuMs(() => work(input)),
      )
    return { size: each, ms }
  })
  return measured.toReversed()
}

/**
 * Linear work takes 4 times as long for 4 times the input, quadratic work 16 times: the line is drawn
 * between, at 9.
 */
const ratioMax = 9

/**
 * Empty where the time grows about as the input does; otherwise what was measured. Measured again before it
 * complains.
 */
export function superlinear<T>(size: number, make: (size: number) => T, work: (input: T) => unknown): string {
  let worst = ''
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const growth = measureGrowth(size, make, work)
    const [first, , last] = growth
    if (first === undefined || last === undefined || last.ms <= Math.max(first.ms, noiseMs) * ratioMax)
      return ''
    worst = growth.map((point) => `${point.size}: ${point.ms.toFixed(1)} ms`).join(', ')
  }
  return `it grows faster than its input: ${worst}`
}

/**
 * The longest time in milliseconds for which nothing else could run on this thread while `work` was under
 * way.
 * Counted in the thread's own CPU time, which a busy machine makes no longer, as it does the delays of
 * timers.
 */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  collect()
  let longest = 0
  let watching = true
  let last = process.threadCpuUsage()
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(last)
    last = process.threadCpuUsage()
    longest = Math.max(longest, (user + system) / 1000)
  }
  const watch = (): void => {
    look()
    if (watching) setImmediate(watch)
  }
  watch()
  try {
    await work()
  } finally {
    watching = false
    look()
  }
  return longest
}
