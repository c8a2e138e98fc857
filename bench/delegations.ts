/**
 * Rate, latency, CPU and commits of delegations: ours, two other SDKs, a durable library where `all` is given, and
 * the bare log, in alternating rounds.
 * Everybody reads with the same function; the bare log has our number of events, bytes and waits.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Order } from './contender-process.ts'
import { installLanggraph, langgraphVersion } from './install-langgraph.ts'
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
const contenders = [
  'tieline',
  'tieline-own-read',
  'ai-sdk',
  'openai-agents',
  'langgraph',
  'bare-log',
] as const
type Name = (typeof contenders)[number]
const titles: Record<Name, string> = {
  tieline: 'Tieline (durable)',
  'tieline-own-read': 'Tieline with its own read',
  'ai-sdk': 'AI SDK 7',
  'openai-agents': 'OpenAI Agents SDK',
  langgraph: `LangGraph ${langgraphVersion} (durable)`,
  'bare-log': 'bare log, as many waits',
}

const rounds = 5
const warmSeconds = 1.5

type Rival = { name: Name; run(order: Exclude<Order, 'end'>): Promise<Round>; end(): Promise<void> }

/** What one delegation of ours writes. */
type Sizes = { events: number; eventBytes: number; waits: number }

async function startRival(name: Name, { events, eventBytes, waits }: Sizes): Promise<Rival> {
  const child = fork(file, [name], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      ...process.env,
      BENCH_EVENTS: String(events),
      BENCH_EVENT_BYTES: String(Math.round(eventBytes)),
      BENCH_WAITS: String(waits),
    },
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

export async function delegations(progress: Progress, seconds: number, all: boolean): Promise<Part> {
  const concurrencies = [32, 1]
  const names = contenders.filter((name) => all || name !== 'langgraph')
  progress.part('delegations', names.length + concurrencies.length * rounds * names.length)
  if (all) installLanggraph()
  const rivals: Rival[] = []
  try {
    let sizes: Sizes = { events: 0, eventBytes: 0, waits: 0 }
    for (const name of names) {
      const rival = await startRival(name, sizes)
      rivals.push(rival)
      // Warm up the caches and the compiler. Ours runs first, so that the bare log can write as much.
      await rival.run({ concurrency: 32, seconds: warmSeconds })
      if (name === 'tieline') sizes = measureSizes(await rival.run({ concurrency: 1, seconds: warmSeconds }))
      progress.step(`${name} is warm`)
    }
    const results = new Map<number, Map<Name, Round>>()
    for (const concurrency of concurrencies)
      results.set(concurrency, await measureInterleaved(rivals, concurrency, seconds, progress))
    return buildPart(results, sizes)
  } finally {
    await Promise.all(rivals.map((rival) => rival.end()))
  }
}

/** With one caller every commit is a wait. The node's heartbeat adds one a second. */
function measureSizes({ events, logBytes, commits }: Round): Sizes {
  const each = Math.round(events ?? Number.NaN)
  return {
    events: each,
    eventBytes: (logBytes ?? Number.NaN) / each,
    waits: Math.round(commits ?? Number.NaN),
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

function buildPart(results: ReadonlyMap<number, ReadonlyMap<Name, Round>>, sizes: Sizes): Part {
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
    requireAtLeast('concurrency 32: rate against AI SDK', ours32.perSecond / sdk.perSecond, 0.85, '×'),
    requireAtMost('concurrency 32: CPU against AI SDK', ours32.cpuUs / sdk.cpuUs, 1.35, '×'),
    requireAtMost('concurrency 32: commits per delegation', ours32.commits ?? Number.NaN, 0.5),
    requireAtMost(
      'concurrency 1: time (p50) against the bare log with as many waits',
      ours1.p50Ms / bare.p50Ms,
      1.3,
      '×',
    ),
  ]
  const durable = results.get(32)?.get('langgraph')
  if (durable !== undefined)
    checks.push(
      requireAtLeast(
        'concurrency 32: rate against durable LangGraph',
        ours32.perSecond / durable.perSecond,
        20,
        '×',
      ),
    )
  return {
    name: 'delegations',
    tables: [...results].map(([concurrency, list]) => buildTable(concurrency, list)),
    checks,
    notes: [
      [
        `The bare log writes ${sizes.events} events of ${formatNumber(sizes.eventBytes)} bytes with`,
        `${sizes.waits} waits per delegation, as Tieline does. Everybody reads the file with the same`,
        "function; Tieline's own `read` also keeps to the session's directory and numbers lines.",
      ].join(' '),
      describeFaster(results),
    ],
  }
}

const isRival = (name: Name): boolean => ['ai-sdk', 'openai-agents', 'langgraph'].includes(name)

/** Where somebody is faster, it is said in words too. */
function describeFaster(results: ReadonlyMap<number, ReadonlyMap<Name, Round>>): string {
  const lines = [...results].flatMap(([concurrency, rounds]) => {
    const ours = rounds.get('tieline')?.perSecond ?? Number.NaN
    return [...rounds]
      .filter(([name, { perSecond }]) => isRival(name) && perSecond > ours)
      .map(
        ([name, { perSecond }]) =>
          `${titles[name]} is ${formatRatio(perSecond / ours)} as fast as Tieline at concurrency ${concurrency}.`,
      )
  })
  return lines.length === 0 ? 'No rival was faster than Tieline in this run.' : lines.join('\n')
}
