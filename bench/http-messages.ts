/**
 * `POST /api/sessions/:id/messages`: what one costs against the parts it is made of, and whether that stays
 * so when it goes on.
 */
import { medianCost } from './http-delegations.ts'
import { runLoad, type Loaded } from './http-load.ts'
import { postInTurn } from './message-work.ts'
import type { Progress } from './progress.ts'
import { number, times, type Check, type Part, type Table } from './report.ts'
import { median, quantile, type Round } from './round.ts'
import type { Weight } from './server-process.ts'
import { costOf, startRival, type Cost, type Rival } from './server-rival.ts'
import type { WireClient } from './wire-client.ts'

const rounds = 5
const concurrency = 32
const warmSeconds = 1.5
/** Rounds of the comparison are no longer than this, whatever the run that goes on is. */
const roundSecondsMax = 3
const sustainedSeconds = 60
const windows = 6

type Post = (client: WireClient) => Promise<void>
type Costs = { tieline: Cost; fastify: Cost; store: Pick<Round, 'perSecond' | 'cpuUs' | 'commits'> }
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
    const costs = await interleaved(
      { tieline, fastify, store },
      posts,
      Math.min(seconds, roundSecondsMax),
      progress,
    )
    const sustained = await goOn(tieline, posts.tieline, seconds)
    progress.step(`${number(sustained.loaded.done)} messages in ${number(sustained.seconds)} s`)
    return partOf(costs, sustained, sessions.length)
  } finally {
    await Promise.all(started.map((rival) => rival.end()))
  }
}

async function interleaved(
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
      const cost = await costOf(rivals[name], () =>
        runLoad(rivals[name].url, { concurrency, seconds, ask: posts[name] }),
      )
      list.push(cost)
      progress.step(`${name}: ${number(cost.perSecond)}/s, ${number(cost.cpuUs)} µs`)
    }
    const alone = await rivals.store.round(concurrency, seconds)
    store.push(alone)
    progress.step(`store: ${number(alone.perSecond)}/s, ${number(alone.cpuUs)} µs`)
  }
  const of = (pick: (round: Round) => number | null): number =>
    median(store.map((round) => pick(round) ?? Number.NaN))
  return {
    tieline: medianCost(tieline),
    fastify: medianCost(fastify),
    store: {
      perSecond: of((round) => round.perSecond),
      cpuUs: of((round) => round.cpuUs),
      commits: of((round) => round.commits),
    },
  }
}

async function goOn(tieline: Rival, ask: Post, seconds: number): Promise<Sustained> {
  const before = await tieline.weigh()
  const loaded = await runLoad(tieline.url, { concurrency, seconds, ask })
  return { seconds, loaded, before, after: await tieline.weigh() }
}

/** The 99th percentile of each part of the run. */
function p99s({ samples, elapsedMs }: Loaded): number[] {
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

function partOf(costs: Costs, sustained: Sustained, sessions: number): Part {
  const parts = costs.fastify.cpuUs + costs.store.cpuUs
  const row = (
    title: string,
    { perSecond, cpuUs, commits }: Pick<Cost, 'perSecond' | 'cpuUs' | 'commits'>,
    p50Ms: number | null,
    p99Ms: number | null,
  ): string[] => [
    title,
    number(perSecond),
    number(p50Ms),
    number(p99Ms),
    number(cpuUs),
    times(cpuUs / parts),
    number(commits),
  ]
  const { tieline, fastify, store } = costs
  const table: Table = {
    title: `Messages over HTTP, concurrency ${concurrency} (median of ${rounds} alternating rounds)`,
    columns: ['', 'per second', 'p50 ms', 'p99 ms', 'CPU µs each', 'of a + b', 'commits each'],
    rows: [
      row('Tieline, with the turn that answers', tieline, tieline.p50Ms, tieline.p99Ms),
      row('a: bare Fastify and zod', fastify, fastify.p50Ms, fastify.p99Ms),
      row('b: the store alone, same events', store, null, null),
    ],
  }
  const { seconds, loaded, before, after } = sustained
  const p99 = p99s(loaded)
  const [early, late] = [median(p99.slice(0, windows / 2)), median(p99.slice(windows / 2))]
  const mb = (bytes: number): string => number(bytes / 1024 / 1024)
  const going: Table = {
    title: `${number(seconds)} s of messages: ${loaded.done.toLocaleString('en')} of them to ${sessions.toLocaleString('en')} sessions, ${number(loaded.perSecond)} a second`,
    columns: ['', ...p99.map((_, n) => `part ${n + 1}`)],
    rows: [['p99 ms', ...p99.map(number)]],
  }
  const weight: Table = {
    title: 'Memory of the server before and after, collected',
    columns: ['', 'before MB', 'after MB', 'bytes per message'],
    rows: (['heapBytes', 'rssBytes'] as const).map((what) => [
      what === 'heapBytes' ? 'JavaScript heap' : 'process (RSS)',
      mb(before[what]),
      mb(after[what]),
      number((after[what] - before[what]) / loaded.done),
    ]),
  }
  const checks: Check[] = [
    {
      name: 'message over HTTP: CPU against bare Fastify and the store together',
      figure: tieline.cpuUs / parts,
      relation: '<=',
      limit: 2,
      unit: '×',
    },
  ]
  // A short run says nothing about what stays.
  if (seconds >= sustainedSeconds) {
    checks.push({
      name: `messages for ${number(seconds)} s: p99 of the second half against the first`,
      figure: late / early,
      relation: '<=',
      limit: 1.5,
      unit: '×',
    })
    checks.push({
      name: `messages for ${number(seconds)} s: heap after against before`,
      figure: after.heapBytes / before.heapBytes,
      relation: '<=',
      limit: 1.1,
      unit: '×',
    })
  }
  const short =
    seconds >= sustainedSeconds
      ? []
      : [`Whether p99 and memory stay as they are is checked with --seconds ${sustainedSeconds} only.`]
  return {
    name: 'http-messages',
    tables: [table, going, weight],
    checks,
    notes: [
      `b writes three events in two transactions for each message, as Tieline does, without reading what a rule needs. CPU is that of each process.`,
      ...short,
    ],
  }
}
