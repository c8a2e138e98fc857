/** Rules and replays when the wall clock was set in the middle of a turn. */
import { expect, test } from 'vitest'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { valueOf, world } from '../../../test/kits/world.ts'

const hourMs = 3_600_000
const jumps = [-hourMs, 3 * hourMs, -1000, 1000] as const

test('after the clock went back an hour, the hour before does not count as the last minute', async () => {
  const w = await world({
    agents: {
      boss: {
        async script(turn) {
          const outcomes: unknown[] = []
          for (let n = 0; n < 6; n += 1) {
            if (n === 3) w.clock.jump(-hourMs)
            outcomes.push(
              valueOf(await turn.tool('sub_agent', { agent_name: 'b', task: `task ${n}` }))['outcome'],
            )
          }
          return JSON.stringify(outcomes)
        },
      },
      b: {},
    },
    limits: { callsPerMinute: 3 },
  })
  expect(JSON.parse((await w.run('boss', 'go')).output)).toEqual(Array.from({ length: 6 }, () => 'completed'))
})

test.each(jumps)('R10: a turn in which the wall clock was set by %i ms replays as it was', async (jumpMs) => {
  let left = 1
  const w = await world({
    agents: {
      boss: {
        async script(turn) {
          if (left-- > 0) w.clock.jump(jumpMs)
          return JSON.stringify((await turn.tool('sub_agent', { agent_name: 'b', task: 'x' })).value)
        },
      },
      b: {},
    },
  })
  expect((await w.run('boss', 'go')).output).toContain('completed')
  expect((await replayed(w, await flowOf(w))).turns.map((turn) => turn.difference)).toEqual([null, null])
})
