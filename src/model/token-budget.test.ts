import { expect, test } from 'vitest'
import { reserveTokens } from './token-budget.ts'

test('R7: a call holds half of what is left, at least its context, and never more than there is', () => {
  expect(reserveTokens(undefined, null, 1, false)).toBeNull()
  expect(reserveTokens(70, null, 1, false)).toBe(70)
  expect(reserveTokens(undefined, 1001, 1, false)).toBe(501)
  expect(reserveTokens(undefined, 150, 100, false)).toBe(100)
  expect(reserveTokens(5000, 1000, 1, false)).toBe(1000)
  expect(reserveTokens(undefined, -5, 1, false)).toBe(0)
})

test('R7: what has no siblings holds all that is left, unless it asked for less', () => {
  expect(reserveTokens(undefined, 1001, 1, true)).toBe(1001)
  expect(reserveTokens(300, 1001, 1, true)).toBe(300)
})
