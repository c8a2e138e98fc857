import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { createAlarm } from './alarm.ts'

test('an alarm that breaks when it rings keeps none of the others from ringing, then or later', async () => {
  const wakes: (() => void)[] = []
  let now = 0
  const clock = {
    now: () => now,
    elapsed: () => now,
    sleep: () => new Promise<void>((resolve) => wakes.push(resolve)),
  }
  const faults: unknown[] = []
  const rung: string[] = []
  const alarm = createAlarm(clock, true, (fault) => faults.push(fault))
  alarm.after(10, () => {
    throw new Error('broken')
  })
  alarm.after(10, () => rung.push('second'))
  alarm.after(20, () => rung.push('third'))
  for (const at of [10, 20]) {
    now = at
    wakes.splice(0).forEach((wake) => wake())
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(rung).toEqual(['second', 'third'])
  expect(faults).toHaveLength(1)
  alarm.stop()
})

test('a deadline that was cancelled and came due takes none of those along that are set later', async () => {
  const clock = virtualClock()
  const rung: string[] = []
  const alarm = createAlarm(clock)
  const ring = (name: string) => () => void rung.push(name)
  const pass = async (): Promise<void> => {
    clock.tick()
    await new Promise((resolve) => setImmediate(resolve))
  }
  alarm.after(10, ring('first'))
  alarm.after(10, ring('never'))()
  await pass()
  const cancel = alarm.after(10, ring('never'))
  alarm.after(20, ring('second'))
  cancel()
  for (let n = 0; n < 2; n += 1) await pass()
  expect(rung).toEqual(['first', 'second'])
  alarm.stop()
})
