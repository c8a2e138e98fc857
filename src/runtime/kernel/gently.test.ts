import { expect, test } from 'vitest'
import type { Clock } from './ports.ts'
import { letOthersIn, mapGently } from './gently.ts'

/** A clock that passes so much with each look at it. */
function passing(ms: number): { clock: Clock } {
  let at = 0
  return {
    clock: { now: () => at, elapsed: () => (at += ms), sleep: () => Promise.reject(new Error('no sleep')) },
  }
}

/** How many rounds of the event loop `work` took. */
async function countRounds(work: () => Promise<unknown>): Promise<number> {
  let rounds = 0
  let over = false
  const turn = (): void => {
    if (over) return
    rounds += 1
    setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  over = true
  return rounds
}

const items = Array.from({ length: 20 }, (_, index) => index)

test('long work lets others in between its items, and keeps their order', async () => {
  const made: number[][] = []
  const rounds = await countRounds(async () =>
    made.push(await mapGently(passing(5), items, async (item) => item * 2)),
  )
  expect(made).toEqual([items.map((item) => item * 2)])
  expect(rounds).toBeGreaterThan(3)
})

test('short work is done without a pause', async () => {
  expect(await countRounds(() => mapGently(passing(0), items, async (item) => item))).toBe(0)
})

test('others run after what took long, and not after what was short', async () => {
  expect(await countRounds(async () => letOthersIn(passing(8), 0))).toBeGreaterThan(0)
  expect(await countRounds(async () => letOthersIn(passing(7), 0))).toBe(0)
})
