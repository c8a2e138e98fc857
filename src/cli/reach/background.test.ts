import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { untilIdle } from './background.ts'

const minute = 60_000

/** Lets the time pass until it ends, and says after how many minutes it did. */
async function minutesUntilIdle(idleMs: (elapsed: number) => number, running: (elapsed: number) => number) {
  const clock = virtualClock()
  const start = clock.elapsed()
  const passed = (): number => clock.elapsed() - start
  const server = { idleMs: () => idleMs(passed()), line: { running: () => running(passed()) } }
  let isOver = false
  const over = untilIdle(server, new AbortController().signal, { clock }).then(() => (isOver = true))
  for (let ticks = 0; !isOver && ticks < 1000; ticks += 1) {
    clock.tick()
    for (let turns = 0; turns < 5; turns += 1) await Promise.resolve()
  }
  await over
  return passed() / minute
}

test('a server in the background ends after 30 minutes in which nobody asked', async () => {
  expect(
    await minutesUntilIdle(
      (at) => at,
      () => 0,
    ),
  ).toBe(30)
})

test('whoever asks, or is connected, keeps it', async () => {
  const askedAt = 20 * minute
  expect(
    await minutesUntilIdle(
      (at) => (at < askedAt ? at : at - askedAt),
      () => 0,
    ),
  ).toBe(50)
})

test('a turn that runs keeps it, and so does the half hour after it', async () => {
  const minutes = await minutesUntilIdle(
    (at) => at,
    (at) => (at < 45 * minute ? 1 : 0),
  )
  expect(minutes).toBeGreaterThanOrEqual(74)
  expect(minutes).toBeLessThanOrEqual(75)
})
