/** What a request may use of what is left, and the word to an agent whose money is nearly spent. */
import { formatUsd } from '../../model/money.ts'
import { isNearlySpent } from '../../model/money-budget.ts'
import { BudgetExhausted } from '../kernel/faults.ts'
import type { Steps } from '../kernel/ports.ts'
import type { EstimateUsage } from './estimate-usage.ts'
import type { ModelRequest } from './loop.ts'

const names = {
  task: 'for this task',
  server: 'that the server may spend today',
  project: 'that this project may spend today',
}

/** Constant, so that a provider's cache of the prompt is lost once only. It is no part of what a replay compares. */
export function withWarning(system: string, steps: Pick<Steps, 'moneyLeft'>): string {
  const warning = warnOfMoney(steps)
  return warning === null ? system : `${system}\n\n${warning}`
}

/** From four fifths of a budget on; null before. */
export function warnOfMoney(steps: Pick<Steps, 'moneyLeft'>): string | null {
  const money = steps.moneyLeft?.() ?? null
  if (money === null || !isNearlySpent(money.max, money.left)) return null
  return (
    `Budget: more than four fifths of the ${formatUsd(money.max)} ${names[money.of]} are spent or ` +
    'handed on. Finish soon, with what you have; without money left you are stopped.'
  )
}

const sampleTokens = 1000
/** What an answer is taken to have, for what others may spend meanwhile. */
const answerTokens = 4000

/** R7 in money: a request that alone costs more than is left is not made, and its answer is as long as can be paid. */
export async function limitByMoney(
  steps: Steps,
  asked: ModelRequest,
  estimate: EstimateUsage,
  signal: AbortSignal,
): Promise<void> {
  const { price } = estimate
  if (price === undefined || !steps.moneyLeft?.()) return
  await estimate.ahead(asked, '')
  signal.throwIfAborted()
  const { input } = estimate(asked, '', [])
  const priceOf = (output: number): number | undefined =>
    price({ input, output, estimated: true }).cost?.nanoUsd
  const [reading, writing] = [priceOf(0), priceOf(sampleTokens)]
  // Looked at last: others may have spent meanwhile, and nothing comes between this and what is held.
  const money = steps.moneyLeft()
  if (reading === undefined || writing === undefined || money === null) return
  const { left, of } = money
  if (reading >= left)
    throw new BudgetExhausted(
      `${formatUsd(left)} is left of the budget${of === 'task' ? '' : ` of the ${of} for today`}, and the next ` +
        `request alone costs ${formatUsd(reading)}`,
    )
  const perToken = (writing - reading) / sampleTokens
  if (perToken > 0) {
    const room = Math.max(1, Math.floor((left - reading) / perToken))
    asked.maxOutputTokens = Math.min(asked.maxOutputTokens ?? room, room)
  }
  const answer = Math.min(answerTokens, asked.maxOutputTokens ?? answerTokens)
  steps.holdMoney?.(Math.min(left, Math.ceil(reading + answer * perToken)))
}

/**
 * R7: what a request reads is paid for too, so only the rest may be written; a request that would leave no
 * room for an answer is not made.
 */
export async function roomFor(
  left: number,
  asked: ModelRequest,
  estimate: EstimateUsage,
  signal: AbortSignal,
): Promise<number> {
  await estimate.ahead(asked, '')
  signal.throwIfAborted()
  const room = left - estimate(asked, '', []).input
  if (room < 1)
    throw new BudgetExhausted(
      `${left} tokens are left of the budget, and the next request alone has ${left - room}`,
    )
  return room
}
