/**
 * A delegation over HTTP, as a client of `POST /v1/agents/:id/messages` sees it, against a raw server that
 * only writes as much.
 */
import { expectStatus, runLoad } from './http-load.ts'
import type { Progress } from './progress.ts'
import { number, times, type Check, type Part, type Table } from './report.ts'
import { median } from './round.ts'
import { costOf, startRival, type Cost, type Rival } from './server-rival.ts'
import type { WireClient } from './wire-client.ts'
import { nextUserTask, plannerAnswer } from './work.ts'

const rounds = 5
const warmSeconds = 1.5
const concurrencies = [32, 1]
const names = ['tieline', 'raw'] as const
type Name = (typeof names)[number]
const titles: Record<Name, string> = { tieline: 'Tieline', raw: 'raw node:http, six waits' }

type Asked = { ask: (client: WireClient) => Promise<void>; bytes: () => number }

/** Planners in turn, so that none is asked twice at once. */
function asker(agents: readonly string[]): Asked {
  let count = 0
  let bytes = 0
  return {
    async ask(client) {
      const agent = agents[(count += 1) % agents.length] ?? ''
      const { body } = expectStatus(
        await client.post(
          `/v1/agents/${agent}/messages`,
          JSON.stringify({ messages: [{ role: 'user', content: nextUserTask() }] }),
        ),
        200,
        plannerAnswer,
      )
      bytes += body.length
    },
    bytes: () => bytes / count,
  }
}

type Sizes = { events: number; eventBytes: number; answerBytes: number }

export async function httpDelegations(progress: Progress, seconds: number): Promise<Part> {
  progress.part('http-delegations', names.length + concurrencies.length * rounds * names.length)
  const started: Rival[] = []
  try {
    const tieline = await startRival('tieline-delegations')
    started.push(tieline)
    const ours = asker(tieline.facts['agents'] ?? [])
    const sizes = await sizesOf(tieline, ours)
    progress.step('tieline is warm')
    const raw = await startRival('raw-delegations', {
      BENCH_EVENTS: String(sizes.events),
      BENCH_EVENT_BYTES: String(Math.round(sizes.eventBytes)),
      BENCH_ANSWER_BYTES: String(Math.round(sizes.answerBytes)),
    })
    started.push(raw)
    const theirs = asker(tieline.facts['agents'] ?? [])
    await runLoad(raw.url, { concurrency: 32, seconds: warmSeconds, ask: theirs.ask })
    progress.step('raw is warm')
    const rivals: Record<Name, { rival: Rival; asked: Asked }> = {
      tieline: { rival: tieline, asked: ours },
      raw: { rival: raw, asked: theirs },
    }
    const results = new Map<number, Record<Name, Cost>>()
    for (const concurrency of concurrencies)
      results.set(concurrency, await interleaved(rivals, concurrency, seconds, progress))
    return partOf(results, sizes)
  } finally {
    await Promise.all(started.map((rival) => rival.end()))
  }
}

/**
 * The compiler and the caches are warm before anything counts, and the raw server is told how much to write.
 */
async function sizesOf(tieline: Rival, { ask, bytes }: Asked): Promise<Sizes> {
  const before = await tieline.log()
  const { done } = await runLoad(tieline.url, { concurrency: 32, seconds: warmSeconds, ask })
  const after = await tieline.log()
  const events = Math.round((after.events - before.events) / done)
  return { events, eventBytes: (after.bytes - before.bytes) / done / events, answerBytes: bytes() }
}

async function interleaved(
  rivals: Record<Name, { rival: Rival; asked: Asked }>,
  concurrency: number,
  seconds: number,
  progress: Progress,
): Promise<Record<Name, Cost>> {
  const all: Record<Name, Cost[]> = { tieline: [], raw: [] }
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const { rival, asked } = rivals[name]
      const cost = await costOf(rival, () => runLoad(rival.url, { concurrency, seconds, ask: asked.ask }))
      all[name].push(cost)
      progress.step(`concurrency ${concurrency}, ${name}: ${number(cost.perSecond)}/s`)
    }
  }
  return { tieline: medianCost(all.tieline), raw: medianCost(all.raw) }
}

export function medianCost(list: readonly Cost[]): Cost {
  const of = (pick: (cost: Cost) => number): number => median(list.map(pick))
  return {
    perSecond: of((cost) => cost.perSecond),
    p50Ms: of((cost) => cost.p50Ms),
    p99Ms: of((cost) => cost.p99Ms),
    cpuUs: of((cost) => cost.cpuUs),
    done: of((cost) => cost.done),
    commits: list.some(({ commits }) => commits === null) ? null : of((cost) => cost.commits ?? Number.NaN),
  }
}

function tableOf(concurrency: number, results: Record<Name, Cost>): Table {
  const rows = names.map((name) => {
    const { perSecond, p50Ms, p99Ms, cpuUs, commits } = results[name]
    return [
      titles[name],
      number(perSecond),
      times(perSecond / results.raw.perSecond),
      number(p50Ms),
      times(p50Ms / results.raw.p50Ms),
      number(p99Ms),
      number(cpuUs),
      number(commits),
    ]
  })
  return {
    title: `Delegations over HTTP, concurrency ${concurrency} (median of ${rounds} alternating rounds)`,
    columns: ['', 'per second', 'of raw', 'p50 ms', 'of raw', 'p99 ms', 'CPU µs each', 'commits each'],
    rows,
  }
}

function partOf(
  results: ReadonlyMap<number, Record<Name, Cost>>,
  { events, eventBytes, answerBytes }: Sizes,
): Part {
  const ratio = (concurrency: number, pick: (cost: Cost) => number): number => {
    const result = results.get(concurrency)
    return result === undefined ? Number.NaN : pick(result.tieline) / pick(result.raw)
  }
  const checks: Check[] = [
    {
      name: 'delegation over HTTP, concurrency 1: time (p50) against the raw server',
      figure: ratio(1, (cost) => cost.p50Ms),
      relation: '<=',
      limit: 1.5,
      unit: '×',
    },
    {
      name: 'delegation over HTTP, concurrency 32: rate against the raw server',
      figure: ratio(32, (cost) => cost.perSecond),
      relation: '>=',
      limit: 0.5,
      unit: '×',
    },
  ]
  return {
    name: 'http-delegations',
    tables: [...results].map(([concurrency, list]) => tableOf(concurrency, list)),
    checks,
    notes: [
      `The raw server writes ${events} events of ${number(eventBytes)} bytes and answers with ${number(answerBytes)} bytes: as many as Tieline. CPU is that of the server's process; the client is in another, on kept connections.`,
    ],
  }
}
