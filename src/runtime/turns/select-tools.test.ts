import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'

test('of what the tools did, no more messages pass than were asked for', async () => {
  const boss: ScriptedFunction = async (turn) => {
    const call = turn.task.startsWith('call ')
      ? JSON.parse(turn.task.slice(5))
      : { agent_name: 'child', task: 'zebras' }
    return String(
      valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'look', ...call }))['output'],
    )
  }
  const w = await world({
    agents: {
      boss: { script: boss },
      child: { tools: [], script: (turn) => JSON.stringify(turn.history.map(({ steps }) => steps)) },
    },
  })
  const { session } = await w.run('boss', 'one')
  const at = { session: session as `ses_${string}` }
  for (const task of ['two', 'three']) await w.run('boss', task, at)
  const ask = async (last: number): Promise<unknown[]> => {
    const context = { roles: ['tool'], keywords: ['zebras'], last_messages: last }
    const { output } = await w.run('boss', `call ${JSON.stringify({ context })}`, at)
    return JSON.parse(output) as unknown[]
  }
  expect([(await ask(0)).length, (await ask(1)).length, (await ask(2)).length]).toEqual([0, 1, 2])
})
