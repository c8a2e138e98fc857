/** The parent of a `server-process.ts`: starts it, sends orders, ends it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Loaded } from './http-load.ts'
import type { Round } from './round.ts'
import type { Order, Ready, Usage, Weight } from './server-process.ts'

const file = fileURLToPath(new URL('server-process.ts', import.meta.url))

export type Rival = Ready & {
  usage(): Promise<Usage>
  log(): Promise<{ bytes: number; events: number }>
  weigh(): Promise<Weight>
  seqs(session: string, after: number): Promise<number[]>
  round(concurrency: number, seconds: number): Promise<Round>
  end(): Promise<void>
}

export async function startRival(name: string, env: Record<string, string> = {}): Promise<Rival> {
  const child = fork(file, [name], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  })
  const { ask, ready } = openChannel<Ready, Order>(child, name)
  return {
    ...(await ready),
    usage: () => ask({ what: 'usage' }),
    log: () => ask({ what: 'log' }),
    weigh: () => ask({ what: 'weigh' }),
    seqs: (session, after) => ask({ what: 'seqs', session, after }),
    round: (concurrency, seconds) => ask({ what: 'round', concurrency, seconds }),
    async end() {
      const exit = once(child, 'exit')
      await ask({ what: 'end' })
      await exit
    },
  }
}

/** One answer for each order. If the process dies, the promise rejects instead of hanging. */
export function openChannel<First, Asked>(
  child: ReturnType<typeof fork>,
  name: string,
): { ready: Promise<First>; ask: <T>(order: Asked) => Promise<T> } {
  const answer = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      const died = (code: number | null): void =>
        reject(new Error(`the process of ${name} ended (${code ?? 'by a signal'})`))
      child.once('exit', died)
      child.once('message', (message) => {
        child.off('exit', died)
        resolve(message as T)
      })
    })
  return {
    ready: answer<First>(),
    ask(order) {
      const answered = answer<never>()
      child.send(order as object)
      return answered
    },
  }
}

export type Cost = {
  perSecond: number
  p50Ms: number
  p99Ms: number
  cpuUs: number
  commits: number | null
  done: number
}

/** Runs a load against a server and measures the cost of each request. */
export async function measureCost(rival: Rival, load: () => Promise<Loaded>): Promise<Cost> {
  const before = await rival.usage()
  const { perSecond, p50Ms, p99Ms, done } = await load()
  const after = await rival.usage()
  return {
    perSecond,
    p50Ms,
    p99Ms,
    done,
    cpuUs: (after.cpuUs - before.cpuUs) / done,
    commits:
      after.commits === null || before.commits === null ? null : (after.commits - before.commits) / done,
  }
}
