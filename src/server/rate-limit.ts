/** One bucket of tokens for each client: it fills evenly, and a request takes one. */
import type { Millis } from '../model/id.ts'

type Bucket = { tokens: number; at: Millis }

export type RateLimit = {
  /** Null where there was a token left, otherwise how long until there is one. */
  take(client: string): number | null
}

const clientsMax = 10_000

export function rateLimit(perMinute: number, now: () => Millis): RateLimit {
  const buckets = new Map<string, Bucket>()
  const perMs = perMinute / 60_000
  const filled = (bucket: Bucket, at: Millis): number =>
    Math.min(perMinute, bucket.tokens + Math.max(0, at - bucket.at) * perMs)
  return {
    take(client) {
      const at = now()
      let bucket = buckets.get(client)
      if (bucket === undefined) {
        if (buckets.size >= clientsMax) forget(buckets, (one) => filled(one, at) >= perMinute)
        bucket = { tokens: perMinute, at }
        buckets.set(client, bucket)
      }
      bucket.tokens = filled(bucket, at)
      bucket.at = at
      if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perMs)
      bucket.tokens -= 1
      return null
    },
  }
}

/**
 * A full bucket says nothing that a new one would not. When all are in use the oldest goes: the map stays
 * bounded whoever comes.
 */
function forget(buckets: Map<string, Bucket>, isFull: (bucket: Bucket) => boolean): void {
  for (const [client, bucket] of buckets) if (isFull(bucket)) buckets.delete(client)
  for (const client of buckets.keys()) {
    if (buckets.size < clientsMax) return
    buckets.delete(client)
  }
}
