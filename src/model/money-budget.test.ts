import fc from 'fast-check'
import { expect, test } from 'vitest'
import { turnRow } from '../../test/kits/calls.ts'
import {
  grantMoney,
  isNearlySpent,
  leastMoney,
  moneyLeft,
  refuseMoney,
  reserveMoney,
} from './money-budget.ts'
import { explain, isRefusal } from './refusal.ts'

const turn = (max: number | null, nanoUsd = 0, nanoUsdBelow = 0) => {
  const row = turnRow({ spent: { nanoUsd, plan: 0, unpriced: 0 }, nanoUsdBelow })
  return max === null ? row : { ...row, grant: { ...row.grant, nanoUsdMax: max } }
}

test('without a budget money is not limited, but by what was asked for', () => {
  expect(moneyLeft(turn(null))).toBeNull()
  expect(reserveMoney(turn(null), null)).toEqual({})
  expect(reserveMoney(turn(null), 70)).toEqual({ nanoUsdMax: 70 })
})

test('R7: what is reserved is what was asked for, or half, and never more than is left', () => {
  expect(reserveMoney(turn(100, 20, 30), 40)).toEqual({ nanoUsdMax: 40 })
  expect(reserveMoney(turn(100, 20, 30), 90)).toEqual({ nanoUsdMax: 50 })
  expect(reserveMoney(turn(100, 20, 30), null)).toEqual({ nanoUsdMax: 25 })
  const amount = fc.nat({ max: 1_000_000 })
  fc.assert(
    fc.property(amount, amount, amount, fc.option(amount), (max, spent, below, wanted) => {
      const given = reserveMoney(turn(max, spent, below), wanted)
      const left = max - spent - below
      return isRefusal(given) ? wanted === 0 || left <= 0 : (given.nanoUsdMax ?? Infinity) <= left
    }),
  )
})

test('zero means zero, and a budget that is used up is refused with its numbers', () => {
  expect(reserveMoney(turn(null), 0)).toEqual(refuseMoney(0, 0))
  const refused = reserveMoney(turn(500_000_000, 400_000_000, 150_000_000), null)
  expect(isRefusal(refused) ? explain(refused) : '').toBe(
    'Of the budget of $0.500, $0.500 is spent or held by calls, and nothing is left. Finish with what you have.',
  )
})

test('the least of several limits counts', () => {
  expect(leastMoney(undefined, undefined)).toBeNull()
  expect(leastMoney(2, undefined, 0.5)).toBe(500_000_000)
})

test('an agent is warned from four fifths on', () => {
  expect([79, 80, 100].map((spent) => isNearlySpent(100, 100 - spent))).toEqual([false, true, true])
})

test('what is left is what was granted without what was spent here and below, and never below zero', () => {
  expect(moneyLeft(turn(100, 20, 30))).toBe(50)
  expect(moneyLeft(turn(100, 80, 30))).toBe(0)
  expect(moneyLeft(turn(0))).toBe(0)
})

test('a grant without a limit has no field for it, and a refusal has its numbers', () => {
  expect(grantMoney(null)).toEqual({})
  expect(grantMoney(0)).toEqual({ nanoUsdMax: 0 })
  expect(refuseMoney(5, 4)).toEqual({
    code: 'budget_exhausted',
    needed: 1,
    left: 0,
    usd: { max: 5, used: 4 },
  })
  expect(reserveMoney(turn(101), null)).toEqual({ nanoUsdMax: 51 })
  expect(reserveMoney(turn(100, 100), 7)).toEqual(refuseMoney(100, 100))
  expect(reserveMoney(turn(100), 0)).toEqual(refuseMoney(0, 0))
  expect(leastMoney(Number.NaN, 3)).toBe(3_000_000_000)
  expect(leastMoney(0, 3)).toBe(0)
})
