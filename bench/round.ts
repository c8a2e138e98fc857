/** One timed round of a contender, and statistics over rounds. */
import type { Contender } from './work.ts'

export type Round = {
  perSecond: number
  p50Ms: number
  p99Ms: number
  cpuUs: number
  commits: number | null
  logBytes: number | null
  done: number
}

export async function runRound(contender: Contender, concurrency: number, seconds: number): Promise<Round> {
  const latencies: number[] = []
  const commitsBefore = contender.commits()
  const bytesBefore = contender.logBytes?.() ?? null
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const endAt = startedAt + seconds * 1000
  const lane = async (): Promise<void> => {
    do {
      const from = performance.now()
      await contender.one()
      latencies.push(performance.now() - from)
    } while (performance.now() < endAt)
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  const elapsedMs = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  const commits = contender.commits()
  const done = latencies.length
  latencies.sort((a, b) => a - b)
  return {
    perSecond: (done / elapsedMs) * 1000,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuUs: (cpu.user + cpu.system) / done,
    commits: commits === null || commitsBefore === null ? null : (commits - commitsBefore) / done,
    logBytes: bytesBefore === null ? null : ((contender.logBytes?.() ?? 0) - bytesBefore) / done,
    done,
  }
}

/** Of sorted numbers. */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/** The median of every figure; null where one of the list has none. */
export function takeMedians<T extends Readonly<Record<keyof T, number | null>>>(list: readonly T[]): T {
  const [first] = list
  if (first === undefined) throw new Error('nothing was measured')
  const takeMedian = (name: keyof T): number | null => {
    const values = list.map((one): number | null => one[name])
    return values.every((value) => value !== null) ? median(values) : null
  }
  const names = Object.keys(first) as (keyof T)[]
  return Object.fromEntries(names.map((name) => [name, takeMedian(name)])) as T
}
