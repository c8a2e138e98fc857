/** The measure itself: it tells linear work from quadratic work, and sees a loop that stood still. */
import { expect, test } from 'vitest'
import { longestStall, superlinear } from './linear.ts'

const make = (size: number): number[] => Array.from({ length: size }, (_, index) => index)

test('linear work passes, quadratic work is found', () => {
  expect(superlinear(100_000, make, (input) => input.reduce((sum, value) => Math.hypot(sum, value), 0))).toBe(
    '',
  )
  const squared = (input: number[]): number =>
    input.reduce((sum, value) => sum + input.reduce((inner, other) => Math.hypot(inner, other - value), 0), 0)
  expect(superlinear(700, make, squared)).toContain('grows faster')
})

test('a loop that stood still is seen, one that went on is not', async () => {
  const busy = (ms: number): void => {
    const from = process.threadCpuUsage()
    for (
      let spent = process.threadCpuUsage(from);
      spent.user + spent.system < ms * 1000;
      spent = process.threadCpuUsage(from)
    )
      continue
  }
  const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  expect(await longestStall(async () => busy(120))).toBeGreaterThan(100)
  expect(
    await longestStall(async () => {
      await pause()
      busy(120)
      await pause()
    }),
  ).toBeGreaterThan(100)
  expect(
    await longestStall(async () => {
      for (let slice = 0; slice < 60; slice += 1) {
        busy(2)
        await pause()
      }
    }),
  ).toBeLessThan(30)
})
