/** What `POST /api/sessions/:id/messages` costs compared with its parts, and whether that stays flat over time. */
import { runLoad, type Loaded } from './http-load.ts'
import { postInTurn } from './message-work.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtMost, type Check, type Part, type Table } from './report.ts'
import { median, quantile, takeMedians, type Round } from './round.ts'
import type { Weight } from './server-process.ts'
import { measureCost, startRival, type Cost, type Rival } from './server-rival.ts'
import type { WireClient } from './wire-client.ts'

const rounds = 5
const concurrency = 32
const warmSeconds = 1.5
/** Rounds of the comparison are at most this long, however long the sustained run is. */
const roundSecondsMax = 3
const sustainedSeconds = 60
const windows = 6

type Post = (client: WireClient) => Promise<void>
type Costs = { tieline: Cost; fastify: Cost; store: Round }
type Sustained = { seconds: number; loaded: Loaded; before: Weight; after: Weight }

export async function httpMessages(progress: Progress, seconds: number): Promise<Part> {
  progress.part('http-messages', 4 + rounds * 3)
  const started: Rival[] = []
  const start = async (name: string): Promise<Rival> => {
    const rival = await startRival(name)
    started.push(rival)
    return rival
  }
  try {
    const [tieline, fastify, store] = [
      await start('tieline-messages'),
      await start('fastify-messages'),
      await start('store-messages'),
    ]
    const sessions = tieline.facts['sessions'] ?? []
    const posts = { tieline: postInTurn(sessions), fastify: postInTurn(sessions) }
    await runLoad(tieline.url, { concurrency, seconds: warmSeconds, ask: posts.tieline })
    progress.step('tieline is warm')
    await runLoad(fastify.url, { concurrency, seconds: warmSeconds, ask: posts.fastify })
    progress.step('fastify is warm')
    await store.round(concurrency, warmSeconds)
    progress.step('the store is warm')
    const costs = await measureInterleaved(
      { tieline, fastify, store },
      posts,
      Math.min(seconds, roundSecondsMax),
      progress,
    )
    const sustained = await runSustained(tieline, posts.tieline, seconds)
    progress.step(`${formatNumber(sustained.loaded.done)} messages in ${formatNumber(sustained.seconds)} s`)
    return buildPart(costs, sustained, sessions.length)
  } finally {
    await Promise.all(started.map((rival) => rival.end()))
  }
}

async function measureInterleaved(
  rivals: Record<'tieline' | 'fastify' | 'store', Rival>,
  posts: Record<'tieline' | 'fastify', Post>,
  seconds: number,
  progress: Progress,
): Promise<Costs> {
  const [tieline, fastify, store]: [Cost[], Cost[], Round[]] = [[], [], []]
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, list] of [
      ['tieline', tieline],
      ['fastify', fastify],
    ] as const) {
      const cost = await measureCost(rivals[name], () =>
        runLoad(rivals[name].url, { concurrency, seconds, ask: posts[name] }),
      )
      list.push(cost)
      progress.step(`${name}: ${formatNumber(cost.perSecond)}/s, ${formatNumber(cost.cpuUs)} µs`)
    }
    const alone = await rivals.store.round(concurrency, seconds)
    store.push(alone)
    progress.step(`store: ${formatNumber(alone.perSecond)}/s, ${formatNumber(alone.cpuUs)} µs`)
  }
  return { tieline: takeMedians(tieline), fastify: takeMedians(fastify), store: takeMedians(store) }
}

async function runSustained(tieline: Rival, ask: Post, seconds: number): Promise<Sustained> {
  const before = await tieline.weigh()
  const loaded = await runLoad(tieline.url, { concurrency, seconds, ask })
  return { seconds, loaded, before, after: await tieline.weigh() }
}

/** The 99th percentile of each part of a run. */
function splitP99({ samples, elapsedMs }: Loaded): number[] {
  return Array.from({ length: windows }, (_, n) => {
    const inside = samples.filter(
      ({ atMs }) => atMs >= (elapsedMs * n) / windows && atMs < (elapsedMs * (n + 1)) / windows,
    )
    return quantile(
      inside.map(({ ms }) => ms).sort((a, b) => a - b),
      0.99,
    )
  })
}

