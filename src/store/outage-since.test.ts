import { expect, test } from 'vitest'
import type { StoreHealth } from '../runtime/kernel/store-health.ts'
import { trackOutage } from './outage.ts'

test('a store that fails again and again says since when it has been away', () => {
  let now = 1000
  const told: StoreHealth[] = []
  const clocks = { now: () => now, elapsed: () => now }
  const outage = trackOutage(
    'log.db',
    clocks,
    (health) => told.push(health),
    () => ({ reason: `fault ${now}`, cure: 'Wait.', passes: true, freeBytes: null }),
  )
  for (; now <= 3000; now += 1000) outage.begin(new Error('broken'))
  expect(told.map((health) => 'since' in health && health.since)).toEqual([1000, 1000, 1000])
  outage.end()
  outage.begin(new Error('broken again'))
  expect(outage.health()).toMatchObject({ state: 'unavailable', since: now })
})
