import { expect, test } from 'vitest'
import { cent, payer } from '../../../test/kits/payer.ts'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'

const hand =
  (...inputs: Record<string, unknown>[]): ScriptedFunction =>
  async (turn) => {
    const all = await Promise.all(
      inputs.map((input, n) =>
        turn.tool('sub_agent', { agent_name: 'child', task: `work ${n}`, ...input } as never),
      ),
    )
    return JSON.stringify(all.map((answer) => valueOf(answer)))
  }

test('R7: a flow with flowUsdMax passes it by one request at most, and says the numbers', async () => {
  const w = await world({ agents: { a: { driver: payer(30, 9) } }, limits: { flowUsdMax: 1 } })
  const run = await w.run('a', 'go')
  expect(run).toMatchObject({ outcome: 'budget_exhausted', tokensUsed: 40 })
  expect(run.error).toContain('the budget of $1.00 is used up: $1.20 is spent here')
  expect((await w.events('turn.ended'))[0]?.event.spent).toEqual({
    nanoUsd: 120 * cent,
    plan: 0,
    unpriced: 0,
  })
})

test('zero dollars make no request and open no call', async () => {
  const w = await world({ agents: { a: { driver: payer(1, 1) }, b: { script: hand({}) }, child: {} } })
  expect(await w.run('a', 'go', { maxUsd: 0 })).toMatchObject({ outcome: 'budget_exhausted', tokensUsed: 0 })
  expect(JSON.parse((await w.run('b', 'go', { maxUsd: 0 })).output)).toMatchObject([{ outcome: 'refused' }])
  expect((await w.events('call.refused'))[0]?.event.refusal).toMatchObject({
    code: 'budget_exhausted',
    usd: { max: 0, used: 0 },
  })
})

test('R7: parallel children cannot overspend together: each reserves before it runs', async () => {
  const w = await world({
    agents: {
      boss: { script: hand({ max_usd: 0.6 }, { max_usd: 0.6 }, { max_usd: 0.6 }) },
      child: { driver: payer(10, 9) },
    },
  })
  const answers = JSON.parse((await w.run('boss', 'go', { maxUsd: 1 })).output) as Record<string, unknown>[]
  expect(answers.map(({ outcome }) => outcome)).toEqual(['budget_exhausted', 'budget_exhausted', 'refused'])
  expect((await w.events('call.opened')).map(({ event }) => event.grant.nanoUsdMax)).toEqual([
    60 * cent,
    40 * cent,
  ])
  expect(answers.map(({ cost_usd: usd }) => usd)).toEqual([0.6, 0.4, undefined])
})

test('what a call did not spend is given back when it has ended', async () => {
  const boss: ScriptedFunction = async (turn) => {
    const ends: unknown[] = []
    for (const task of ['1', '2', '3'])
      ends.push(valueOf(await turn.tool('sub_agent', { agent_name: 'child', task, max_usd: 0.8 }))['outcome'])
    return JSON.stringify(ends)
  }
  const w = await world({ agents: { boss: { script: boss }, child: { driver: payer(5, 1) } } })
  expect(JSON.parse((await w.run('boss', 'go', { maxUsd: 1 })).output)).toEqual(
    Array.from({ length: 3 }, () => 'completed'),
  )
  expect((await w.events('call.opened')).map(({ event }) => event.grant.nanoUsdMax)).toEqual(
    Array.from({ length: 3 }, () => 80 * cent),
  )
  expect((await w.events('turn.ended')).at(-1)?.event.spentBelow).toEqual({
    nanoUsd: 15 * cent,
    plan: 0,
    unpriced: 0,
  })
})

test('maxUsd of an agent binds it, whoever calls it and however much more was asked for', async () => {
  const w = await world({
    agents: {
      boss: { script: hand({ max_usd: 5 }, {}) },
      child: { driver: payer(10, 9), limits: { maxUsd: 0.2 } },
    },
  })
  const answers = JSON.parse((await w.run('boss', 'go')).output) as Record<string, unknown>[]
  expect(answers.map(({ outcome, cost_usd: usd }) => [outcome, usd])).toEqual([
    ['budget_exhausted', 0.2],
    ['budget_exhausted', 0.2],
  ])
})
