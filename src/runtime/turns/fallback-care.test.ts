import { expect, test } from 'vitest'
import { kill, mortal, next } from '../../../test/kits/mortal.ts'
import { payer } from '../../../test/kits/payer.ts'
import { virtualClock, world } from '../../../test/kits/world.ts'
import type { Driver, TurnOutcome } from '../kernel/ports.ts'

const why = 'provider_error: 429 over its limit'
const gone: TurnOutcome = { outcome: 'failed', output: '', error: why, iterations: 1, unavailable: why }
const away: Driver = { run: async () => gone }

test('R7: one that takes the place of another spends no more than its task was given', async () => {
  const w = await world({
    agents: { x: { fallback: ['y'], driver: away }, y: { driver: payer(60, 5), limits: { maxUsd: 50 } } },
  })
  const run = await w.run('x', 'go', { maxUsd: 1 })
  expect(run).toMatchObject({ outcome: 'budget_exhausted' })
  expect(run.error).toContain('the budget of $1.00 is used up: $1.20 is spent here')
})

test('an agent whose run before a crash has called somebody is not replaced by another', async () => {
  const clock = virtualClock()
  let runs = 0
  const driver: Driver = {
    async run(_turn, steps, signal) {
      runs += 1
      if (runs > 1) return gone
      await steps.tool('sub_agent', { agent_name: 'z', task: 'work' })
      await clock.sleep(60_000, signal)
      return gone
    },
  }
  const options = {
    agents: { x: { fallback: ['y'], driver }, y: { script: () => 'by y' }, z: { script: () => 'by z' } },
    clock,
  }
  const w = await mortal(options)
  void Promise.resolve(w.ask('x', 'go')).catch(() => undefined)
  await w.pass(1000)
  kill(w)
  const again = await next(w, options)
  await again.pass(10_000)
  expect(runs).toBe(2)
  expect((await again.events('turn.ended')).map(({ event }) => event.error)).toEqual([null, why])
})
