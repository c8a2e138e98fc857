import { expect, test } from 'vitest'
import { systemClock } from './system-clock.ts'

test('a sleep lasts at least as long as asked', async () => {
  const start = performance.now()
  await systemClock.sleep(15)
  expect(performance.now() - start).toBeGreaterThanOrEqual(15)
})

test('a sleep rejects with the reason of its signal as soon as it aborts', async () => {
  const stop = new AbortController()
  const reason = new Error('no longer needed')
  const sleeping = systemClock.sleep(60_000, stop.signal)
  stop.abort(reason)
  await expect(sleeping).rejects.toBe(reason)
})

test('a sleep whose signal has aborted already rejects with its reason and leaves no timer', async () => {
  const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  await expect(systemClock.sleep(60_000, AbortSignal.abort('stopped'))).rejects.toBe('stopped')
  expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length).toBeLessThanOrEqual(before)
})

test('a sleep that does not fit into one timer does not end at once', async () => {
  const stop = new AbortController()
  let ended = false
  const sleeping = systemClock.sleep(2 ** 40, stop.signal).then(() => (ended = true), () => 'aborted')
  await systemClock.sleep(10)
  expect(ended).toBe(false)
  stop.abort()
  expect(await sleeping).toBe('aborted')
})

test('now is the time of the machine', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000)
})
