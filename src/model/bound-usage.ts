/**
 * What providers and agents say that a request used, as it may be recorded. They say all kinds of things: a count of
 * 1e308 is a number too, and sums of such counts do not fit into any column, which kept the log from being read again.
 */
import type { Usage } from './event.ts'
import { nanoPerUsd } from './money.ts'

/** More than any request can have; millions of them still have a sum. */
export const tokensPerRequestMax = 1_000_000_000
const nanoUsdPerRequestMax = 1_000_000 * nanoPerUsd

const boundCount = (tokens: number): number =>
  Number.isFinite(tokens) && tokens > 0 ? Math.min(Math.ceil(tokens), tokensPerRequestMax) : 0

/** Whole numbers from 0 to those bounds. */
export function boundUsage(usage: Usage): Usage {
  const bounded: Usage = { ...usage, input: boundCount(usage.input), output: boundCount(usage.output) }
  for (const part of ['cached', 'cacheWrite', 'reasoning'] as const)
    if (usage[part] !== undefined) bounded[part] = boundCount(usage[part])
  if (usage.cost !== undefined)
    bounded.cost = { ...usage.cost, nanoUsd: Math.min(usage.cost.nanoUsd, nanoUsdPerRequestMax) }
  return bounded
}
