import { expect, test } from 'vitest'
import { payer } from '../../../test/kits/payer.ts'
import { virtualClock, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { SessionId } from '../../model/id.ts'
import { viewsEqual } from '../../store/rebuild.ts'
import { viewOfSession } from './look.ts'

async function readCost(w: World, id: SessionId) {
  const row = await w.store.session(id)
  if (row === null) throw new Error(`there is no ${id}`)
  const { tokensUsed, cost } = await viewOfSession(w.node.runtime, row)
  return { tokensUsed, ...cost }
}

async function runIn(w: World, agent: string, task: string): Promise<SessionId> {
  const { session } = await w.run(agent, task)
  if (session === null) throw new Error('it was refused')
  return session
}

const calling =
  (agent: string): ScriptedFunction =>
  async (turn) => {
    const task = `work as ${agent}`
    await turn.tool('sub_agent', { agent_name: agent, task, allow_nested_calls: true })
    return 'done'
  }

test('what a session has cost has everything that it called, however deep, and each of its turns', async () => {
  const w = await world({
    agents: {
      boss: { script: calling('lead') },
      lead: { script: calling('payer') },
      payer: { driver: payer(7, 2) },
    },
  })
  const session = await runIn(w, 'boss', 'go')
  expect(await readCost(w, session)).toMatchObject({ usd: 0.14, planUsd: 0 })
  await w.run('boss', 'again', { session })
  const both = await readCost(w, session)
  expect(both).toMatchObject({ usd: 0.28 })
  // What the scripts themselves have said has no price.
  expect(both.tokensUsed).toBe(40 + both.unpricedTokens)
  expect(viewsEqual(w.store.db)).toEqual({ equal: true, difference: null })
})

test('a call to a session counts for that session and for its caller, once each', async () => {
  const w = await world({
    agents: {
      p: { driver: payer(5, 1) },
      boss: {
        script: async (turn) => {
          await turn.tool('call_agent', { agent_id: turn.task, message: 'work' })
          return 'done'
        },
      },
    },
  })
  const of = await runIn(w, 'p', 'first')
  const session = await runIn(w, 'boss', of)
  expect(await readCost(w, session)).toMatchObject({ usd: 0.05 })
  expect(await readCost(w, of)).toMatchObject({ usd: 0.1 })
})

test('what runs shows what it has used so far, also below it, and no request counts twice at its end', async () => {
  const clock = virtualClock()
  const slow = payer(10, 3, { ms: 1000, clock })
  const w = await world({ agents: { boss: { script: calling('p') }, p: { driver: slow } }, clock })
  const run = w.ask('boss', 'go')
  await w.pass(2500)
  const [row] = await w.store.sessions({ agent: 'boss' }, 1)
  const id = row?.id as SessionId
  expect((await readCost(w, id)).usd).toBeCloseTo(0.2)
  await w.until(run)
  expect(await readCost(w, id)).toMatchObject({ usd: 0.3 })
})
