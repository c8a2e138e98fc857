/**
 * R7 in money: a turn spends what it was granted and no more, and what it hands on comes out of that. Reserved like
 * tokens: held until the callee has stopped, then given back but for what was spent.
 */
import type { TurnRow } from './facts.ts'
import { toNanoUsd } from './money.ts'
import type { Refusal } from './refusal.ts'

type Spender = Pick<TurnRow, 'spent' | 'nanoUsdBelow'> & { grant: { nanoUsdMax?: number | undefined } }

/** Null without a budget. */
export const moneyLeft = ({ grant, spent, nanoUsdBelow }: Spender): number | null =>
  grant.nanoUsdMax === undefined ? null : Math.max(0, grant.nanoUsdMax - spent.nanoUsd - nanoUsdBelow)

/** The least of those that are given, in dollars; null where none is. */
export function leastMoney(...limits: readonly (number | undefined)[]): number | null {
  const given = limits.flatMap((usd) => (usd === undefined ? [] : (toNanoUsd(usd) ?? [])))
  return given.length === 0 ? null : Math.min(...given)
}

/**
 * What a callee may spend: what was asked for within what is left, and otherwise half of what is left, so that
 * siblings can run too. `isAlone`: it has none, and may spend all of it. Nothing is refused here for being little:
 * what a request will cost is not known yet.
 */
export function reserveMoney(turn: Spender, wanted: number | null, isAlone = false): MoneyGrant | Refusal {
  const left = moneyLeft(turn)
  const max = turn.grant.nanoUsdMax ?? 0
  if (wanted === 0) return refuseMoney(0, 0)
  if (left === null) return grantMoney(wanted)
  const share = isAlone ? left : Math.ceil(left / 2)
  return left === 0 ? refuseMoney(max, max) : grantMoney(Math.min(left, wanted ?? share))
}

/** A part of a grant. */
type MoneyGrant = { nanoUsdMax?: number }
export const grantMoney = (nanoUsdMax: number | null): MoneyGrant =>
  nanoUsdMax === null ? {} : { nanoUsdMax }

export const refuseMoney = (max: number, used: number): Refusal => ({
  code: 'budget_exhausted',
  needed: 1,
  left: 0,
  usd: { max, used },
})

/** From four fifths on an agent is warned. */
export const isNearlySpent = (max: number, left: number): boolean => (max - left) * 5 >= max * 4
