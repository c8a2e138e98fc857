import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import { recordedProgress } from './ending.ts'
import { toTurnId } from '../../model/id.ts'

test('what a turn whose node is gone had done names the tools that it called with, too', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          await turn.tool('sub_agent', { agent_name: 'coder', task: 'x' })
          await turn.tool('list_agents', {})
          return 'ok'
        },
      },
      coder: {},
    },
  })
  await w.run('boss', 'go')
  const [sent] = await w.events('message.sent')
  const row = await w.store.turn(sent?.event.turn ?? toTurnId('call_none'))
  if (row === null) throw new Error('it is not there')
  expect((await recordedProgress(w.node.runtime, row)).toolCalls.toSorted()).toEqual([
    'list_agents',
    'sub_agent',
  ])
})
