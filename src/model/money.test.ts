import { expect, test } from 'vitest'
import {
  addSpent,
  Cost,
  formatUsd,
  nanoPerUsd,
  nothingSpent,
  PricedBy,
  readSpent,
  recalledSpent,
  recordSpent,
  renderCost,
  toNanoUsd,
  toUsd,
} from './money.ts'

const table = (nanoUsd: number) => ({ nanoUsd, by: 'table' as const })

test('what has a price is counted, what has none is unpriced and never 0 dollars', () => {
  const priced = readSpent({ input: 10, output: 5, cost: table(7) })
  const unpriced = readSpent({ input: 3, output: 4 })
  expect(priced).toEqual({ nanoUsd: 7, plan: 0, unpriced: 0 })
  expect(unpriced).toEqual({ nanoUsd: 0, plan: 0, unpriced: 7 })
  expect(addSpent(priced, unpriced)).toEqual({ nanoUsd: 7, plan: 0, unpriced: 7 })
  expect(readSpent(null)).toEqual(nothingSpent)
})

test('what a plan covers is marked, and counts as what it would have cost', () => {
  expect(readSpent({ input: 1, output: 1, cost: { ...table(9), plan: true } })).toEqual({
    nanoUsd: 9,
    plan: 9,
    unpriced: 0,
  })
})

test('an end without a price records none, and is read as unpriced', () => {
  expect(recordSpent({ nanoUsd: 0, plan: 0, unpriced: 12 })).toEqual({})
  expect(recordSpent(undefined)).toEqual({})
  expect(recalledSpent(undefined, 12)).toEqual({ nanoUsd: 0, plan: 0, unpriced: 12 })
  expect(recalledSpent({ nanoUsd: 4, plan: 0, unpriced: 2 }, 12).unpriced).toBe(2)
})

test('dollars become billionths, and what is no amount becomes nothing', () => {
  expect(toNanoUsd(0.0033)).toBe(3_300_000)
  expect(toNanoUsd(1.8022500000000001)).toBe(1_802_250_000)
  for (const wrong of [Number.NaN, -1, Infinity, 1e9]) expect(toNanoUsd(wrong)).toBeNull()
})

test('people read cents, and small amounts with the digits that say something', () => {
  expect([0, 12_345_000_000, 45_600_000, 3_300_000, 1234, 1].map(formatUsd)).toEqual([
    '$0',
    '$12.35',
    '$0.046',
    '$0.0033',
    '$0.0000012',
    '$0.000000001',
  ])
})

test('a dollar is a billion, and so many of them are counted exactly', () => {
  expect(nanoPerUsd).toBe(1_000_000_000)
  expect(toNanoUsd(0)).toBe(0)
  expect(toNanoUsd(Number.MAX_SAFE_INTEGER / 1e9)).toBe(Number.MAX_SAFE_INTEGER)
  expect(toNanoUsd(9_007_200)).toBeNull()
  expect(toUsd(1_500_000_000)).toBe(1.5)
})

test('sums are made field by field', () => {
  expect(addSpent({ nanoUsd: 1, plan: 20, unpriced: 300 }, { nanoUsd: 4, plan: 50, unpriced: 600 })).toEqual({
    nanoUsd: 5,
    plan: 70,
    unpriced: 900,
  })
  expect(recordSpent({ nanoUsd: 1, plan: 0, unpriced: 2 })).toEqual({
    spent: { nanoUsd: 1, plan: 0, unpriced: 2 },
  })
  expect(nothingSpent).toEqual({ nanoUsd: 0, plan: 0, unpriced: 0 })
})

test('what is shown of a cost: no dollars only where nothing has a price', () => {
  const shown = (nanoUsd: number, plan: number, unpriced: number) => renderCost({ nanoUsd, plan, unpriced })
  expect(shown(2_000_000_000, 500_000_000, 7)).toEqual({ usd: 2, planUsd: 0.5, unpricedTokens: 7 })
  expect(shown(0, 0, 7)).toEqual({ usd: null, planUsd: 0, unpricedTokens: 7 })
  expect(shown(0, 0, 0)).toEqual({ usd: 0, planUsd: 0, unpricedTokens: 0 })
})

test('people read two digits from a dollar on, three from a cent on', () => {
  expect([1_000_000_000, 999_000_000, 10_000_000, 9_900_000].map(formatUsd)).toEqual([
    '$1.00',
    '$0.999',
    '$0.010',
    '$0.0099',
  ])
})

test('a price comes from one of these, and only a plan is marked', () => {
  expect(PricedBy.options).toEqual(['reported', 'configuration', 'table'])
  expect(Cost.safeParse({ nanoUsd: 1, by: 'table', plan: true }).success).toBe(true)
  expect(Cost.safeParse({ nanoUsd: 1, by: 'table', plan: false }).success).toBe(false)
  expect(Cost.safeParse({ nanoUsd: -1, by: 'table' }).success).toBe(false)
})
