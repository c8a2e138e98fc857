/** How calls end: in time, for everybody who waits, and with what was said. */
import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'

const hang: ScriptedFunction = ({ signal }) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )

test('R4: a call in the background ends at its deadline, not at the next sweep', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', {
            agent_name: 'slow',
            task: 'x',
            timeout_seconds: 2.5,
            background: true,
          })
          await w.clock.sleep(6000, turn.signal)
          return 'done'
        },
      },
      slow: { script: hang },
    },
  })
  await w.run('boss', 'go')
  const [ended] = await w.events('call.ended')
  const [opened] = await w.events('call.opened')
  expect(ended?.event).toMatchObject({ outcome: 'timed_out' })
  expect((ended?.event.endedAt ?? 0) - (opened?.event.deadline ?? 0)).toBeLessThan(50)
})

test('a call in the background that ended keeps nothing in memory until its deadline', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', {
            agent_name: 'quick',
            task: 'x',
            timeout_seconds: 200,
            background: true,
          })
          await w.clock.sleep(6000, turn.signal)
          return 'done'
        },
      },
      quick: {},
    },
  })
  const { runtime } = w.node
  const after = runtime.alarm.after.bind(runtime.alarm)
  const set = new Set<number>()
  runtime.alarm.after = (ms, ring) => {
    const clear = after(ms, ring)
    set.add(ms)
    return () => {
      set.delete(ms)
      clear()
    }
  }
  await w.run('boss', 'go')
  expect([(await w.events('call.ended')).length, [...set], runtime.callWaiters.size]).toEqual([1, [], 0])
})

test('R7: a fresh callee starts with the deadline of its call', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          JSON.stringify(
            valueOf(await turn.tool('sub_agent', { agent_name: 'quick', task: 'x', timeout_seconds: 7 })),
          ),
      },
      quick: {},
    },
  })
  await w.run('boss', 'go')
  const [opened] = await w.events('call.opened')
  const started = (await w.events('turn.started')).find(({ event }) => event.session === opened?.event.target)
  expect(started?.event.deadline).toBe(opened?.event.deadline)
})

test('everybody who waits for a call hears of its end, not only the first', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          const begun = valueOf(
            await turn.tool('sub_agent', { agent_name: 'slow', task: 'x', background: true }),
          )
          const wait = () => turn.tool('wait_for_call', { call_id: begun['call_id'] ?? '' })
          const startedAt = w.clock.elapsed()
          const both = await Promise.all([wait(), wait()])
          return JSON.stringify([
            ...both.map((answer) => valueOf(answer)['output']),
            w.clock.elapsed() - startedAt,
          ])
        },
      },
      slow: {
        script: async (turn) => {
          await w.clock.sleep(3210, turn.signal)
          return 'the answer'
        },
      },
    },
  })
  const { output } = await w.run('boss', 'go')
  expect(JSON.parse(output)).toEqual(['the answer', 'the answer', 3210])
})

test('what a stopped callee had said is kept', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          JSON.stringify(
            valueOf(await turn.tool('sub_agent', { agent_name: 'talker', task: 'x', timeout_seconds: 3 })),
          ),
      },
      talker: {
        script: async (turn) => {
          turn.say('half of it')
          return hang(turn)
        },
      },
    },
  })
  const { output } = await w.run('boss', 'go')
  expect(JSON.parse(output)).toMatchObject({ outcome: 'timed_out', output: 'half of it' })
  await w.pass(2000)
  const talker = (await w.events('call.opened'))[0]?.event.target
  expect((await w.events('turn.ended')).find(({ event }) => event.session === talker)?.event).toMatchObject({
    outcome: 'timed_out',
  })
})

test('a callee belongs to the session that called it, and has the time that its tool is given', async () => {
  const w = await world({
    limits: { subAgentTimeoutMs: 7000, callAgentTimeoutMs: 11_000, subagentTimeoutMs: 13_000 },
    agents: {
      planner: {
        script: async (turn) => {
          if (turn.task !== 'go') return 'ok'
          await turn.tool('sub_agent', { agent_name: 'coder', task: 'one' })
          await turn.tool('call_agent', { agent_id: 'coder', message: 'two' })
          await turn.tool('subagent', { task: 'three' })
          return 'done'
        },
      },
      coder: { script: () => 'ok' },
    },
  })
  const { session } = await w.run('planner', 'go')
  const opened = await w.events('call.opened')
  expect(opened.map(({ event, at }) => [event.tool, event.deadline - at])).toEqual([
    ['sub_agent', 7000],
    ['call_agent', 11_000],
    ['subagent', 13_000],
  ])
  const made = await w.events('session.created')
  const parents = opened.map(
    ({ event }) => made.find((one) => one.event.session === event.target)?.event.parent,
  )
  expect(parents).toEqual([session, null, session])
})
