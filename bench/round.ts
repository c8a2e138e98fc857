/** One timed round of a contender, and statistics over rounds. */
import type { Contender } from './work.ts'

export type Round = {
  perSecond: number
  p50Ms: number
  p99Ms: number
  cpuUs: number
  commits: number | null
  /** Of one delegation. */
  events: number | null
  logBytes: number | null
  done: number
}

export async function runRound(contender: Contender, concurrency: number, seconds: number): Promise<Round> {
  const latencies: number[] = []
  const commitsBefore = contender.commits()
  const logBefore = contender.log?.()
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
  const log = contender.log?.()
  const done = latencies.length
  latencies.sort((a, b) => a - b)
  return {
    perSecond: (done / elapsedMs) * 1000,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuUs: (cpu.user + cpu.system) / done,
    commits: commits === null || commitsBefore === null ? null : (commits - commitsBefore) / done,
    events: log === undefined ? null : (log.events - (logBefore?.events ?? 0)) / done,
    logBytes: log === undefined ? null : (log.bytes - (logBefore?.bytes ?? 0)) / done,
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

/** A number of things in so many parts, as even as whole numbers are. */
export const spreadOver = (count: number, parts: number): number[] =>
  Array.from(
    { length: parts },
    (_, part) => Math.floor(((part + 1) * count) / parts) - Math.floor((part * count) / parts),
  )
