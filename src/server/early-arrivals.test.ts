import { expect, test } from 'vitest'
import { earlyArrivals } from './early-arrivals.ts'
import { nextRound } from '../runtime/kernel/next-round.ts'

const rethrow = (fault: unknown): never => {
  throw fault
}

/** A clock whose sleepers are woken by hand. */
function stillClock() {
  const sleepers = new Set<() => void>()
  return {
    sleeping: () => sleepers.size,
    wake: () => sleepers.forEach((resolve) => resolve()),
    sleep: (_ms: number, signal?: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        sleepers.add(resolve)
        signal?.addEventListener('abort', () => {
          sleepers.delete(resolve)
          reject(signal.reason as Error)
        })
      }),
  }
}

function hold(countMax: number) {
  const clock = stillClock()
  const seen: string[] = []
  const arrivals = earlyArrivals(clock, { countMax, msMax: 1000, broke: rethrow })
  const come = (name: string): (() => void) =>
    arrivals.hold({
      pass: () => void seen.push(`${name} passes`),
      decline: ({ status }) => void seen.push(`${name} is told ${status}`),
    })
  return { clock, seen, arrivals, come }
}

test('who waits is passed on in order, once, and who has left is forgotten', async () => {
  const { clock, seen, arrivals, come } = hold(10)
  come('a')
  const leave = come('b')
  come('c')
  leave()
  expect(seen).toEqual([])
  arrivals.passAll()
  arrivals.passAll()
  expect(seen).toEqual(['a passes', 'c passes'])
  await nextRound()
  expect(clock.sleeping()).toBe(0)
})

test('so many wait at most', () => {
  const { seen, arrivals, come } = hold(2)
  const leave = come('a')
  come('b')
  come('c')
  leave()
  come('d')
  arrivals.passAll()
  expect(seen).toEqual(['c is told 503', 'b passes', 'd passes'])
})

test('and so long', async () => {
  const { clock, seen, arrivals, come } = hold(2)
  come('a')
  clock.wake()
  await nextRound()
  arrivals.passAll()
  expect(seen).toEqual(['a is told 503'])
})

test('nobody waits for a server that stops', () => {
  const { seen, arrivals, come } = hold(2)
  come('a')
  arrivals.declineAll()
  come('b')
  expect(seen).toEqual(['a is told 503', 'b is told 503'])
})
