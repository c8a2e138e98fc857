/** Requests as lists show them. */
import { expect, test } from 'vitest'
import { ask, client, use } from '../../../test/kits/mortal.ts'
import { world } from '../../../test/kits/world.ts'
import { listFlows, summariseFlow } from './flows.ts'

test('what a client only looked up is no request; what it asked for is one', async () => {
  const w = await world({ agents: { coder: { script: () => 'did it' } } })
  const who = await client(w)
  await w.until(w.exchange.useTool(who, 'sub_agent', ask, use()))
  const { flows } = await listFlows(w.node.runtime, { limit: 10, before: null })
  expect(flows.map(({ task, agent, outcome }) => [task, agent, outcome])).toEqual([
    ['it', 'coder', 'completed'],
  ])
  // Looks have no turns of their own any more; logs of earlier versions have such turns.
  const asked = (await w.events('message.sent'))[0]?.event
  if (asked === undefined) throw new Error('nothing was asked')
  const look = { tool: 'get_session_state', input: {} }
  const old = { turn: 'turn_look' as const, message: 'msg_look', flow: 'flow_look' as const, use: look }
  await w.store.transact([`session:${asked.session}`, 'flow:flow_look'], async (tx) =>
    tx.append({ ...asked, ...old, text: look.tool }),
  )
  expect(await summariseFlow(w.node.runtime, { turn: 'turn_look', seen: false })).toBeNull()
})

test('a request says how many calls it made, and how many of them failed', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          for (const agent_name of ['good', 'bad', 'bad'])
            await turn.tool('sub_agent', { agent_name, task: `for ${agent_name}` })
          return 'ok'
        },
      },
      good: {},
      bad: { script: () => Promise.reject(new Error('broke')) },
    },
  })
  await w.run('boss', 'go')
  const { flows } = await listFlows(w.node.runtime, { limit: 10, before: null })
  expect(flows.map(({ calls, failedCalls, outcome }) => [calls, failedCalls, outcome])).toEqual([
    [3, 2, 'completed'],
  ])
})

test('a request of a client that was refused ended as refused', async () => {
  const w = await world({ agents: { coder: {} } })
  const nobody = { agent_name: 'nobody', task: 'x' }
  await w.until(w.exchange.useTool(await client(w), 'sub_agent', nobody, use()))
  const { flows } = await listFlows(w.node.runtime, { limit: 10, before: null })
  expect(flows.map(({ outcome, error }) => [outcome, error?.includes('nobody')])).toEqual([['refused', true]])
})
