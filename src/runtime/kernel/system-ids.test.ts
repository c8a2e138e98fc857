import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemIds } from './system-ids.ts'

test('ids are 21 digits and start with the second', () => {
  expect(systemIds(() => 0).next()).toMatch(/^0{9}\d{12}$/)
  expect(systemIds(() => 1_794_783_314_404).next()).toMatch(/^216946514\d{12}$/)
})

test('ids grow strictly, whatever the clock does', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 2_500_000_000_000 }), { minLength: 2, maxLength: 50 }),
      (times) => {
        let at = 0
        const ids = systemIds(() => times[at] ?? 0)
        const made: string[] = []
        for (at = 0; at < times.length; at += 1) made.push(ids.next(), ids.next())
        expect(made).toEqual([...new Set(made)].sort())
      },
    ),
  )
})

test('ids of one second are neighbours', () => {
  const ids = systemIds(() => 1_700_000_000_000)
  const made = Array.from({ length: 10_000 }, () => ids.next())
  expect(new Set(made.map((id) => id.slice(0, 9))).size).toBe(1)
  expect(BigInt(made.at(-1) ?? 0) - BigInt(made[0] ?? 0)).toBe(9999n)
})

test('two sources do not give the same ids', () => {
  const now = (): number => 5
  expect(systemIds(now).next()).not.toBe(systemIds(now).next())
})
