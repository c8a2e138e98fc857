/**
 * What a day may cost: `[limits] dayUsdMax`, for the server and for each project. A day is one in UTC, as the log
 * has it, so a restart forgets nothing. No call holds a share of it: each request is held to it on its own, with
 * those that are under way counted as what they are estimated to cost.
 */
import type { Millis } from './id.ts'
import { formatUsd } from './money.ts'
import type { Refusal } from './refusal.ts'

const dayMs = 86_400_000

/** Days since 1970. */
export const toDay = (at: Millis): number => Math.floor(at / dayMs)

/** What sessions of one directory have spent on a day, in billionths of a dollar. */
export type DayRow = { cwd: string; nanoUsd: number }

export type DayBudget = { of: 'server' | 'project'; max: number; used: number }

/** The one that is used up first. */
export const tightest = (budgets: readonly DayBudget[]): DayBudget | null =>
  budgets.reduce<DayBudget | null>(
    (least, budget) => (least === null || dayLeft(budget) < dayLeft(least) ? budget : least),
    null,
  )

export const dayLeft = ({ max, used }: Pick<DayBudget, 'max' | 'used'>): number => Math.max(0, max - used)

export const refuseDay = (budget: DayBudget | null): Refusal | null =>
  budget === null || dayLeft(budget) > 0
    ? null
    : {
        code: 'budget_exhausted',
        needed: 1,
        left: 0,
        usd: { max: budget.max, used: budget.used, day: budget.of },
      }

export const nameBudget = ({ of, max }: Pick<DayBudget, 'of' | 'max'>): string =>
  `the budget of ${formatUsd(max)} a day of this ${of}`
