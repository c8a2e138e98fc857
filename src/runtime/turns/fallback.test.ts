import { expect, test } from 'vitest'
import { kill, mortal, next } from '../../../test/kits/mortal.ts'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { valueOf, virtualClock, world, type AgentSpec, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Driver, Steps } from '../kernel/ports.ts'

const why = 'provider_error: 429 over its limit'

/** Is asked, may do something before, and then says that it cannot work. */
const away = (before: (steps: Steps) => Promise<unknown> = async () => undefined): Driver => ({
  async run(_turn, steps) {
    await before(steps)
    await steps.step('model', 'm', { asks: 1 }, async () => ({ value: { text: '' }, usage: null }))
    return { outcome: 'failed', output: '', error: why, iterations: 1, unavailable: why }
  },
})
const answering = (text: string): Driver => ({
  async run(_turn, steps) {
    const usage = { input: 1, output: 1, estimated: false }
    await steps.step('model', 'm', { asks: text }, async () => ({ value: { text }, usage }))
    return { outcome: 'completed', output: text, error: null, iterations: 1 }
  },
})

const boss: ScriptedFunction = async (turn) =>
  JSON.stringify(
    valueOf(await turn.tool('sub_agent', { agent_name: 'x', task: 'work', allow_nested_calls: true })),
  )

const agents = (x: AgentSpec, more: Record<string, AgentSpec> = {}): Record<string, AgentSpec> => ({
  boss: { script: boss },
  x: { fallback: ['y', 'z'], ...x },
  y: { driver: answering('by y') },
  z: { driver: answering('by z') },
  ...more,
})

async function askBoss(w: World): Promise<Record<string, unknown>> {
  return JSON.parse((await w.run('boss', 'go')).output) as Record<string, unknown>
}

const listMoves = async (w: World): Promise<unknown[]> =>
  (await w.events('step.ended')).flatMap(({ event }) => (event.kind === 'move' ? [event.output] : []))

test('a call goes to the next agent where its own cannot work, and the answer says who did it', async () => {
  const w = await world({ agents: agents({ driver: away() }) })
  const answer = await askBoss(w)
  expect(answer).toMatchObject({ outcome: 'completed', output: 'by y', agent_name: 'y' })
  expect(answer['notes']).toEqual([`x could not do it, so y did: ${why}`])
  const moved = { from: 'x', to: 'y', why }
  expect(await listMoves(w)).toEqual([moved])
  expect((await w.events('call.ended')).map(({ event }) => event.moved)).toEqual([moved])
  expect((await w.events('call.opened')).map(({ event }) => event.grant.agent)).toEqual(['x'])
  expect((await replayed(w, await flowOf(w))).turns.map(({ equal }) => equal)).toEqual([true, true])
})

test('a message to an agent that cannot work is answered by the next one, too', async () => {
  const w = await world({ agents: agents({ driver: away() }) })
  expect(await w.run('x', 'go')).toMatchObject({ outcome: 'completed', output: 'by y' })
})

const doings: readonly (readonly [string, (steps: Steps) => Promise<unknown>])[] = [
  ['said something', async (steps) => steps.emit('I begin')],
  ['used a tool', async (steps) => steps.tool('list_agents', {})],
  ['called somebody', async (steps) => steps.tool('sub_agent', { agent_name: 'z', task: 'x' })],
  [
    'paid for an answer',
    async (steps) =>
      steps.step('model', 'm', { n: 0 }, async () => ({
        value: { text: '' },
        usage: { input: 5, output: 0, estimated: false },
      })),
  ],
]

test.each(doings)('an agent that has %s before it could not go on is not replaced', async (_what, before) => {
  const w = await world({ agents: agents({ driver: away(before) }) })
  expect(await askBoss(w)).toMatchObject({ outcome: 'failed', agent_name: 'x', errors: [why] })
  expect(await listMoves(w)).toEqual([])
})

test('an agent that is known to be away is not even asked, and one that nobody replaces is refused', async () => {
  const unavailable = (name: string) => (name === 'x' ? { why: 'not logged in', cure: 'log in' } : null)
  const w = await world({ agents: agents({ driver: answering('by x') }), unavailable })
  expect(await askBoss(w)).toMatchObject({ output: 'by y', agent_name: 'y' })
  expect(await listMoves(w)).toEqual([{ from: 'x', to: 'y', why: 'not logged in; log in' }])
  expect((await replayed(w, await flowOf(w))).turns.map(({ equal }) => equal)).toEqual([true, true])
  const all = await world({
    agents: agents({}),
    unavailable: () => ({ why: 'not logged in', cure: 'log in' }),
  })
  expect(await askBoss(all)).toMatchObject({ outcome: 'refused' })
})

test('those that cannot work either are passed over, each once, until nobody is left', async () => {
  const w = await world({
    agents: agents({ driver: away() }),
    unavailable: (name) => (name === 'y' ? { why: 'down', cure: 'wait' } : null),
  })
  expect(await askBoss(w)).toMatchObject({ output: 'by z', agent_name: 'z' })
  const none = await world({
    agents: agents({ driver: away() }, { y: { driver: away() }, z: { driver: away() } }),
  })
  expect(await askBoss(none)).toMatchObject({ outcome: 'failed', errors: [why], agent_name: 'z' })
  expect(await listMoves(none)).toMatchObject([{ to: 'y' }, { to: 'z' }])
})

test('R5: nobody on the way down takes the place of its own callee', async () => {
  const w = await world({ agents: agents({ driver: away(), fallback: ['boss', 'z'] }) })
  expect(await askBoss(w)).toMatchObject({ output: 'by z', agent_name: 'z' })
})

test('R7: one that takes the place of another is held to its own maxUsd', async () => {
  const paying: Driver = {
    async run(_turn, steps) {
      for (let n = 0; n < 5; n += 1)
        await steps.step('model', 'm', { n }, async () => ({
          value: { text: 'paid' },
          usage: { input: 1, output: 1, estimated: false, cost: { nanoUsd: 60_000_000, by: 'reported' } },
        }))
      return { outcome: 'completed', output: 'done', error: null, iterations: 5 }
    },
  }
  const w = await world({
    agents: agents({ driver: away() }, { y: { driver: paying, limits: { maxUsd: 0.1 } } }),
  })
  expect(await askBoss(w)).toMatchObject({ outcome: 'budget_exhausted', cost_usd: 0.12 })
})

test('R10: after a crash a turn that was moved goes on with the one that took it over', async () => {
  const clock = virtualClock()
  let asked = 0
  const slow: Driver = {
    async run(_turn, steps, signal) {
      for (const n of [1, 2])
        await steps.step('model', 'm', { n }, async () => {
          asked += 1
          await clock.sleep(1000, signal)
          return { value: { text: `part ${n}` }, usage: { input: 1, output: 1, estimated: false } }
        })
      return { outcome: 'completed', output: 'by y', error: null, iterations: 2 }
    },
  }
  const options = { agents: agents({ driver: away() }, { y: { driver: slow } }), clock }
  const w = await mortal(options)
  void Promise.resolve(w.ask('x', 'go')).catch(() => undefined)
  await w.pass(1500)
  kill(w)
  expect(asked).toBe(2)
  const again = await next(w, options)
  await again.pass(10_000)
  expect((await again.events('turn.ended')).map(({ event }) => [event.output, event.moved?.to])).toEqual([
    ['by y', 'y'],
  ])
  expect(await listMoves(again)).toHaveLength(1)
  expect(asked).toBe(3)
})
