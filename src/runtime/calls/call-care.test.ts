/** What a call leaves alone and leaves behind: its caller's budget, a queue, alarms, and the record of a refusal. */
import { expect, test } from 'vitest'
import { valueOf, virtualClock, world } from '../../../test/kits/world.ts'
import { sqliteStore } from '../../store/sqlite.ts'
import type { Driver } from '../kernel/ports.ts'

test('what a caller has used itself is not granted to those it calls', async () => {
  const boss: Driver = {
    async run(_turn, steps) {
      await steps.step('model', 'm', {}, async () => ({
        value: { text: 'hm' },
        usage: { input: 600, output: 0, estimated: false },
      }))
      await steps.tool('sub_agent', { agent_name: 'child', task: 'x' })
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
  const w = await world({ agents: { boss: { driver: boss }, child: {} } })
  await w.run('boss', 'go', { maxTokens: 1000 })
  expect((await w.events('call.opened'))[0]?.event.grant.tokensMax).toBe(200)
})

test('nobody gets more time for an agent than the agent itself allows', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'brief', task: 'x', timeout_seconds: 60 })
          await turn.tool('sub_agent', { agent_name: 'brief', task: 'y', timeout_seconds: 3 })
          return 'done'
        },
      },
      brief: { limits: { timeoutSeconds: 5 } },
    },
  })
  await w.run('boss', 'go')
  const opened = await w.events('call.opened')
  expect(opened.map(({ event, at }) => [event.deadline - at, event.boundBy])).toEqual([
    [5000, 'callee'],
    [3000, 'request'],
  ])
})

test('of a refused task only the beginning is recorded', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'nobody', task: `begin ${'x'.repeat(5000)} end` })
          return 'done'
        },
      },
    },
  })
  await w.run('boss', 'go')
  const task = (await w.events('call.refused'))[0]?.event.task ?? ''
  expect(task).toMatch(/^begin xxx/)
  expect(task).not.toContain('end')
  expect(task.length).toBeLessThan(2100)
})

test('a refused call leaves nothing pending below its caller', async () => {
  const pending: number[] = []
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'nobody', task: 'x' })
          await turn.tool('sub_agent', { agent_name: 'child', task: 'x' })
          for (const running of w.node.runtime.running.values()) pending.push(running.pendingBelow)
          return 'done'
        },
      },
      child: {},
    },
  })
  await w.run('boss', 'go')
  expect(pending).toEqual([0])
})

test('a call does not overtake what waits in a session that rests', async () => {
  let isHere = false
  const done: string[] = []
  const w = await world({
    isThere: (agent) => agent !== 'away' || isHere,
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('call_agent', { agent_id: 'away', message: turn.task })
          return 'done'
        },
      },
      away: { script: (turn) => `${done.push(turn.task)} done` },
    },
  })
  const first = w.ask('boss', 'first')
  await w.rest()
  isHere = true
  const second = w.ask('boss', 'second')
  await w.until(Promise.all([first, second]))
  expect(done).toEqual(['first', 'second'])
})

test('the deadline of a call that has ended wakes nobody', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  const asked: unknown[] = []
  const watched = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]): unknown => {
        asked.push(...given)
        return value.apply(target, given)
      }
    },
  })
  const w = await world({
    clock,
    store: watched,
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'child', task: 'x', timeout_seconds: 30 })
          return 'done'
        },
      },
      child: {},
    },
  })
  await w.run('boss', 'go')
  const call = (await w.events('call.opened'))[0]?.event.call ?? ''
  asked.length = 0
  await w.pass(40_000)
  expect(JSON.stringify(asked)).not.toContain(call.slice('call_'.length))
})

test('an agent that is no longer configured may finish its turn, but call nobody', async () => {
  let isKnown = true
  const w = await world({
    isKnown: (agent) => agent !== 'boss' || isKnown,
    agents: {
      boss: {
        script: async (turn) => {
          const call = async () =>
            valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'x' }))['outcome']
          const before = await call()
          isKnown = false
          return JSON.stringify([before, await call()])
        },
      },
      child: {},
    },
  })
  expect(JSON.parse((await w.run('boss', 'go')).output)).toEqual(['completed', 'refused'])
  expect((await w.events('call.refused'))[0]?.event.refusal.code).toBe('not_allowed')
})

test('a node that stops does not wait for a call that opened at that moment', async () => {
  const clock = virtualClock()
  const store = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  let stopped: Promise<void> | null = null
  let caught: unknown = null
  const transact: typeof store.transact = async (keys, work, urgent) => {
    const result = await store.transact(keys, work, urgent)
    if (stopped === null && keys.some((key) => key.startsWith('call:'))) stopped = w.node.stop()
    return result
  }
  const w = await world({
    clock,
    store: Object.assign(Object.create(store) as typeof store, { transact }),
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'child', task: 'x' }).catch((error: unknown) => {
            caught = error
            throw error
          })
          return 'done'
        },
      },
      child: { script: ({ signal }) => new Promise(() => void signal) },
    },
  })
  void w.ask('boss', 'go').then(undefined, () => undefined)
  await w.rest()
  await w.rest()
  expect(String(caught)).toContain('Tieline was closed')
  await w.until(stopped ?? Promise.reject(new Error('it was not stopped')))
})
