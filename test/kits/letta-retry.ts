/** A Letta server per test, a gate for its agents, and a clock that is moved by hand. */
import { afterEach } from 'vitest'
import type { AgentOptions } from '../../src/index.ts'
import type { Clock } from '../../src/runtime/kernel/ports.ts'
import { lettaServer, type Answered, type LettaServer, type LettaServerOptions } from './letta.ts'

export const garbage: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const clean of garbage.splice(0).reverse()) await clean()
})

export async function start(options: LettaServerOptions = {}): Promise<LettaServer> {
  const server = await lettaServer(options)
  garbage.push(() => server.close())
  return server
}

/** An agent that answers when it is told to, and says how often and how it was run. */
export function gate() {
  const runs: { signal: AbortSignal; open: () => void }[] = []
  let started = (): void => undefined
  const agent: AgentOptions = {
    script: (turn) =>
      new Promise((resolve) => {
        runs.push({ signal: turn.signal, open: () => resolve(`answer ${runs.length} to ${turn.task}`) })
        started()
      }),
  }
  const running = (count: number): Promise<void> =>
    new Promise((resolve) => {
      started = () => void (runs.length >= count && resolve())
      started()
    })
  return { agent, runs, running }
}

/** Time that passes by hand: sleeps are told apart by their length. */
export function handClock(): Clock & { sleeping(ms: number): number; wake(ms: number): void } {
  const sleepers = new Set<{ ms: number; wake: () => void }>()
  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { ms, wake: resolve }
        if (signal?.aborted === true) return reject(signal.reason)
        sleepers.add(sleeper)
        signal?.addEventListener(
          'abort',
          () => {
            sleepers.delete(sleeper)
            reject(signal.reason)
          },
          { once: true },
        )
      }),
    sleeping: (ms) => [...sleepers].filter((sleeper) => sleeper.ms === ms).length,
    wake(ms) {
      for (const sleeper of sleepers) if (sleeper.ms === ms && sleepers.delete(sleeper)) sleeper.wake()
    },
  }
}

/** Until something that happens on its own has happened. */
export async function until(happened: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await happened())) await new Promise<void>((resolve) => setTimeout(resolve, 5))
}

export const readText = ({ messages }: Answered): string | undefined => messages.at(-1)?.content

export const readBody = async (response: Promise<Response>): Promise<Answered> =>
  (await (await response).json()) as Answered
