/** A driver whose requests have a price. */
import { BudgetExhausted } from '../../src/runtime/kernel/faults.ts'
import type { Clock, Driver } from '../../src/runtime/kernel/ports.ts'

/** In billionths of a dollar. */
export const cent = 10_000_000

/**
 * Pays so many cents in each of so many requests. `holds`: how many it estimates each to cost. `ms`: how long each
 * takes, by this clock.
 */
export const payer = (
  cents: number,
  requests: number,
  { holds, ms, clock }: { holds?: number; ms?: number; clock?: Clock } = {},
): Driver => ({
  async run(_turn, steps, signal) {
    for (let n = 0; n < requests; n += 1)
      await steps.step('model', 'm', { n }, async () => {
        const left = steps.moneyLeft?.()?.left ?? Infinity
        if (left === 0) throw new BudgetExhausted('nothing is left')
        if (holds !== undefined) steps.holdMoney?.(Math.min(left, holds * cent))
        if (ms !== undefined) await clock?.sleep(ms, signal)
        return {
          value: { text: `answer ${n}` },
          usage: {
            input: 10,
            output: 0,
            estimated: false,
            model: 'p/m',
            cost: { nanoUsd: cents * cent, by: 'reported' },
          },
        }
      })
    return { outcome: 'completed', output: 'paid', error: null, iterations: requests }
  },
})
