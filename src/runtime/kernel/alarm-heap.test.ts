/** Many deadlines: each rings once, in order, unless it was cancelled. */
import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { createAlarm } from './alarm.ts'
import {
  deadlineNow,
  forgetPast,
  keepOnly,
  keepTime,
  msLeft,
  overHere,
  stillRuns,
  type KeptTime,
} from './kept-time.ts'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function ringAll(clock: ReturnType<typeof virtualClock>): Promise<void> {
  do await settle()
  while (clock.tick())
  await settle()
}

test('moments ring in their order, whatever the order in which they were set', async () => {
  const clock = virtualClock(0)
  const alarm = createAlarm(clock)
  const rung: number[] = []
  const moments = [50, 10, 40, 30, 20, 60, 5, 35, 25, 45, 15, 55]
  for (const ms of moments) alarm.after(ms, () => rung.push(ms))
  await ringAll(clock)
  expect(rung).toEqual(moments.toSorted((a, b) => a - b))
})

test('each rings at its own moment, also one that is set later than a later one, and none after a stop', async () => {
  const clock = virtualClock(0)
  const alarm = createAlarm(clock)
  const rung: [number, number][] = []
  const moments = [9, 4, 1, 7, 2, 8, 3, 6, 5]
  for (const ms of moments) alarm.after(ms, () => rung.push([ms, clock.elapsed()]))
  await ringAll(clock)
  expect(rung).toEqual(moments.toSorted((a, b) => a - b).map((ms) => [ms, ms]))
  alarm.after(10, () => rung.push([10, clock.elapsed()]))
  alarm.stop()
  await ringAll(clock)
  expect(rung).toHaveLength(moments.length)
})

test('a cancelled alarm never rings, also among a thousand of which most are cancelled', async () => {
  const clock = virtualClock(0)
  const alarm = createAlarm(clock)
  const rung: number[] = []
  const offs = Array.from({ length: 1000 }, (_, ms) => alarm.after(ms, () => rung.push(ms)))
  offs.forEach((off, ms) => {
    if (ms % 100 !== 7) off()
    // A second time it changes nothing.
    if (ms % 3 === 0 && ms % 100 !== 7) off()
  })
  await ringAll(clock)
  expect(rung).toEqual([7, 107, 207, 307, 407, 507, 607, 707, 807, 907])
})

test('when nobody waits any more, the clock is given back', async () => {
  const clock = virtualClock(0)
  const alarm = createAlarm(clock)
  const offs = [10, 20, 30].map((ms) => alarm.after(ms, () => undefined))
  for (const off of offs) off()
  await settle()
  expect(clock.tick()).toBe(false)
})

test('a limit that is kept stays as it is when it is taken over again after the clock was set', () => {
  const clock = virtualClock(1_000_000)
  const kept: KeptTime = new Map()
  const keeper = { clock, kept }
  keepTime(keeper, 'call_a', clock.now() + 5000)
  clock.jump(-3_600_000)
  keepTime(keeper, 'call_a', 1_005_000)
  expect(msLeft(keeper, 'call_a', 1_005_000)).toBe(5000)
  // Another one of the same, which may not come to the log.
  const later = clock.now() + 7000
  keepTime(keeper, 'call_a', later)
  keepTime(keeper, 'call_a', later + 1)
  expect([1_005_000, later + 1].map((deadline) => msLeft(keeper, 'call_a', deadline))).toEqual([5000, 7001])
  clock.jump(1_800_000)
  keepOnly(keeper, 'call_a', later + 1)
  clock.jump(1_800_000)
  expect(msLeft(keeper, 'call_a', later + 1)).toBe(7001)
  expect(msLeft(keeper, 'call_a', 1_005_000)).toBe(5000)
  expect([stillRuns(keeper, 'call_a'), stillRuns(keeper, 'call_b')]).toEqual([true, false])
  forgetPast(keeper, -7002)
  expect(kept.size).toBe(0)
})

test('what is over although the wall clock was set back is found; what the wall clock ends too is not', () => {
  const clock = virtualClock(1_000_000)
  const keeper = { clock, kept: new Map() as KeptTime }
  keepTime(keeper, 'call_a', clock.now() + 5000)
  keepTime(keeper, 'call_b', clock.now() + 9000)
  void clock.sleep(5000)
  clock.tick()
  expect(overHere(keeper)).toEqual([])
  clock.jump(-3_600_000)
  expect(overHere(keeper)).toEqual([{ id: 'call_a', deadline: 1_005_000 }])
})

test('a deadline is read as if the clock had not been set, but for the difference of two looks', () => {
  const clock = virtualClock(1_000_000)
  const keeper = { clock, kept: new Map() as KeptTime }
  keepTime(keeper, 'call_a', 1_005_000)
  clock.jump(19)
  expect(deadlineNow(keeper, 'call_a', 1_005_000)).toBe(1_005_000)
  clock.jump(3_600_000 - 19)
  expect(deadlineNow(keeper, 'call_a', 1_005_000)).toBe(4_605_000)
  expect(deadlineNow(keeper, 'call_b', 1_005_000)).toBe(1_005_000)
})
