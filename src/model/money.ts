/**
 * Money, in billionths of a US dollar: whole numbers, so that sums, budgets and what is given back are exact.
 * Each request has its own price when it is recorded; nothing is priced again later.
 */
import { z } from 'zod'

const count = z.number().int().min(0)

export const nanoPerUsd = 1_000_000_000

/** Where a price comes from: the agent or provider said it, the configuration has it, or the table does. */
export const PricedBy = z.enum(['reported', 'configuration', 'table'])
export type PricedBy = z.infer<typeof PricedBy>

/** What one request costs. `plan`: a plan covers it, and this is what it would have cost. */
export const Cost = z.strictObject({ nanoUsd: count, by: PricedBy, plan: z.literal(true).optional() })
export type Cost = z.infer<typeof Cost>

/** What several requests cost. `plan` is the part that a plan covers; `unpriced` are tokens without a price. */
export const Spent = z.strictObject({ nanoUsd: count, plan: count, unpriced: count })
export type Spent = z.infer<typeof Spent>

export const nothingSpent: Spent = { nanoUsd: 0, plan: 0, unpriced: 0 }

type Used = { input: number; output: number; cost?: Cost | undefined }

export function readSpent(usage: Used | null): Spent {
  if (usage === null) return nothingSpent
  if (usage.cost === undefined) return { nanoUsd: 0, plan: 0, unpriced: usage.input + usage.output }
  const { nanoUsd, plan } = usage.cost
  return { nanoUsd, plan: plan === true ? nanoUsd : 0, unpriced: 0 }
}

export const addSpent = (a: Spent, b: Spent): Spent => ({
  nanoUsd: a.nanoUsd + b.nanoUsd,
  plan: a.plan + b.plan,
  unpriced: a.unpriced + b.unpriced,
})

/** As an end records it: left out where nothing has a price, and then all of its tokens are unpriced. */
export const recordSpent = (spent: Spent | undefined): { spent?: Spent } =>
  spent === undefined || spent.nanoUsd === 0 ? {} : { spent }

export const recalledSpent = (spent: Spent | undefined, tokens: number): Spent =>
  spent ?? { nanoUsd: 0, plan: 0, unpriced: tokens }

/** Rounded to a billionth: less than what any table tells apart. Null for what is no amount of money. */
export const toNanoUsd = (usd: number): number | null =>
  Number.isFinite(usd) && usd >= 0 && usd * nanoPerUsd <= Number.MAX_SAFE_INTEGER
    ? Math.round(usd * nanoPerUsd)
    : null

export const toUsd = (nanoUsd: number): number => nanoUsd / nanoPerUsd

/** What has no price is unpriced, and never 0 dollars. */
export const renderCost = ({ nanoUsd, plan, unpriced }: Spent) => ({
  usd: nanoUsd === 0 && unpriced > 0 ? null : toUsd(nanoUsd),
  planUsd: toUsd(plan),
  unpricedTokens: unpriced,
})

/** For people: cents where there are any, and otherwise as many digits as say something. */
export function formatUsd(nanoUsd: number): string {
  const usd = toUsd(nanoUsd)
  if (usd === 0) return '$0'
  if (usd >= 1) return `$${usd.toFixed(2)}`
  return `$${usd >= 0.01 ? usd.toFixed(3) : usd.toFixed(Math.min(9, 1 - Math.floor(Math.log10(usd))))}`
}
