/** Who hears of a result that comes after its deadline. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'

test.each([
  ['its caller', false],
  ['the session above its caller, where that was deleted meanwhile', true],
])('a result that comes too late goes to %s', async (_who, isDeleted) => {
  let caller = ''
  const w = await world({
    agents: {
      root: {
        script: async (turn) => {
          await turn.tool('call_agent', { agent_id: caller, message: 'go' })
          return 'done'
        },
      },
      middle: {
        script: async (turn) => {
          if (turn.task !== 'go') return 'hello'
          await turn.tool('call_agent', { agent_id: 'slow', message: 'x', timeout_ms: 2000 })
          return 'gave up'
        },
      },
      slow: {
        script: async () => {
          await w.clock.sleep(9000)
          return 'late'
        },
      },
    },
  })
  caller = (await w.run('middle', 'hello')).session ?? ''
  const root = (await w.run('root', 'go')).session
  expect((await w.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['timed_out', 'completed'])
  if (isDeleted) await w.desks.as({}).sessions.archive(caller)
  await w.pass(12_000)
  expect((await w.events('notice.raised')).map(({ event }) => event.session)).toEqual([
    isDeleted ? root : caller,
  ])
})
