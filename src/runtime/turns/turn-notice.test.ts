import { expect, test } from 'vitest'
import { world, type AgentSpec } from '../../../test/kits/world.ts'
import type { TurnOutcome } from '../kernel/ports.ts'

test('what a driver has to tell its session is told where its turn was completed, not where it failed', async () => {
  const ends = (outcome: 'completed' | 'failed'): AgentSpec => ({
    driver: {
      run: async (): Promise<TurnOutcome> => ({
        outcome,
        output: 'said',
        error: outcome === 'failed' ? 'it broke' : null,
        iterations: 1,
        notice: { about: 'call_1', text: `it ${outcome}` },
      }),
    },
  })
  const w = await world({ agents: { good: ends('completed'), bad: ends('failed') } })
  await w.run('bad', 'go')
  await w.run('good', 'go')
  expect((await w.events('notice.raised')).map(({ event }) => event.text)).toEqual(['it completed'])
})
