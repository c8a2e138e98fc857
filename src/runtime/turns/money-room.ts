/** What a request may cost of what is left, and the word to an agent whose money is nearly spent. */
import { formatUsd } from '../../model/money.ts'
import { isNearlySpent } from '../../model/money-budget.ts'
import { BudgetExhausted } from '../kernel/faults.ts'
import type { Steps } from '../kernel/ports.ts'
import type { EstimateUsage } from './estimate-usage.ts'
import type { ModelRequest } from './loop.ts'

/** Constant, so that a provider's cache of the prompt is lost once only. It is no part of what a replay compares. */
export function withWarning(system: string, steps: Steps): string {
  const money = steps.moneyLeft?.() ?? null
  if (money === null || !isNearlySpent(money.max, money.left)) return system
  return (
    `${system}\n\nBudget: more than four fifths of the ${formatUsd(money.max)} for this task are spent or ` +
    'handed on. Finish soon, with what you have; without money left you are stopped.'
  )
}

const sampleTokens = 1000

/** R7 in money: a request that alone costs more than is left is not made, and its answer is as long as can be paid. */
export async function limitByMoney(
  steps: Steps,
  asked: ModelRequest,
  estimate: EstimateUsage,
  signal: AbortSignal,
): Promise<void> {
  const { price } = estimate
  const money = steps.moneyLeft?.() ?? null
  if (price === undefined || money === null) return
  const { left } = money
  await estimate.ahead(asked, '')
  signal.throwIfAborted()
  const { input } = estimate(asked, '', [])
  const priceOf = (output: number): number | undefined =>
    price({ input, output, estimated: true }).cost?.nanoUsd
  const [reading, writing] = [priceOf(0), priceOf(sampleTokens)]
  if (reading === undefined || writing === undefined) return
  if (reading >= left)
    throw new BudgetExhausted(
      `${formatUsd(left)} is left of the budget, and the next request alone costs ${formatUsd(reading)}`,
    )
  if (writing <= reading) return
  const room = Math.max(1, Math.floor(((left - reading) * sampleTokens) / (writing - reading)))
  asked.maxOutputTokens = Math.min(asked.maxOutputTokens ?? room, room)
}
