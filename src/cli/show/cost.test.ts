import { expect, test } from 'vitest'
import { describeCost } from './cost.ts'

test('money stands beside tokens, with what a plan covers and what has no price', () => {
  expect(describeCost({ usd: 0.0123, planUsd: 0, unpricedTokens: 0 })).toBe(', $0.012')
  expect(describeCost({ usd: 0.5, planUsd: 0.5, unpricedTokens: 0 })).toBe(', $0.500 on a plan')
  expect(describeCost({ usd: 0.5, planUsd: 0.2, unpricedTokens: 7 })).toBe(
    ', $0.500, $0.200 of it on a plan and 7 unpriced tokens',
  )
})

test('what has no price is not shown as 0 dollars', () => {
  expect(describeCost({ usd: null, planUsd: 0, unpricedTokens: 40 })).toBe('')
})
