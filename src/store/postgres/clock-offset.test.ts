import { expect, test } from 'vitest'
import { adjustOffset } from './clock-offset.ts'

const hour = 3_600_000

test('a clock that is an hour off is set as exactly as the answer was quick', () => {
  expect(adjustOffset(0, { at: hour + 1005, sent: 1000, received: 1010 })).toBe(hour - 5)
  expect(adjustOffset(0, { at: -hour + 1005, sent: 1000, received: 1010 })).toBe(-hour + 5)
})

test('an answer that comes late, to a process that was stopped, changes nothing that may be true', () => {
  expect(adjustOffset(40, { at: 1045, sent: 1000, received: 9000 })).toBe(40)
})

test('a clock that was set meanwhile is found out by the next answer', () => {
  const offset = adjustOffset(40, { at: 2045, sent: 17_000, received: 17_010 })
  expect(17_005 + offset).toBeGreaterThanOrEqual(2040)
  expect(17_005 + offset).toBeLessThanOrEqual(2050)
})

test('a clock that is set back while the question is under way gives bounds that are not crossed', () => {
  expect(adjustOffset(0, { at: 5000, sent: 9000, received: 4000 })).toBe(1000)
})
