/**
 * A cluster on one PostgreSQL: what two nodes record next to raw inserts by the same client, what one caller
 * waits for next to its round trips, and what a third node adds to work that waits for models.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Link } from '../src/store/postgres/link.ts'
import { writeConfig } from '../test/kits/cluster-config.ts'
import { startPostgres } from '../test/kits/postgres.ts'
import { slowMs, type NodeRound, type Order } from './cluster-order.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtLeast, requireAtMost, type Part, type Table } from './report.ts'
import { median, quantile } from './round.ts'
import { openChannel } from './server-rival.ts'

const rounds = 5
const connections = 16
const callers = 32
const slowCallers = 16
/** Slow work needs some rounds of its own to show a rate. */
const slowSeconds = 6
const file = fileURLToPath(new URL('cluster-node.ts', import.meta.url))

type Node = { run(order: Exclude<Order, 'end'>): Promise<NodeRound>; end(): Promise<void> }

async function startNode(url: string, directory: string, name: string): Promise<Node> {
  const child = fork(file, [writeConfig(mkdtempSync(join(directory, 'node-')), name)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, TIELINE_DATABASE_URL: url },
  })
  const { ready, ask } = openChannel<string, Order>(child, name)
  await ready
  return {
    run: (order) => ask(order),
    async end() {
      const exit = once(child, 'exit')
      child.send('end')
      await exit
    },
  }
}

type Raw = { perSecond: number; p50Ms: number }

/** One statement after the other on each of some connections. */
async function measureRaw(links: readonly Link[], sql: string, seconds: number): Promise<Raw> {
  const latencies: number[] = []
  const from = performance.now()
  const lane = async (link: Link): Promise<void> => {
    while (performance.now() - from < seconds * 1000) {
      const begun = performance.now()
      await link.run(sql)
      latencies.push(performance.now() - begun)
    }
  }
  await Promise.all(links.map(lane))
  const perSecond = (latencies.length / (performance.now() - from)) * 1000
  return {
    perSecond,
    p50Ms: quantile(
      latencies.toSorted((a, b) => a - b),
      0.5,
    ),
  }
}

/** As long as a usual row of the log. */
const insert = `insert into bench_raw (at, events) values (1, '${'x'.repeat(600)}')`

async function countRows(link: Link): Promise<number> {
  const [answer] = await link.run('select count(*) as rows from tieline.log')
  return Number(answer?.rows[0]?.['rows'])
}

/** What nodes did together; `rows` is one for each transaction that recorded something. */
type Together = { perSecond: number; p50Ms: number; rows: number; commits: number; reruns: number }

async function runTogether(
  nodes: readonly Node[],
  link: Link,
  { concurrency, ...order }: Exclude<Order, 'end'>,
): Promise<Together> {
  const before = await countRows(link)
  const each = concurrency / nodes.length
  const done = await Promise.all(nodes.map((node) => node.run({ ...order, concurrency: each })))
  const rows = (await countRows(link)) - before
  const calls = done.reduce((sum, round) => sum + round.done, 0)
  return {
    perSecond: done.reduce((sum, round) => sum + round.perSecond, 0),
    p50Ms: median(done.map((round) => round.p50Ms)),
    rows: rows / calls,
    commits: done.reduce((sum, round) => sum + (round.commits ?? 0) * round.done, 0) / calls,
    reruns: done.reduce((sum, round) => sum + round.reruns, 0) / rows,
  }
}

type Measured = {
  raw1: Raw[]
  raw16: Raw[]
  trip: Raw[]
  busy: Together[]
  alone: Together[]
  slow2: Together[]
  slow3: Together[]
}

