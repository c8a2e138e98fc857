import { expect, test } from 'vitest'
import {
  addSpent,
  formatUsd,
  nothingSpent,
  readSpent,
  recalledSpent,
  recordSpent,
  toNanoUsd,
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
