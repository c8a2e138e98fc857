import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import { cancel } from '../turns/ending.ts'

type Desk = ReturnType<World['desks']['as']>

async function desks(): Promise<{ w: World; one: Desk; other: Desk }> {
  const w = await world({
    agents: {
      coder: { script: (turn) => `did ${turn.task}` },
      slow: { script: async (turn) => (await w.clock.sleep(60_000, turn.signal), 'late') },
    },
  })
  const open = async (name: string) =>
    w.desks.as({ who: { kind: 'session', session: await w.exchange.clientSession(name, '/tmp') } })
  return { w, one: await open('one'), other: await open('other') }
}

test('a client lists the calls of its own session without naming it, and not those of others', async () => {
  const { w, one, other } = await desks()
  await w.until(one.calls.open({ agent: 'coder', task: 'mine' }))
  await w.until(other.calls.open({ agent: 'coder', task: 'theirs' }))
  const listed = await w.until(one.calls.list())
  expect('calls' in listed && listed.calls.map(({ task }) => task)).toEqual(['mine'])
})

test('a client whose request was stopped is told which call it was', async () => {
  const { w, one } = await desks()
  const answer = one.calls.open({ agent: 'slow', task: 'wait' })
  await w.pass(1000)
  const [opened] = await w.events('call.opened')
  const turn = opened?.event.turn ?? 'turn_none'
  await cancel(w.node.runtime, turn, 'cancelled', 'asked by the user')
  expect(await w.until(answer)).toMatchObject({
    agent_name: 'slow',
    outcome: 'cancelled',
    call_id: opened?.event.call,
  })
})
