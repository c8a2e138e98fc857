import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { forgetPast, keepTime, stillRuns, type KeptTime } from './kept-time.ts'

test('a turn with two limits is kept until both of them are past', async () => {
  const clock = virtualClock()
  const keeper = { clock, kept: new Map() as KeptTime }
  const id = 'turn_a'
  const begin = clock.now()
  for (const ms of [1000, 60_000]) keepTime(keeper, id, begin + ms)
  void clock.sleep(10_000)
  clock.tick()
  forgetPast(keeper, 5000)
  expect(stillRuns(keeper, id)).toBe(true)
  void clock.sleep(60_000)
  clock.tick()
  expect(stillRuns(keeper, id)).toBe(false)
  forgetPast(keeper, 5000)
  expect(keeper.kept.size).toBe(0)
})