function buildPart(costs: Costs, sustained: Sustained, sessions: number): Part {
  const { seconds, loaded, before, after } = sustained
  const p99 = splitP99(loaded)
  const [early, late] = [median(p99.slice(0, windows / 2)), median(p99.slice(windows / 2))]
  const parts = costs.fastify.cpuUs + costs.store.cpuUs
  const length = `messages for ${formatNumber(seconds)} s`
  // A short run says nothing about growth.
  const isSustained = seconds >= sustainedSeconds
  const checks: Check[] = [
    requireAtMost(
      'message over HTTP: CPU against bare Fastify and the store together',
      costs.tieline.cpuUs / parts,
      2,
      '×',
    ),
  ]
  if (isSustained)
    checks.push(
      requireAtMost(`${length}: p99 of the second half against the first`, late / early, 1.5, '×'),
      requireAtMost(`${length}: heap after against before`, after.heapBytes / before.heapBytes, 1.1, '×'),
    )
  return {
    name: 'http-messages',
    tables: [
      buildCostTable(costs, parts),
      buildLatencyTable(sustained, p99, sessions),
      buildMemoryTable(sustained),
    ],
    checks,
    notes: [
      [
        'b writes three events in two transactions for each message, as Tieline does, but reads nothing to decide.',
        'CPU is per process.',
      ].join(' '),
      ...(isSustained
        ? []
        : [`p99 and memory over time are only checked with --seconds ${sustainedSeconds}.`]),
    ],
  }
}

function buildCostTable({ tieline, fastify, store }: Costs, parts: number): Table {
  const row = (
    title: string,
    { perSecond, cpuUs, commits }: Pick<Cost, 'perSecond' | 'cpuUs' | 'commits'>,
    p50Ms: number | null,
    p99Ms: number | null,
  ): string[] => [
    title,
    formatNumber(perSecond),
    formatNumber(p50Ms),
    formatNumber(p99Ms),
    formatNumber(cpuUs),
    formatRatio(cpuUs / parts),
    formatNumber(commits),
  ]
  return {
    title: `Messages over HTTP, concurrency ${concurrency} (median of ${rounds} alternating rounds)`,
    columns: ['', 'per second', 'p50 ms', 'p99 ms', 'CPU µs each', 'of a + b', 'commits each'],
    rows: [
      row('Tieline, with the turn that answers', tieline, tieline.p50Ms, tieline.p99Ms),
      row('a: bare Fastify and zod', fastify, fastify.p50Ms, fastify.p99Ms),
      row('b: the store alone, same events', store, null, null),
    ],
  }
}

function buildLatencyTable({ seconds, loaded }: Sustained, p99: readonly number[], sessions: number): Table {
  const [count, over] = [loaded.done.toLocaleString('en'), sessions.toLocaleString('en')]
  const rate = `${formatNumber(loaded.perSecond)} per second`
  return {
    title: `${formatNumber(seconds)} s of messages: ${count} to ${over} sessions, ${rate}`,
    columns: ['', ...p99.map((_, n) => `part ${n + 1}`)],
    rows: [['p99 ms', ...p99.map(formatNumber)]],
  }
}

function buildMemoryTable({ loaded, before, after }: Sustained): Table {
  const row = (title: string, from: number, to: number): string[] => [
    title,
    formatNumber(from / 1024 / 1024),
    formatNumber(to / 1024 / 1024),
    formatNumber((to - from) / loaded.done),
  ]
  return {
    title: 'Memory of the server before and after, garbage collected',
    columns: ['', 'before MB', 'after MB', 'bytes per message'],
    rows: [
      row('JavaScript heap', before.heapBytes, after.heapBytes),
      row('process (RSS)', before.rssBytes, after.rssBytes),
    ],
  }
}
