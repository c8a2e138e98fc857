import { expect, test } from 'vitest'
import { systemClock, watchLoopLag } from './system-clock.ts'

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
  expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length).toBeLessThanOrEqual(
    before,
  )
})

test('a sleep that does not fit into one timer does not end at once, nor wake all the time', async () => {
  const warnings: string[] = []
  const warn = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', warn)
  const stop = new AbortController()
  let ended = false
  const sleeping = systemClock.sleep(2 ** 40, stop.signal).then(
    () => (ended = true),
    () => 'aborted',
  )
  await systemClock.sleep(10)
  expect(ended).toBe(false)
  stop.abort()
  expect(await sleeping).toBe('aborted')
  process.off('warning', warn)
  expect(warnings).not.toContain('TimeoutOverflowWarning')
})

test('now is the time of the machine', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000)
})

test('a blocked event loop is seen at the next look, and forgotten at the one after it', async () => {
  const lag = watchLoopLag(5)
  await systemClock.sleep(20)
  lag.look()
  await systemClock.sleep(20)
  for (const until = performance.now() + 120; performance.now() < until;);
  await systemClock.sleep(20)
  const blocked = lag.look()
  expect(blocked.max).toBeGreaterThan(60)
  expect(blocked.p99).toBeGreaterThan(0)
  expect(lag.look()).toEqual({ mean: 0, p99: 0, max: 0 })
  lag.stop()
})
