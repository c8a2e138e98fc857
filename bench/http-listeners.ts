/**
 * A thousand WebSocket clients follow one session: what others notice of it, and whether each client gets
 * every event once and in order.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expectStatus, runLoad, type Loaded } from './http-load.ts'
import type { Compared, ListenersOrder } from './listeners-process.ts'
import { nextMessage, postInTurn } from './message-work.ts'
import type { Progress } from './progress.ts'
import { number, times, type Check, type Part } from './report.ts'
import { median } from './round.ts'
import { messagesOf, startRival, type Rival } from './server-rival.ts'
import { wireClient } from './wire-client.ts'

const listeners = 1000
const rounds = 3
/** Gentle, so that latency is seen and not a queue: each connection rests between two messages. */
const others = { concurrency: 4, pauseMs: 10 }
/** The followed session gets a message this often; three events of each go to every client. */
const followedMs = 200
const breakMs = 100
const brokenAtOnce = 5
const patienceMs = 20_000

const file = fileURLToPath(new URL('listeners-process.ts', import.meta.url))

type Listeners = { ask: <T>(order: ListenersOrder) => Promise<T>; end(): void }

async function startListeners(): Promise<Listeners> {
  const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const { ready, ask } = messagesOf<string, ListenersOrder>(child, 'the listeners')
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
    followedLoad(server.url, followed, () => runLoad(server.url, { ...others, seconds, ask: post }))
  try {
    await work()
    for (let round = 0; round < rounds; round += 1) {
      without.push(await work())
      progress.step(`nobody listens: ${number(without.at(-1)?.p50Ms ?? null)} ms`)
      const result = await listened(server, clients, followed, work)
      withThem.push(result.loaded)
      compared.push(result.compared)
      progress.step(
        `${listeners} listen: ${number(result.loaded.p50Ms)} ms, ${result.compared.missing} missing`,
      )
    }
  } finally {
    clients.end()
    await server.end()
  }
  return partOf(without, withThem, compared)
}

/** Somebody works in the followed session meanwhile. */
async function followedLoad(url: string, followed: string, load: () => Promise<Loaded>): Promise<Loaded> {
  const client = await wireClient(url)
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

async function listened(
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
  await rested(server.url, followed)
  const compared = await clients.ask<Compared>({
    what: 'compare',
    seqs: await server.seqs(followed, after),
    patienceMs,
  })
  await clients.ask({ what: 'close' })
  return { loaded, compared }
}

async function rested(url: string, session: string): Promise<void> {
  const client = await wireClient(url)
  expectStatus(await client.get(`/api/sessions/${session}/wait?timeoutMs=10000`), 200, '"isActive":false')
  client.destroy()
}

function partOf(
  without: readonly Loaded[],
  withThem: readonly Loaded[],
  compared: readonly Compared[],
): Part {
  const of = (list: readonly Loaded[], pick: (loaded: Loaded) => number): number => median(list.map(pick))
  const base = { p50: of(without, ({ p50Ms }) => p50Ms), p99: of(without, ({ p99Ms }) => p99Ms) }
  const row = (title: string, list: readonly Loaded[]): string[] => {
    const [p50, p99] = [of(list, ({ p50Ms }) => p50Ms), of(list, ({ p99Ms }) => p99Ms)]
    return [
      title,
      number(of(list, ({ perSecond }) => perSecond)),
      number(p50),
      times(p50 / base.p50),
      number(p99),
      times(p99 / base.p99),
    ]
  }
  const sum = (pick: (one: Compared) => number): number =>
    compared.reduce((total, one) => total + pick(one), 0)
  const [expected, missing, disordered, foreign] = [
    sum((one) => one.expected),
    sum((one) => one.missing),
    sum((one) => one.disordered),
    sum((one) => one.foreign),
  ]
  const checks: Check[] = [
    {
      name: `${listeners} listeners: events that a client missed`,
      figure: missing + (expected === 0 ? Number.NaN : 0),
      relation: '<=',
      limit: 0,
      unit: '',
    },
    {
      name: `${listeners} listeners: events doubled, out of order or of others`,
      figure: disordered + foreign,
      relation: '<=',
      limit: 0,
      unit: '',
    },
    {
      name: `${listeners} listeners: time (p50) of messages to other sessions against none`,
      figure: of(withThem, ({ p50Ms }) => p50Ms) / base.p50,
      relation: '<=',
      limit: 2,
      unit: '×',
    },
  ]
  return {
    name: 'http-listeners',
    checks,
    tables: [
      {
        title: `Messages to other sessions while ${listeners} WebSocket clients follow one (median of ${rounds} alternating rounds)`,
        columns: ['', 'per second', 'p50 ms', 'ratio', 'p99 ms', 'ratio'],
        rows: [row('nobody listens', without), row(`${listeners} listen`, withThem)],
      },
      {
        title: 'What the listeners got',
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
      `The followed session gets a message every ${followedMs} ms in both. ${brokenAtOnce} clients break their connections every ${breakMs} ms or so and come back where they stopped. Server, listeners and those who work are three processes; with fewer cores they disturb each other.`,
    ],
  }
}
