/** Load on a server: so many connections, each with one request after the other, for so long. */
import { quantile } from './round.ts'
import { wireClient, type WireAnswer, type WireClient } from './wire-client.ts'

export type Load = {
  concurrency: number
  seconds: number
  /** Asks once, and throws if the answer is not the expected one. */
  ask: (client: WireClient) => Promise<void>
  /** Between two requests of a connection, so that latency is seen and not a queue. */
  pauseMs?: number
}

/** Latencies are in the order in which the answers came, with the time since the start. */
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
  const clients = await Promise.all(Array.from({ length: concurrency }, () => wireClient(url)))
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
  if (answer.status !== status || !answer.body.includes(has))
    throw new Error(
      `${status}${has === '' ? '' : ` with "${has}"`} was expected, and ${answer.status} came: ${answer.body.slice(0, 300)}`,
    )
  return answer
}
