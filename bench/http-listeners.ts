/** A thousand WebSocket clients follow one session: what others notice, and whether each gets every event. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expectStatus, runLoad, type Loaded } from './http-load.ts'
import type { Compared, ListenersOrder } from './listeners-process.ts'
import { nextMessage, postInTurn } from './message-work.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtMost, type Part, type Table } from './report.ts'
import { median } from './round.ts'
import { openChannel, startRival, type Rival } from './server-rival.ts'
import { connectClient } from './wire-client.ts'

const listeners = 1000
const rounds = 3
/** Each connection pauses between messages, so that latency is measured and not a queue. */
const others = { concurrency: 4, pauseMs: 10 }
/** How often the followed session gets a message, of which every client receives three events. */
const followedMs = 200
const breakMs = 100
const brokenAtOnce = 5
const patienceMs = 20_000

const file = fileURLToPath(new URL('listeners-process.ts', import.meta.url))

type Listeners = { ask: <T>(order: ListenersOrder) => Promise<T>; end(): void }

async function startListeners(): Promise<Listeners> {
  const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const { ready, ask } = openChannel<string, ListenersOrder>(child, 'the listeners')
  await ready
  return { ask, end: () => child.disconnect() }
}

export async function httpListeners(progress: Progress, seconds: number): Promise<Part> {
  progress.part('http-listeners', rounds * 2)
  const server = await startRival('tieline-messages', { BENCH_SESSIONS: '1024' })
  const clients = await startListeners()
  const [followed = '', ...rest] = server.facts['sessions'] ?? []
  const post = postInTurn(rest)
  const [without, withThem, compared]: [Loaded[], Loaded[], Compared[]] = [[], [], []]
  const work = (): Promise<Loaded> =>
    runWhileFollowed(server.url, followed, () => runLoad(server.url, { ...others, seconds, ask: post }))
  try {
    await work()
    for (let round = 0; round < rounds; round += 1) {
      without.push(await work())
      progress.step(`nobody listens: ${formatNumber(without.at(-1)?.p50Ms ?? null)} ms`)
      const result = await measureWithListeners(server, clients, followed, work)
      withThem.push(result.loaded)
      compared.push(result.compared)
      progress.step(
        `${listeners} listen: ${formatNumber(result.loaded.p50Ms)} ms, ${result.compared.missing} missing`,
      )
    }
  } finally {
    clients.end()
    await server.end()
  }
  return buildPart(without, withThem, compared)
}

/** Sends messages to the followed session while the load runs. */
async function runWhileFollowed(url: string, followed: string, load: () => Promise<Loaded>): Promise<Loaded> {
  const client = await connectClient(url)
  let busy: Promise<unknown> = Promise.resolve()
  const say = async (): Promise<unknown> =>
    expectStatus(
      await client.post(`/api/sessions/${followed}/messages`, JSON.stringify({ message: nextMessage() })),
      202,
    )
  const timer = setInterval(() => {
    busy = busy.then(say)
  }, followedMs)
  try {
    return await load()
  } finally {
    clearInterval(timer)
    await busy
    client.destroy()
  }
}

async function measureWithListeners(
  server: Rival,
  clients: Listeners,
  followed: string,
  work: () => Promise<Loaded>,
): Promise<{ loaded: Loaded; compared: Compared }> {
  const after = (await server.seqs(followed, 0)).at(-1) ?? 0
  await clients.ask({ what: 'open', url: server.url, session: followed, count: listeners, after })
  let going = true
  const breaking = (async () => {
    while (going) {
      await clients.ask({ what: 'break', count: brokenAtOnce })
      await new Promise((resolve) => setTimeout(resolve, breakMs))
    }
  })()
  const loaded = await work()
  going = false
  await breaking
  await waitUntilIdle(server.url, followed)
  const compared = await clients.ask<Compared>({
    what: 'compare',
    seqs: await server.seqs(followed, after),
    patienceMs,
  })
  await clients.ask({ what: 'close' })
  return { loaded, compared }
}

async function waitUntilIdle(url: string, session: string): Promise<void> {
  const client = await connectClient(url)
  expectStatus(await client.get(`/api/sessions/${session}/wait?timeoutMs=10000`), 200, '"isActive":false')
  client.destroy()
}

function buildPart(
  without: readonly Loaded[],
  withThem: readonly Loaded[],
  compared: readonly Compared[],
): Part {
  const sum = (pick: (one: Compared) => number): number =>
    compared.reduce((total, one) => total + pick(one), 0)
  const [expected, missing, disordered, foreign] = [
    sum((one) => one.expected),
    sum((one) => one.missing),
    sum((one) => one.disordered),
    sum((one) => one.foreign),
  ]
  const [base, loaded] = [takeLatencies(without), takeLatencies(withThem)]
  return {
    name: 'http-listeners',
    checks: [
      requireAtMost(
        `${listeners} listeners: events that a client missed`,
        missing + (expected === 0 ? Number.NaN : 0),
        0,
      ),
      requireAtMost(
        `${listeners} listeners: events doubled, out of order or of others`,
        disordered + foreign,
        0,
      ),
      requireAtMost(
        `${listeners} listeners: time (p50) of messages to other sessions against none`,
        loaded.p50 / base.p50,
        2,
        '×',
      ),
      requireAtMost(
        `${listeners} listeners: time (p99) of messages to other sessions against none`,
        loaded.p99 / base.p99,
        2,
        '×',
      ),
    ],
    tables: [
      buildLatencyTable(base, loaded),
      {
        title: 'What the listeners received',
        columns: [
          'events',
          'missing',
          'disordered',
          'foreign',
          'broken connections',
          'dropped by the server',
        ],
        rows: [
          [
            expected,
            missing,
            disordered,
            foreign,
            sum((one) => one.reconnects),
            sum((one) => one.dropped),
          ].map(String),
        ],
      },
    ],
    notes: [
      [
        `Either way the followed session gets a message every ${followedMs} ms.`,
        `About every ${breakMs} ms, ${brokenAtOnce} clients drop their connections and resume where they stopped.`,
        'The server, the listeners and the load are three processes, which compete on fewer than three cores.',
      ].join(' '),
    ],
  }
}

type Latencies = { perSecond: number; p50: number; p99: number }

const takeLatencies = (list: readonly Loaded[]): Latencies => ({
  perSecond: median(list.map(({ perSecond }) => perSecond)),
  p50: median(list.map(({ p50Ms }) => p50Ms)),
  p99: median(list.map(({ p99Ms }) => p99Ms)),
})

function buildLatencyTable(base: Latencies, loaded: Latencies): Table {
  const row = (title: string, { perSecond, p50, p99 }: Latencies): string[] => [
    title,
    formatNumber(perSecond),
    formatNumber(p50),
    formatRatio(p50 / base.p50),
    formatNumber(p99),
    formatRatio(p99 / base.p99),
  ]
  const what = `Messages to other sessions while ${listeners} WebSocket clients follow one`
  return {
    title: `${what} (median of ${rounds} alternating rounds)`,
    columns: ['', 'per second', 'p50 ms', 'ratio', 'p99 ms', 'ratio'],
    rows: [row('nobody listens', base), row(`${listeners} listen`, loaded)],
  }
}
