/** R7: what a turn may still spend, in tokens and in money, of its own budget and of the day's. */
import { dayLeft, nameBudget } from '../../model/day-budget.ts'
import { formatUsd } from '../../model/money.ts'
import { leastMoney, moneyLeft } from '../../model/money-budget.ts'
import { holdOfDay, lookAtDay, readDayBudget } from '../kernel/day-spending.ts'
import { BudgetExhausted } from '../kernel/faults.ts'
import type { MoneyLeft } from '../kernel/prices-port.ts'
import type { Running } from '../kernel/running.ts'
import type { Runtime } from './runtime.ts'

export function tokensLeft(running: Running): number | null {
  const max = running.row.grant.tokensMax
  return max === null ? null : Math.max(0, max - running.tokensUsed - running.tokensTaken)
}

/** Of the budgets that there are, the one that is used up first. */
export function readMoney(runtime: Runtime, running: Running): MoneyLeft | null {
  const { session, spent, nanoUsdTaken } = running
  const max = readMax(running)
  const left = moneyLeft({ grant: { nanoUsdMax: max }, spent, nanoUsdBelow: nanoUsdTaken })
  const own: MoneyLeft | null = left === null ? null : { left, max: max ?? 0, of: 'task' }
  const day = readDayBudget(runtime, session.cwd)
  if (day === null || (own !== null && own.left <= dayLeft(day))) return own
  return { left: dayLeft(day), max: day.max, of: day.of }
}

/** An agent that took the place of another is held to its own limit too. */
function readMax({ row, agent, moved }: Running): number | undefined {
  const own = moved === null ? null : leastMoney(agent.limits.maxUsd)
  const granted = row.grant.nanoUsdMax
  return own === null ? granted : Math.min(own, granted ?? own)
}

/** What the request under way may cost of the day's budget, until its step has ended. */
export function holdMoney(runtime: Runtime, running: Running, nanoUsd: number): void {
  running.release?.()
  running.release = holdOfDay(runtime, running.session.cwd, nanoUsd)
}

/** What calls below hold or have used stands in the row; only turns with a budget need to look. Null: no need. */
export function lookAtBudget(runtime: Runtime, running: Running): Promise<void> | null {
  const looking = lookAtDay(runtime, running.session.cwd)
  const { tokensMax, nanoUsdMax } = running.row.grant
  if (tokensMax === null && nanoUsdMax === undefined) return looking
  return lookBelow(runtime, running, looking)
}

async function lookBelow(runtime: Runtime, running: Running, day: Promise<void> | null): Promise<void> {
  await day
  const row = await runtime.store.turn(running.row.id)
  if (row === null) return
  running.tokensTaken = row.tokensBelow
  running.nanoUsdTaken = row.nanoUsdBelow
}

/** Throws where nothing is left. */
export function assertBudget(runtime: Runtime, running: Running): void {
  if (tokensLeft(running) === 0) throw new BudgetExhausted(describeTokens(running))
  const money = readMoney(runtime, running)
  if (money?.left === 0) throw new BudgetExhausted(describeMoney(runtime, running, money))
}

function describeTokens({ row, tokensUsed, tokensTaken }: Running): string {
  const below = tokensTaken === 0 ? '' : `, ${tokensTaken} are used or held by calls below`
  return `the budget of ${row.grant.tokensMax ?? 0} tokens is used up: ${tokensUsed} are used here${below}`
}

function describeMoney(
  runtime: Runtime,
  { session, spent, nanoUsdTaken }: Running,
  money: MoneyLeft,
): string {
  const { max, of } = money
  if (of !== 'task') {
    const used = formatUsd(readDayBudget(runtime, session.cwd)?.used ?? max)
    return `${nameBudget({ of, max })} is used up: ${used} is spent or being spent today (UTC)`
  }
  const below = nanoUsdTaken === 0 ? '' : `, ${formatUsd(nanoUsdTaken)} is spent or held by calls below`
  return `the budget of ${formatUsd(max)} is used up: ${formatUsd(spent.nanoUsd)} is spent here${below}`
}
