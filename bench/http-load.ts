/** Load on a server: several connections, each with one request after another. */
import { quantile } from './round.ts'
import { connectClient, type WireAnswer, type WireClient } from './wire-client.ts'

export type Load = {
  concurrency: number
  seconds: number
  /** Sends one request, and throws if the answer is unexpected. */
  ask: (client: WireClient) => Promise<void>
  /** A pause between two requests of a connection, so that latency is measured and not a queue. */
  pauseMs?: number
}

/** Samples are in the order of the answers, with the time since the start. */
export type Loaded = {
  done: number
  elapsedMs: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  samples: { atMs: number; ms: number }[]
}

export async function runLoad(
  url: string,
  { concurrency, seconds, ask, pauseMs = 0 }: Load,
): Promise<Loaded> {
  const clients = await Promise.all(Array.from({ length: concurrency }, () => connectClient(url)))
  const samples: Loaded['samples'] = []
  const startedAt = performance.now()
  const endAt = startedAt + seconds * 1000
  const lane = async (client: WireClient): Promise<void> => {
    do {
      const from = performance.now()
      await ask(client)
      const to = performance.now()
      samples.push({ atMs: to - startedAt, ms: to - from })
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    } while (performance.now() < endAt)
  }
  try {
    await Promise.all(clients.map(lane))
  } finally {
    for (const client of clients) client.destroy()
  }
  const elapsedMs = performance.now() - startedAt
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b)
  return {
    done: samples.length,
    elapsedMs,
    perSecond: (samples.length / elapsedMs) * 1000,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    samples,
  }
}

export function expectStatus(answer: WireAnswer, status: number, has = ''): WireAnswer {
  if (answer.status === status && answer.body.includes(has)) return answer
  const expected = has === '' ? `${status}` : `${status} with "${has}"`
  throw new Error(`expected ${expected}, got ${answer.status}: ${answer.body.slice(0, 300)}`)
}
