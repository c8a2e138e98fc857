/** Delegations through `POST /v1/agents/:id/messages`, against a raw server that only writes as many bytes. */
import { expectStatus, runLoad } from './http-load.ts'
import type { Progress } from './progress.ts'
import {
  formatNumber,
  formatRatio,
  requireAtLeast,
  requireAtMost,
  type Check,
  type Part,
  type Table,
} from './report.ts'
import { takeMedians } from './round.ts'
import { measureCost, startRival, type Cost, type Rival } from './server-rival.ts'
import type { WireClient } from './wire-client.ts'
import { nextUserTask, plannerAnswer } from './work.ts'

const rounds = 5
const warmSeconds = 1.5
const concurrencies = [32, 1]
const names = ['tieline', 'raw'] as const
type Name = (typeof names)[number]
const titles: Record<Name, string> = { tieline: 'Tieline', raw: 'raw node:http, as many waits' }

type Asked = { ask: (client: WireClient) => Promise<void>; bytes: () => number }

/** Rotates through the planners, so that none has two requests at once. */
function createAsker(agents: readonly string[]): Asked {
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

type Sizes = { events: number; eventBytes: number; waits: number; answerBytes: number }

export async function httpDelegations(progress: Progress, seconds: number): Promise<Part> {
  progress.part('http-delegations', names.length + concurrencies.length * rounds * names.length)
  const started: Rival[] = []
  try {
    const tieline = await startRival('tieline-delegations')
    started.push(tieline)
    const ours = createAsker(tieline.facts['agents'] ?? [])
    const sizes = await measureSizes(tieline, ours)
    progress.step('tieline is warm')
    const raw = await startRival('raw-delegations', {
      BENCH_EVENTS: String(sizes.events),
      BENCH_EVENT_BYTES: String(Math.round(sizes.eventBytes)),
      BENCH_WAITS: String(sizes.waits),
      BENCH_ANSWER_BYTES: String(Math.round(sizes.answerBytes)),
    })
    started.push(raw)
    const theirs = createAsker(tieline.facts['agents'] ?? [])
    await runLoad(raw.url, { concurrency: 32, seconds: warmSeconds, ask: theirs.ask })
    progress.step('raw is warm')
    const rivals: Record<Name, { rival: Rival; asked: Asked }> = {
      tieline: { rival: tieline, asked: ours },
      raw: { rival: raw, asked: theirs },
    }
    const results = new Map<number, Record<Name, Cost>>()
    for (const concurrency of concurrencies)
      results.set(concurrency, await measureInterleaved(rivals, concurrency, seconds, progress))
    return buildPart(results, sizes)
  } finally {
    await Promise.all(started.map((rival) => rival.end()))
  }
}

/** Warms up Tieline and measures how much the raw server has to write. */
async function measureSizes(tieline: Rival, { ask, bytes }: Asked): Promise<Sizes> {
  const before = await tieline.log()
  const { done } = await runLoad(tieline.url, { concurrency: 32, seconds: warmSeconds, ask })
  const after = await tieline.log()
  const events = Math.round((after.events - before.events) / done)
  const alone = await measureCost(tieline, () =>
    runLoad(tieline.url, { concurrency: 1, seconds: warmSeconds, ask }),
  )
  return {
    events,
    eventBytes: (after.bytes - before.bytes) / done / events,
    waits: Math.round(alone.commits ?? Number.NaN),
    answerBytes: bytes(),
  }
}

async function measureInterleaved(
  rivals: Record<Name, { rival: Rival; asked: Asked }>,
  concurrency: number,
  seconds: number,
  progress: Progress,
): Promise<Record<Name, Cost>> {
  const all: Record<Name, Cost[]> = { tieline: [], raw: [] }
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const { rival, asked } = rivals[name]
      const cost = await measureCost(rival, () =>
        runLoad(rival.url, { concurrency, seconds, ask: asked.ask }),
      )
      all[name].push(cost)
      progress.step(`concurrency ${concurrency}, ${name}: ${formatNumber(cost.perSecond)}/s`)
    }
  }
  return { tieline: takeMedians(all.tieline), raw: takeMedians(all.raw) }
}

function buildTable(concurrency: number, results: Record<Name, Cost>): Table {
  const rows = names.map((name) => {
    const { perSecond, p50Ms, p99Ms, cpuUs, commits } = results[name]
    return [
      titles[name],
      formatNumber(perSecond),
      formatRatio(perSecond / results.raw.perSecond),
      formatNumber(p50Ms),
      formatRatio(p50Ms / results.raw.p50Ms),
      formatNumber(p99Ms),
      formatRatio(p99Ms / results.raw.p99Ms),
      formatNumber(cpuUs),
      formatNumber(commits),
    ]
  })
  return {
    title: `Delegations over HTTP, concurrency ${concurrency} (median of ${rounds} alternating rounds)`,
    columns: [
      '',
      'per second',
      'of raw',
      'p50 ms',
      'of raw',
      'p99 ms',
      'of raw',
      'CPU µs each',
      'commits each',
    ],
    rows,
  }
}

function buildPart(
  results: ReadonlyMap<number, Record<Name, Cost>>,
  { events, eventBytes, waits, answerBytes }: Sizes,
): Part {
  const ratio = (concurrency: number, pick: (cost: Cost) => number): number => {
    const result = results.get(concurrency)
    return result === undefined ? Number.NaN : pick(result.tieline) / pick(result.raw)
  }
  const checks: Check[] = [
    requireAtMost(
      'delegation over HTTP, concurrency 1: time (p50) against the raw server',
      ratio(1, (cost) => cost.p50Ms),
      1.6,
      '×',
    ),
    requireAtLeast(
      'delegation over HTTP, concurrency 32: rate against the raw server',
      ratio(32, (cost) => cost.perSecond),
      0.35,
      '×',
    ),
  ]
  return {
    name: 'http-delegations',
    tables: [...results].map(([concurrency, list]) => buildTable(concurrency, list)),
    checks,
    notes: [
      [
        `The raw server writes ${events} events of ${formatNumber(eventBytes)} bytes with ${waits} waits`,
        `and answers with ${formatNumber(answerBytes)} bytes, as Tieline does.`,
        'CPU is that of the server process. The client is another process and keeps its connections open.',
      ].join(' '),
    ],
  }
}