export async function cluster(progress: Progress, seconds: number): Promise<Part> {
  const postgres = await startPostgres({ fsync: true })
  if (postgres === null)
    return { name: 'cluster', tables: [], checks: [], notes: ['PostgreSQL cannot be started here.'] }
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-cluster-'))
  const nodes: Node[] = []
  const links: Link[] = []
  progress.part('cluster', rounds * 5 + 2 * 2 + 2)
  try {
    for (let n = 0; n < connections; n += 1) links.push(await connect({ url: postgres.url }))
    await links[0]?.run('create table bench_raw (id bigserial primary key, at bigint, events text)')
    for (const name of ['a', 'b']) nodes.push(await startNode(postgres.url, directory, name))
    const measured = await measure({ nodes, links, seconds, progress })
    nodes.push(await startNode(postgres.url, directory, 'c'))
    await measureSlow(nodes, links, measured, progress)
    return buildPart(measured, postgres.version)
  } finally {
    for (const node of nodes) await node.end()
    for (const link of links) link.close()
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

type Setting = { nodes: readonly Node[]; links: readonly Link[]; seconds: number; progress: Progress }

async function measure({ nodes, links, seconds, progress }: Setting): Promise<Measured> {
  const [first] = links as [Link]
  const found: Measured = { raw1: [], raw16: [], trip: [], busy: [], alone: [], slow2: [], slow3: [] }
  const order = { what: 'instant', seconds } as const
  const run = async (some: readonly Node[], concurrency: number): Promise<Together> => {
    const result = await runTogether(some, first, { ...order, concurrency })
    progress.step(`${concurrency} callers: ${formatNumber(result.perSecond)} calls/s`)
    return result
  }
  const raw = async (some: readonly Link[], sql: string): Promise<Raw> => {
    const result = await measureRaw(some, sql, seconds)
    progress.step(`raw, ${some.length} connections: ${formatNumber(result.perSecond)}/s`)
    return result
  }
  // The compiler and the caches are warm after these.
  await run(nodes, callers)
  await run(nodes.slice(0, 1), 1)
  for (let round = 0; round < rounds; round += 1) {
    found.raw16.push(await raw(links, insert))
    found.busy.push(await run(nodes, callers))
    found.raw1.push(await raw([first], insert))
    found.trip.push(await raw([first], 'select 1'))
    found.alone.push(await run(nodes.slice(0, 1), 1))
  }
  return found
}

async function measureSlow(
  nodes: readonly Node[],
  links: readonly Link[],
  found: Measured,
  progress: Progress,
): Promise<void> {
  const [first] = links as [Link]
  for (let round = 0; round < 2; round += 1)
    for (const [some, list] of [
      [nodes.slice(0, 2), found.slow2],
      [nodes, found.slow3],
    ] as const) {
      const concurrency = slowCallers * some.length
      list.push(await runTogether(some, first, { what: 'slow', concurrency, seconds: slowSeconds }))
      progress.step(`slow models on ${some.length} nodes`)
    }
}

const pick = <T>(list: readonly T[], read: (one: T) => number): number => median(list.map(read))

function buildPart(found: Measured, version: string): Part {
  const { raw1, raw16, trip, busy, alone, slow2, slow3 } = found
  const raw = pick(raw16, ({ perSecond }) => perSecond)
  const ofRaw = busy.map((one, at) => (one.perSecond * one.rows) / (raw16[at]?.perSecond ?? Number.NaN))
  // Each transaction of one caller is two flights: one that takes keys and reads, one that appends and commits.
  const trips = alone.map(
    (one, at) => one.commits * ((trip[at]?.p50Ms ?? Number.NaN) + (raw1[at]?.p50Ms ?? Number.NaN)),
  )
  const ofTrips = alone.map((one, at) => one.p50Ms / (trips[at] ?? Number.NaN))
  const reruns = Math.max(...[...busy, ...alone].map((one) => one.reruns))
  const slow = [slow2, slow3].map((list) => pick(list, ({ perSecond }) => perSecond)) as [number, number]
  const rows: Table['rows'] = [
    ['raw inserts, 1 connection', formatNumber(pick(raw1, (one) => one.perSecond)), '1', '1', '–', '–'],
    [`raw inserts, ${connections} connections`, formatNumber(raw), '1', '1', '–', '–'],
    describe(`two nodes, ${callers} callers`, busy),
    describe('one node of two, 1 caller', alone),
    describe(`two nodes, ${slowCallers * 2} callers, slow models`, slow2),
    describe(`three nodes, ${slowCallers * 3} callers, slow models`, slow3),
  ]
  return {
    name: 'cluster',
    tables: [
      {
        title: `A cluster on one machine (${version}; median of ${rounds} alternating rounds)`,
        columns: ['', 'per second', 'transactions each', 'commits each', 'p50 ms', 'run again'],
        rows,
      },
    ],
    checks: [
      requireAtLeast('two nodes: transactions against raw inserts at 16', median(ofRaw), 0.2, '×'),
      requireAtMost('one caller: time (p50) against the sum of its round trips', median(ofTrips), 3, '×'),
      requireAtMost('transactions of independent sessions that ran again', reruns, 0.01),
      requireAtLeast('slow models: rate of three nodes against two', slow[1] / slow[0], 1.35, '×'),
    ],
    notes: [
      [
        'A call is a request to one agent, which asks another. A transaction is a row of the log; those with',
        'different keys share a commit. The round trips of one caller are as many selects and inserts by the same',
        `client as it has commits: ${formatNumber(median(trips))} ms. A slow model takes ${slowMs} ms.`,
        `Two nodes record ${formatRatio(median(ofRaw))} of the raw inserts.`,
      ].join(' '),
    ],
  }
}

const describe = (name: string, list: readonly Together[]): string[] => [
  name,
  formatNumber(pick(list, (one) => one.perSecond)),
  formatNumber(pick(list, (one) => one.rows)),
  formatNumber(pick(list, (one) => one.commits)),
  formatNumber(pick(list, (one) => one.p50Ms)),
  formatNumber(pick(list, (one) => one.reruns)),
]
