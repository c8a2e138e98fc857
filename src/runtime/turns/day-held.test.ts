import { expect, test } from 'vitest'
import { cent } from '../../../test/kits/payer.ts'
import { world } from '../../../test/kits/world.ts'
import type { Driver } from '../kernel/ports.ts'

test('R7: a request that is estimated anew holds only what it was estimated at last', async () => {
  const seen: (number | undefined)[] = []
  const driver: Driver = {
    async run(_turn, steps) {
      await steps.step('model', 'm', {}, async () => {
        for (const cents of [50, 30]) {
          steps.holdMoney?.(cents * cent)
          seen.push(steps.moneyLeft?.()?.left)
        }
        return { value: null, usage: null }
      })
      seen.push(steps.moneyLeft?.()?.left)
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
  const w = await world({ agents: { a: { driver } }, limits: { dayUsdMax: 1 } })
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'completed' })
  expect(seen).toEqual([50 * cent, 70 * cent, 100 * cent])
})
