/** The bounds of calls: depth, number, size, queue and rate (R7, R11). */
import { expect, test } from 'vitest'
import { valueOf, world, type AgentSpec } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'

const callAs =
  (target: string, task = 'work'): ScriptedFunction =>
  async (turn) =>
    JSON.stringify(
      (await turn.tool('sub_agent', { agent_name: target, task, allow_nested_calls: true })).value,
    )

test('R7: a chain of five hops works and the sixth is refused', async () => {
  const agents: Record<string, AgentSpec> = {}
  for (let n = 0; n < 7; n += 1)
    agents[`a${n}`] = {
      script: async (turn) => {
        const r = valueOf(
          await turn.tool('sub_agent', {
            agent_name: `a${n + 1}`,
            task: `level ${n + 1}`,
            allow_nested_calls: true,
          }),
        )
        return r['success'] === true ? String(r['output']) : `stopped at ${n}: ${String(r['errors'])}`
      },
    }
  const w = await world({ agents })
  const { output } = await w.run('a0', 'start')
  expect(output).toMatch(/^stopped at 5: This call would be 6 hops deep; the server allows 5/)
  expect((await w.events('call.opened')).length).toBe(5)
  expect((await w.events('call.refused')).map(({ event }) => event.refusal.code)).toEqual(['call_too_deep'])
})

test('R11: ten simultaneous calls from one caller are accepted and the eleventh is refused', async () => {
  const script: ScriptedFunction = async (turn) => {
    const all = await Promise.all(
      Array.from({ length: 11 }, (_, n) =>
        turn.tool('sub_agent', { agent_name: 'worker', task: `part ${n}` }),
      ),
    )
    return JSON.stringify(all.map((answer) => valueOf(answer)['outcome']))
  }
  let running = 0
  let most = 0
  const w = await world({
    agents: {
      boss: { script },
      worker: {
        script: async (turn) => {
          running += 1
          most = Math.max(most, running)
          await turn.think('hm')
          await w.clock.sleep(1000)
          running -= 1
          return 'ok'
        },
      },
    },
  })
  const outcomes: string[] = JSON.parse((await w.run('boss', 'go')).output)
  expect(outcomes.filter((outcome) => outcome === 'completed').length).toBe(10)
  expect(outcomes.filter((outcome) => outcome === 'refused').length).toBe(1)
  expect(most).toBe(10)
  expect((await w.events('call.refused'))[0]?.event.refusal).toMatchObject({
    code: 'too_many_calls',
    open: 10,
    openMax: 10,
  })
})

test('R11: calls in the background are none of the ten that a caller waits for, and end with their turn', async () => {
  const script: ScriptedFunction = async (turn) => {
    const later = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        turn.tool('sub_agent', { agent_name: 'worker', task: `later ${n}`, background: true }),
      ),
    )
    const now = await Promise.all(
      Array.from({ length: 11 }, (_, n) =>
        turn.tool('sub_agent', { agent_name: 'worker', task: `now ${n}` }),
      ),
    )
    return JSON.stringify([later, now].map((answers) => answers.map((answer) => valueOf(answer)['outcome'])))
  }
  const w = await world({
    agents: {
      boss: { script },
      worker: {
        script: async (turn) => {
          await w.clock.sleep(turn.task.startsWith('later') ? 100_000 : 1000, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const [later, now] = JSON.parse((await w.run('boss', 'go')).output) as (string | null)[][]
  expect(later).toEqual(Array.from({ length: 12 }, () => null))
  expect(now?.toSorted()).toEqual([...Array.from({ length: 10 }, () => 'completed'), 'refused'])
  await w.rest()
  expect((await w.events('call.ended')).filter(({ event }) => event.outcome === 'cancelled').length).toBe(12)
})

test('a task over 100 KiB is refused with its size, at the exact byte', async () => {
  const w = await world({
    agents: {
      a: {
        script: (turn) => callAs('b', turn.task === 'over' ? 'ü'.repeat(51_201) : 'ü'.repeat(51_200))(turn),
      },
      b: { script: () => 'ok' },
    },
    limits: { contextTokens: 200_000 },
  })
  expect(JSON.parse((await w.run('a', 'over')).output).errors[0]).toContain(
    'task has 102402 bytes; at most 102400 are taken',
  )
  expect(JSON.parse((await w.run('a', 'fits')).output).success).toBe(true)
})

test('queue, descendants and rate are bounded with typed refusals', async () => {
  const many =
    (target: string, count: number): ScriptedFunction =>
    async (turn) => {
      const outcomes: unknown[] = []
      for (let n = 0; n < count; n += 1)
        outcomes.push(valueOf(await turn.tool('sub_agent', { agent_name: target, task: `t${n}` }))['outcome'])
      return JSON.stringify(outcomes)
    }
  const w = await world({
    agents: { a: { script: many('b', 6) }, b: {} },
    limits: { descendantsPerFlowMax: 4 },
  })
  expect(JSON.parse((await w.run('a', 'go')).output)).toEqual([
    'completed',
    'completed',
    'completed',
    'completed',
    'refused',
    'refused',
  ])
  const rated = await world({ agents: { a: { script: many('b', 5) }, b: {} }, limits: { callsPerMinute: 3 } })
  expect(JSON.parse((await rated.run('a', 'go')).output)).toEqual([
    'completed',
    'completed',
    'completed',
    'refused',
    'refused',
  ])
  expect((await rated.events('call.refused'))[0]?.event.refusal).toMatchObject({
    code: 'rate_limited',
    perMinute: 3,
  })
})
