import { expect, test } from 'vitest'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { world } from '../../../test/kits/world.ts'
import { call, busyNight } from '../../../test/kits/busy-night.ts'

test('R10: a flow with nested calls, refusals, a timeout and tools replays equal, and nothing runs', async () => {
  const { w, runs, asked } = await busyNight()
  const [ran, wasAsked] = [runs.length, asked.length]
  const result = await replayed(w, await flowOf(w))
  expect(result.difference).toBeNull()
  expect(result.equal).toBe(true)
  expect(result.turns.map((turn) => turn.agent).toSorted()).toEqual([
    'boss',
    'keeper',
    'mid',
    'model',
    'model',
    'model',
    'sleeper',
  ])
  expect(result.turns.filter((turn) => turn.stop !== null).map((turn) => [turn.agent, turn.stop])).toEqual([
    ['sleeper', 'the turn was stopped (timed_out: deadline)'],
  ])
  expect(result.events).toBeGreaterThan(25)
  expect([runs.length, asked.length]).toEqual([ran, wasAsked])
  expect(ran).toBeGreaterThan(0)
})

test('a call and a session are replayed with everything below them, with the same hash each time', async () => {
  const { w } = await busyNight()
  const [mid] = await w.events('call.opened')
  const one = await replayed(w, mid?.event.call ?? '')
  expect([one.equal, one.kind, one.turns.map((turn) => turn.agent)]).toEqual([true, 'call', ['mid', 'model']])
  const session = await replayed(w, (await w.events('message.sent'))[0]?.event.session ?? '')
  expect([session.equal, session.turns.length]).toEqual([true, 8])
  expect((await replayed(w, mid?.event.call ?? '')).hash).toBe(one.hash)
  expect(one.hash).not.toBe(session.hash)
})

test('two recordings of the same work have the same hash, though their ids and times differ', async () => {
  const record = async (warmUps: number): Promise<string> => {
    const w = await world({
      agents: {
        a: {
          script: async (turn) => {
            await turn.tool('sub_agent', call('b', 'part'))
            return turn.think('done')
          },
        },
        b: { script: () => 'part done' },
      },
    })
    for (let n = 0; n < warmUps; n += 1) await w.run('b', 'warm up')
    await w.run('a', 'go')
    return (await replayed(w, await flowOf(w))).hash
  }
  expect(await record(0)).toBe(await record(3))
})

test('an agent that is not configured here is named, and its turns are not called equal', async () => {
  const w = await world({ agents: { a: {} } })
  await w.run('a', 'go')
  const stranger = await world({ agents: { b: {} } })
  const result = await replayed(stranger, await flowOf(w), w.store)
  expect([result.equal, result.difference?.why]).toEqual([
    false,
    'the agent "a" is not configured here, so its turns cannot be run again; the known ones are b',
  ])
})

test('an id that names nothing is answered with what would be right', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) => JSON.stringify((await turn.tool('sub_agent', call('nobody', 'x'))).value),
      },
    },
  })
  await w.run('a', 'go')
  const flow = await flowOf(w)
  const [refused] = await w.events('call.refused')
  await expect(replayed(w, 'call_none')).rejects.toThrow(
    `there is no call "call_none" in this log. The newest are ${refused?.event.call ?? ''}.`,
  )
  await expect(replayed(w, 'flow_none')).rejects.toThrow(
    `there is no flow "flow_none" in this log. The newest are ${flow}.`,
  )
  await expect(replayed(w, 'night')).rejects.toThrow(
    `no flow, call or session has "night" in its id. The newest are ${flow}.`,
  )
  await expect(replayed(w, refused?.event.call ?? '')).rejects.toThrow(
    `was refused, so nothing ran for it. Ask for its caller instead: ${refused?.event.session}.`,
  )
})

test('a call into a project that was not trusted is replayed as refused, also after it was trusted', async () => {
  const script: ScriptedFunction = async (turn) =>
    JSON.stringify((await turn.tool('sub_agent', call('b', 'x'))).value)
  const agents = { a: { script } }
  for (const state of ['new', 'changed'] as const) {
    const w = await world({ agents, untrusted: [{ file: '/p/tieline.toml', state, agents: ['b'] }] })
    await w.run('a', 'go')
    const [refused] = await w.events('call.refused')
    expect(refused?.event.refusal.code).toBe('project_untrusted')
    const trusted = await world({ agents: { ...agents, b: {} } })
    expect(await replayed(trusted, await flowOf(w), w.store)).toMatchObject({ equal: true })
  }
})

test('an agent that could not be run then is replayed as refused, and one that could as called', async () => {
  const script: ScriptedFunction = async (turn) =>
    JSON.stringify((await turn.tool('sub_agent', call('b', 'x'))).value)
  const agents = { a: { script }, b: {} }
  const hindrance = { why: 'the server does not have the variable KEY', cure: 'set KEY' }
  const away = await world({ agents, unavailable: (name) => (name === 'b' ? hindrance : null) })
  const there = await world({ agents })
  for (const [recorded, other] of [
    [away, there],
    [there, away],
  ] as const) {
    await recorded.run('a', 'go')
    expect(await replayed(other, await flowOf(recorded), recorded.store)).toMatchObject({ equal: true })
  }
  const [refused] = await away.events('call.refused')
  expect(refused?.event.refusal).toEqual({ code: 'agent_unavailable', agent: 'b', ...hindrance })
})
