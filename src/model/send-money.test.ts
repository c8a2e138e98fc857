/** What a message may cost, and what does not bind it. */
import { expect, test } from 'vitest'
import {
  agent,
  facts,
  judge,
  sender,
  senderAgent,
  senderRow,
  target,
  targetRow,
  turn,
  type More,
} from '../../test/kits/sends.ts'
import { limitsDefault as limits } from './limits.ts'

const dollar = 1_000_000_000
const moneyOf = (more: More): unknown => {
  const found = judge(more)
  return 'code' in found ? found : (found.nanoUsdMax ?? null)
}
const rich = sender({ grant: { ...turn.grant, nanoUsdMax: 4 * dollar }, nanoUsdBelow: dollar })
const used = { of: 'project', max: dollar, used: dollar } as const
const dayUsedUp = {
  code: 'budget_exhausted',
  needed: 1,
  left: 0,
  usd: { max: dollar, used: dollar, day: 'project' },
}

test('R7: the money of a message is half of what its sender has left, within that of its agent', () => {
  expect(moneyOf({})).toBeNull()
  expect(moneyOf({ facts: rich })).toBe(1.5 * dollar)
  expect(moneyOf({ facts: rich, request: { targetAgent: agent({ limits: { maxUsd: 0.5 } }) } })).toBe(
    dollar / 2,
  )
  const poor = sender({ grant: { ...turn.grant, nanoUsdMax: dollar }, nanoUsdBelow: dollar })
  expect(moneyOf({ facts: poor })).toEqual({
    code: 'budget_exhausted',
    needed: 1,
    left: 0,
    usd: { max: dollar, used: dollar },
  })
})

test('R7: a message of a client may use all of the money and the tokens of its flow', () => {
  const grant = { ...turn.grant, nanoUsdMax: 4 * dollar, tokensMax: 3000 }
  const spent = { tokensUsed: 0, tokensBelow: 1000 }
  const client = { turn: { ...turn, ...spent, grant }, session: { ...senderRow, kind: 'external' as const } }
  expect(judge({ facts: { sender: client } })).toMatchObject({ nanoUsdMax: 4 * dollar, tokensMax: 2000 })
})

test('the money of what a person sends or releases is what they gave, within the server and the agent', () => {
  const user = { facts: { sender: null }, world: { senderAgent: null } }
  expect(moneyOf({ ...user, request: { maxUsd: 2 } })).toBe(2 * dollar)
  expect(moneyOf({ ...user, request: { maxUsd: 2, targetAgent: agent({ limits: { maxUsd: 1 } }) } })).toBe(
    dollar,
  )
  const world = { senderAgent: null, limits: { ...limits, flowUsdMax: 0.25 } }
  expect(moneyOf({ ...user, world, request: { maxUsd: 2 } })).toBe(dollar / 4)
  expect(moneyOf({ facts: rich, request: { released: true, maxUsd: 3 } })).toBe(3 * dollar)
  const poor = sender({ grant: { ...turn.grant, nanoUsdMax: dollar, tokensMax: 3000 }, nanoUsdBelow: dollar })
  expect(moneyOf({ facts: poor, request: { released: true, maxUsd: 3 } })).toBe(3 * dollar)
})

test('what only waits to be fetched costs nothing, whatever is left', () => {
  const outside = { request: { inbox: true }, facts: { ...target({ kind: 'external' }) } }
  expect(moneyOf({ ...outside, world: { day: used } })).toBeNull()
  expect(
    moneyOf({ request: { inbox: true, maxUsd: 2 }, facts: { ...outside.facts, sender: null } }),
  ).toBeNull()
})

test('a day that is used up refuses what would run, before its own budget does', () => {
  expect(judge({ world: { day: used } })).toStrictEqual(dayUsedUp)
  expect(judge({ world: { day: { ...used, used: 0 } } })).not.toHaveProperty('code')
  const none = { targetAgent: agent({ limits: { maxUsd: 0 } }) }
  expect(judge({ request: none, world: { day: used } })).toStrictEqual(dayUsedUp)
  expect(judge({ request: none })).toMatchObject({ code: 'budget_exhausted', usd: { max: 0, used: 0 } })
})

test('a callback is bound by no depth and no repeated task, and a sender may be gone from the configuration', () => {
  const callback = { callback: true }
  expect(judge({ facts: callback, world: senderAgent({ maxDepth: 0 }) })).not.toHaveProperty('code')
  expect(judge({ facts: callback, request: { taskHash: 'given' } })).not.toHaveProperty('code')
  expect(judge({ world: { senderAgent: null } })).not.toHaveProperty('code')
})

test('a session that was just made is the target, and only a new one counts among those of a flow', () => {
  const nobody = { target: { ...facts.target, session: null } }
  expect(judge({ request: { fresh: targetRow }, facts: nobody })).not.toHaveProperty('code')
  expect(judge({ facts: { descendants: limits.descendantsPerFlowMax } })).not.toHaveProperty('code')
})
