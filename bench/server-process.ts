/** Runs one server in a process of its own. The parent sends orders, and each gets one answer. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { runRound, type Round } from './round.ts'
import type { Contender } from './work.ts'

/** Something that listens or, with `one`, something that is timed inside the process. */
export type BenchServer = {
  url: string
  /** What the parent needs to know, such as ids. */
  facts?: Record<string, string[]>
  commits?(): number | null
  /** The size of the log so far. */
  log?(): { bytes: number; events: number }
  /** The sequence numbers of a session's events after the given one. */
  seqs?(session: string, after: number): Promise<number[]>
  one?: Contender['one']
  close(): Promise<void>
}

export type Usage = { cpuUs: number; commits: number | null }
export type Weight = { heapBytes: number; rssBytes: number }
export type Order =
  | { what: 'usage' }
  | { what: 'log' }
  | { what: 'weigh' }
  | { what: 'seqs'; session: string; after: number }
  | { what: 'round'; concurrency: number; seconds: number }
  | { what: 'end' }
/** The first message from the process. */
export type Ready = { url: string; facts: Record<string, string[]> }

const starts: Record<string, () => Promise<{ start(): Promise<BenchServer> }>> = {
  'tieline-delegations': () => import('./servers/tieline-delegations.ts'),
  'raw-delegations': () => import('./servers/raw-delegations.ts'),
  'tieline-messages': () => import('./servers/tieline-messages.ts'),
  'fastify-messages': () => import('./servers/fastify-messages.ts'),
  'store-messages': () => import('./servers/store-messages.ts'),
  'tieline-calls': () => import('./servers/tieline-calls.ts'),
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const name = process.argv[2] ?? ''
const load = starts[name]
if (load === undefined) throw new Error(`"${name}" is not one of ${Object.keys(starts).join(', ')}`)
const server = await (await load()).start()

async function answer(
  order: Order,
): Promise<Usage | Weight | Round | { bytes: number; events: number } | number[] | null> {
  switch (order.what) {
    case 'usage': {
      const { user, system } = process.cpuUsage()
      return { cpuUs: user + system, commits: server.commits?.() ?? null }
    }
    case 'log':
      return server.log?.() ?? null
    case 'weigh': {
      collect()
      return { heapBytes: process.memoryUsage().heapUsed, rssBytes: process.memoryUsage().rss }
    }
    case 'seqs':
      return (await server.seqs?.(order.session, order.after)) ?? null
    case 'round': {
      const { one } = server
      if (one === undefined) throw new Error(`${name} is asked over HTTP`)
      return runRound(
        { one, commits: () => server.commits?.() ?? null, close: () => server.close() },
        order.concurrency,
        order.seconds,
      )
    }
    case 'end':
      return server.close().then(() => null)
  }
}

process.on('message', (order: Order) => {
  answer(order).then(
    (value) => process.send?.(value, () => (order.what === 'end' ? process.disconnect() : undefined)),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.send?.({ url: server.url, facts: server.facts ?? {} } satisfies Ready)
