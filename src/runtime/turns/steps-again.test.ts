import { expect, test } from 'vitest'
import { world, virtualClock } from '../../../test/kits/world.ts'
import { BudgetExhausted } from '../kernel/faults.ts'
import type { Driver } from '../kernel/ports.ts'

test('a request that waited for the tokens of a child that was stopping is one iteration', async () => {
  const clock = virtualClock()
  const slow: Driver = {
    run: (_turn, _steps, signal) =>
      new Promise((resolve) =>
        signal.addEventListener(
          'abort',
          () =>
            void clock
              .sleep(1000)
              .then(() => resolve({ outcome: 'failed', output: '', error: 'stopped', iterations: 0 })),
        ),
      ),
  }
  let tries = 0
  const boss: Driver = {
    async run(_turn, steps) {
      const input = { agent_name: 'slow', task: 'part', timeout_seconds: 1, max_tokens: 3000 }
      await steps.tool('sub_agent', input)
      await steps.step('model', 'm', {}, async () => {
        tries += 1
        // There is no room for its answer, as long as the child holds its tokens.
        if ((steps.tokensLeft() ?? 0) < 4000) throw new BudgetExhausted('no room')
        return { value: 'said', usage: null }
      })
      return { outcome: 'completed', output: 'done', error: null, iterations: 0 }
    },
  }
  const w = await world({ clock, agents: { boss: { driver: boss }, slow: { driver: slow } } })
  await w.run('boss', 'go', { maxTokens: 5000 })
  const ended = (await w.events('turn.ended')).at(-1)?.event
  expect([tries, ended?.outcome, ended?.iterations]).toEqual([2, 'completed', 1])
})
