/** A root request as its sender holds it: its result, its events, its cancel, and a store that fails. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import type { StoredEvent } from '../../model/event.ts'
import type { Driver } from '../kernel/ports.ts'
import { StoreUnavailable } from '../kernel/store-health.ts'
import type { Run } from './run.ts'

/** Uses 42 tokens, and calls somebody. */
const spending = (callee: string | null): Driver => ({
  async run(_turn, steps) {
    await steps.step('model', 'm', {}, async () => ({
      value: { text: 'x' },
      usage: { input: 40, output: 2, estimated: false },
    }))
    if (callee !== null) await steps.tool('sub_agent', { agent_name: callee, task: 'y' })
    return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
  },
})

const spenders = () =>
  world({ agents: { boss: { driver: spending('coder') }, coder: { driver: spending(null) } } })

async function collect(run: Run): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

test('the result of a run has what its calls used too', async () => {
  const w = await spenders()
  expect(await w.run('boss', 'go')).toMatchObject({ success: true, outcome: 'completed', tokensUsed: 84 })
})

test('the events of a run are those of its calls too, and of nothing else, and end with its own end', async () => {
  const w = await spenders()
  const [mine, other] = [w.ask('boss', 'go'), w.ask('coder', 'alone')]
  const events = await w.until(collect(mine))
  await w.until(other)
  const [opened] = await w.events('call.opened')
  expect(events.map(({ event }) => event.type)).toContain('call.ended')
  expect(events.filter(({ event }) => event.session === opened?.event.target).length).toBeGreaterThan(1)
  expect(events.filter(({ event }) => event.type === 'message.sent')).toHaveLength(1)
  expect(events.at(-1)?.event).toMatchObject({ type: 'turn.ended', output: 'done' })
})

test('who iterates over a run gets to its end although every hint is lost', async () => {
  const w = await spenders()
  const { store } = w.node.runtime
  const run = w.ask('boss', 'go')
  await run.accepted
  store.onHint = () => () => undefined
  const events = await w.until(collect(run))
  expect(events.at(-1)?.event.type).toBe('turn.ended')
})

test('a run is cancelled by its sender, and says so; one that was refused has nothing to cancel', async () => {
  const w: World = await world({
    agents: { slow: { script: async (turn) => (await w.clock.sleep(1e6, turn.signal), 'ok') } },
  })
  const run = w.ask('slow', 'go')
  await w.rest()
  expect(await w.until(run.cancel('enough'))).toBe(true)
  expect(await w.until(run)).toMatchObject({ success: false, outcome: 'cancelled' })
  expect((await w.events('turn.cancelled')).map(({ event }) => event.cause)).toEqual(['enough'])
  expect(await w.ask('nobody', 'go').cancel()).toBe(false)
})

test('a failed run is no success', async () => {
  const w = await world({ agents: { bad: { script: () => Promise.reject(new Error('broke')) } } })
  expect(await w.run('bad', 'go')).toMatchObject({ success: false, outcome: 'failed' })
})

test('a run that a store cannot write is refused with why, and any other fault is thrown', async () => {
  const w = await world({ agents: { a: {} } })
  const { store } = w.node.runtime
  const transact = store.transact.bind(store)
  const refusal = {
    code: 'store_unavailable' as const,
    path: '/data/tieline.db',
    reason: 'the disk is full',
    cure: 'free some space',
    freeBytes: 0,
    retryInMs: 1000,
  }
  store.transact = () => Promise.reject(new StoreUnavailable(refusal))
  expect(await w.ask('a', 'go')).toMatchObject({ outcome: 'refused', refusal })
  store.transact = () => Promise.reject(new Error('something else'))
  await expect(w.ask('a', 'go')).rejects.toThrow('something else')
  store.transact = transact
})
