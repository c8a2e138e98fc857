/**
 * Delegations per second, latency, CPU and commits: ours, two rivals and the bare log, each in its own
 * process, in alternating rounds.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Order } from './contender-process.ts'
import type { Progress } from './progress.ts'
import { number, times, type Check, type Part, type Table } from './report.ts'
import { median, type Round } from './round.ts'

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
  await answerOf(child, name)
  return {
    name,
    async run(order) {
      child.send(order)
      return (await answerOf(child, name)) as Round
    },
    async end() {
      const exit = once(child, 'exit')
      child.send('end')
      await exit
    },
  }
}

/** The next message of a child; its death is an error and not a wait without end. */
function answerOf(child: ChildProcess, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const died = (code: number | null): void =>
      reject(new Error(`the process of ${name} ended (${code ?? 'by a signal'})`))
    child.once('exit', died)
    child.once('message', (message) => {
      child.off('exit', died)
      resolve(message)
    })
  })
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
      // The machine's caches and the compiler are warm before anything counts. Ours is first, so that the
      // bare log can write as many bytes.
      const warm = await rival.run({ concurrency: 32, seconds: warmSeconds })
      if (warm.logBytes !== null) eventBytes = warm.logBytes / eventsPerDelegation
      progress.step(`${name} is warm`)
    }
    const results = new Map<number, Map<Name, Round>>()
    for (const concurrency of concurrencies)
      results.set(concurrency, await interleaved(rivals, concurrency, seconds, progress))
    return partOf(results, eventBytes)
  } finally {
    await Promise.all(rivals.map((rival) => rival.end()))
  }
}

async function interleaved(
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
      progress.step(`concurrency ${concurrency}, ${rival.name}: ${number(result.perSecond)}/s`)
    }
  }
  return new Map([...all].map(([name, list]) => [name, medians(list)]))
}

function medians(list: readonly Round[]): Round {
  const of = (pick: (round: Round) => number | null): number =>
    median(list.map((round) => pick(round) ?? Number.NaN))
  const nullable = (pick: (round: Round) => number | null): number | null =>
    list.some((round) => pick(round) === null) ? null : of(pick)
  return {
    perSecond: of((round) => round.perSecond),
    p50Ms: of((round) => round.p50Ms),
    p99Ms: of((round) => round.p99Ms),
    cpuUs: of((round) => round.cpuUs),
    commits: nullable((round) => round.commits),
    logBytes: nullable((round) => round.logBytes),
    done: of((round) => round.done),
  }
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

function tableOf(concurrency: number, results: ReadonlyMap<Name, Round>): Table {
  const base = results.get('ai-sdk')
  const rows = [...results].map(([name, round]) => [
    titles[name],
    number(round.perSecond),
    times(round.perSecond / (base?.perSecond ?? Number.NaN)),
    number(round.p50Ms),
    number(round.p99Ms),
    number(round.cpuUs),
    times(round.cpuUs / (base?.cpuUs ?? Number.NaN)),
    number(round.commits),
  ])
  return {
    title: `Delegations, concurrency ${concurrency} (median of ${rounds} alternating rounds)`,
    columns,
    rows,
  }
}

function partOf(results: ReadonlyMap<number, ReadonlyMap<Name, Round>>, eventBytes: number): Part {
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
    {
      name: 'concurrency 32: rate against AI SDK',
      figure: ours32.perSecond / sdk.perSecond,
      relation: '>=',
      limit: 2,
      unit: '×',
    },
    {
      name: 'concurrency 32: CPU against AI SDK',
      figure: ours32.cpuUs / sdk.cpuUs,
      relation: '<=',
      limit: 0.5,
      unit: '×',
    },
    {
      name: 'concurrency 32: commits per delegation',
      figure: ours32.commits ?? Number.NaN,
      relation: '<=',
      limit: 0.5,
      unit: '',
    },
    {
      name: 'concurrency 1: time (p50) against the bare log with six waits',
      figure: ours1.p50Ms / bare.p50Ms,
      relation: '<=',
      limit: 1.5,
      unit: '×',
    },
    // The heartbeat of the node commits once a second too, which is not part of any delegation.
    {
      name: 'concurrency 1: commits per delegation',
      figure: Math.floor((ours1.commits ?? Number.NaN) * 10) / 10,
      relation: '<=',
      limit: 6,
      unit: '',
    },
  ]
  return {
    name: 'delegations',
    tables: [...results].map(([concurrency, list]) => tableOf(concurrency, list)),
    checks,
    notes: [
      `The bare log writes ${eventsPerDelegation} events of ${number(eventBytes)} bytes per delegation: as many bytes as Tieline's log.`,
    ],
  }
}
