/** Taking turns of others: what a node leaves alone, and what is looked at again. */
import { expect, test } from 'vitest'
import { ask, client, kill, mortal, use } from '../../../test/kits/mortal.ts'
import { session } from '../../../test/kits/letters.ts'
import { world, type World, type WorldOptions } from '../../../test/kits/world.ts'
import { claimSession, takeClientTurn } from './claim.ts'
import { cancel } from './ending.ts'

/** A node that dies while something runs on it, and another one. */
async function widowed(): Promise<{ w: World; runtime: World['node']['runtime'] }> {
  const options: WorldOptions = {
    agents: { coder: { script: async (turn) => (await w.clock.sleep(60_000, turn.signal), 'at last') } },
  }
  const w = await mortal(options)
  const { runtime } = await w.addNode()
  return { w, runtime }
}

test('a claim that broke off is looked at again', async () => {
  const w = await world({ agents: { a: {} } })
  const id = await session(w, 'a')
  const { runtime } = w.node
  const facts = runtime.store.sessionFacts.bind(runtime.store)
  runtime.store.sessionFacts = () => Promise.reject(new Error('cannot be read'))
  await expect(claimSession(runtime, id)).rejects.toThrow('cannot be read')
  runtime.store.sessionFacts = facts
  expect([runtime.brokenOff.has(id), runtime.claiming.size]).toEqual([true, 0])
})

test('a look that is asked for during another follows it', async () => {
  const w = await world({ agents: { a: {} } })
  const id = await session(w, 'a')
  const { runtime } = w.node
  const facts = runtime.store.sessionFacts.bind(runtime.store)
  const { promise, resolve } = Promise.withResolvers<void>()
  let looks = 0
  runtime.store.sessionFacts = async (one) => {
    if (one === id) looks += 1
    await promise
    return facts(one)
  }
  const claims = [claimSession(runtime, id), claimSession(runtime, id), claimSession(runtime, id)]
  await w.rest()
  expect(looks).toBe(1)
  resolve()
  await Promise.all(claims)
  expect(looks).toBe(2)
})

test('R6: a node that hands over takes nothing over', async () => {
  const { w, runtime } = await widowed()
  runtime.drain.isOn = true
  w.ask('coder', 'go').catch(() => undefined)
  await w.rest()
  kill(w)
  await w.pass(20_000)
  const [lost] = await w.events('turn.started')
  if (lost === undefined) throw new Error('nothing ran')
  await claimSession(runtime, lost.event.session)
  expect(await w.events('session.claimed')).toEqual([])
  runtime.drain.isOn = false
  await w.pass(5000)
  expect((await w.events('session.claimed')).map(({ event }) => event.node)).toEqual([runtime.node])
})

test('R6: the turn of a client that just starts here is not taken over from oneself', async () => {
  const { w, runtime } = await widowed()
  w.exchange.useTool(await client(w), 'sub_agent', ask, use()).catch(() => undefined)
  await w.rest()
  const [turn] = await w.store.turns({ session: 'ses_client-test' }, 10)
  if (turn === undefined) throw new Error('the client has no turn')
  kill(w)
  const claims = async () =>
    (await w.events('session.claimed')).filter(({ event }) => event.turn === turn.id).length
  runtime.starting.set(turn.id, 1)
  await takeClientTurn(runtime, turn.id)
  expect(await claims()).toBe(0)
  runtime.starting.delete(turn.id)
  await takeClientTurn(runtime, turn.id)
  expect(await claims()).toBe(1)
})

test('a lost turn of a client that was fenced, and could not be ended then, is looked at again', async () => {
  const { w, runtime } = await widowed()
  w.exchange.useTool(await client(w), 'sub_agent', ask, use()).catch(() => undefined)
  await w.rest()
  const [turn] = await w.store.turns({ session: 'ses_client-test' }, 10)
  if (turn === undefined) throw new Error('the client has no turn')
  kill(w)
  await cancel(runtime, turn.id, 'cancelled', 'asked by the user')
  const { store } = runtime
  const transact = store.transact.bind(store)
  store.transact = async (keys, work) => {
    if (keys[0] === `flow:${turn.flow}`) throw new Error('the disk is full')
    return transact(keys, work)
  }
  await expect(takeClientTurn(runtime, turn.id)).rejects.toThrow('the disk is full')
  // It is this node's now, whose lease goes on, so nobody finds it by a lease that is over.
  expect(runtime.brokenOff.has(turn.session)).toBe(true)
  store.transact = transact
  await w.pass(3000)
  const ended = (await w.events('turn.ended')).filter(({ event }) => event.turn === turn.id)
  expect(ended.map(({ event }) => event.outcome)).toEqual(['cancelled'])
})

test('R7: nothing is taken over while nobody knows what became of the last commits', async () => {
  const { w, runtime } = await widowed()
  const health = runtime.store.health.bind(runtime.store)
  w.ask('coder', 'go').catch(() => undefined)
  await w.rest()
  const [lost] = await w.events('turn.started')
  if (lost === undefined) throw new Error('nothing ran')
  kill(w)
  runtime.drain.isOn = true
  await w.pass(20_000)
  runtime.drain.isOn = false
  runtime.store.health = () => ({ state: 'unavailable' }) as ReturnType<typeof health>
  await claimSession(runtime, lost.event.session)
  expect(runtime.brokenOff.has(lost.event.session)).toBe(true)
  expect(await w.events('session.claimed')).toEqual([])
  runtime.store.health = health
  await claimSession(runtime, lost.event.session)
  expect(await w.events('session.claimed')).toHaveLength(1)
})
