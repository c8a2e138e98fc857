/** Rate, latency, CPU and commits of delegations: ours, two other SDKs and the bare log, in alternating rounds. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Order } from './contender-process.ts'
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
import { takeMedians, type Round } from './round.ts'
import { openChannel } from './server-rival.ts'

const file = fileURLToPath(new URL('contender-process.ts', import.meta.url))
const contenders = ['tieline', 'ai-sdk', 'openai-agents', 'bare-log'] as const
type Name = (typeof contenders)[number]
const titles: Record<Name, string> = {
  tieline: 'Tieline (durable)',
  'ai-sdk': 'AI SDK 7',
  'openai-agents': 'OpenAI Agents SDK',
  'bare-log': 'bare log, six waits',
}

const rounds = 5
const eventsPerDelegation = 16
const warmSeconds = 1.5

type Rival = { name: Name; run(order: Exclude<Order, 'end'>): Promise<Round>; end(): Promise<void> }

async function startRival(name: Name, eventBytes: number): Promise<Rival> {
  const child = fork(file, [name], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, BENCH_EVENT_BYTES: String(Math.round(eventBytes)) },
  })
  const { ready, ask } = openChannel<string, Order>(child, name)
  await ready
  return {
    name,
    run: (order) => ask(order),
    async end() {
      const exit = once(child, 'exit')
      child.send('end')
      await exit
    },
  }
}

export async function delegations(progress: Progress, seconds: number): Promise<Part> {
  const concurrencies = [32, 1]
  progress.part('delegations', contenders.length + concurrencies.length * rounds * contenders.length)
  const rivals: Rival[] = []
  try {
    let eventBytes = 0
    for (const name of contenders) {
      const rival = await startRival(name, eventBytes)
      rivals.push(rival)
      // Warm up the caches and the compiler. Ours runs first, so that the bare log can write as many bytes.
      const warm = await rival.run({ concurrency: 32, seconds: warmSeconds })
      if (warm.logBytes !== null) eventBytes = warm.logBytes / eventsPerDelegation
      progress.step(`${name} is warm`)
    }
    const results = new Map<number, Map<Name, Round>>()
    for (const concurrency of concurrencies)
      results.set(concurrency, await measureInterleaved(rivals, concurrency, seconds, progress))
    return buildPart(results, eventBytes)
  } finally {
    await Promise.all(rivals.map((rival) => rival.end()))
  }
}

async function measureInterleaved(
  rivals: readonly Rival[],
  concurrency: number,
  seconds: number,
  progress: Progress,
): Promise<Map<Name, Round>> {
  const all = new Map<Name, Round[]>(rivals.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const rival of rivals) {
      const result = await rival.run({ concurrency, seconds })
      all.get(rival.name)?.push(result)
      progress.step(`concurrency ${concurrency}, ${rival.name}: ${formatNumber(result.perSecond)}/s`)
    }
  }
  return new Map([...all].map(([name, list]) => [name, takeMedians(list)]))
}

const columns = [
  '',
  'per second',
  'of AI SDK',
  'p50 ms',
  'p99 ms',
  'CPU µs each',
  'of AI SDK',
  'commits each',
]

function buildTable(concurrency: number, results: ReadonlyMap<Name, Round>): Table {
  const base = results.get('ai-sdk')
  const rows = [...results].map(([name, round]) => [
    titles[name],
    formatNumber(round.perSecond),
    formatRatio(round.perSecond / (base?.perSecond ?? Number.NaN)),
    formatNumber(round.p50Ms),
    formatNumber(round.p99Ms),
    formatNumber(round.cpuUs),
    formatRatio(round.cpuUs / (base?.cpuUs ?? Number.NaN)),
    formatNumber(round.commits),
  ])
  return {
    title: `Delegations, concurrency ${concurrency} (median of ${rounds} alternating rounds)`,
    columns,
    rows,
  }
}

function buildPart(results: ReadonlyMap<number, ReadonlyMap<Name, Round>>, eventBytes: number): Part {
  const get = (concurrency: number, name: Name): Round => {
    const round = results.get(concurrency)?.get(name)
    if (round === undefined) throw new Error(`${name} was not measured at ${concurrency}`)
    return round
  }
  const [ours32, ours1, sdk, bare] = [
    get(32, 'tieline'),
    get(1, 'tieline'),
    get(32, 'ai-sdk'),
    get(1, 'bare-log'),
  ]
  const checks: Check[] = [
    requireAtLeast('concurrency 32: rate against AI SDK', ours32.perSecond / sdk.perSecond, 2, '×'),
    requireAtMost('concurrency 32: CPU against AI SDK', ours32.cpuUs / sdk.cpuUs, 0.5, '×'),
    requireAtMost('concurrency 32: commits per delegation', ours32.commits ?? Number.NaN, 0.5),
    requireAtMost(
      'concurrency 1: time (p50) against the bare log with six waits',
      ours1.p50Ms / bare.p50Ms,
      1.5,
      '×',
    ),
    // The heartbeat of the node commits once a second, which is not part of a delegation.
    requireAtMost(
      'concurrency 1: commits per delegation',
      Math.floor((ours1.commits ?? Number.NaN) * 10) / 10,
      6,
    ),
  ]
  return {
    name: 'delegations',
    tables: [...results].map(([concurrency, list]) => buildTable(concurrency, list)),
    checks,
    notes: [
      [
        `The bare log writes ${eventsPerDelegation} events of ${formatNumber(eventBytes)} bytes per delegation,`,
        "which is as many bytes as Tieline's log.",
      ].join(' '),
    ],
  }
}
