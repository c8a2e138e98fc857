import { expect, test } from 'vitest'
import { explained, handOn, never } from '../../../test/kits/explain.ts'
import { flowOf } from '../../../test/kits/replay.ts'
import { world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import { toTurnId } from '../../model/id.ts'
import { cancel } from '../turns/ending.ts'
import type { Tool } from '../kernel/ports.ts'

test('while it stalls: who waits for whom, since when, until when, and where it stands still', async () => {
  const w = await world({
    agents: {
      a: { script: handOn('b', 'the middle', { timeout_seconds: 100 }) },
      b: { script: handOn('c', 'the end') },
      c: { script: never },
    },
  })
  void w.ask('a', 'go')
  await w.rest()
  await w.pass(10_000)
  const flow = await flowOf(w)
  const found = await explained(w, flow)
  expect(found.waits.map(({ agent, by, forAgent, task }) => [agent, by, forAgent, task])).toEqual([
    ['a', 'call', 'b', 'the middle'],
    ['b', 'call', 'c', 'the end'],
  ])
  expect(found.busy).toMatchObject([
    { agent: 'c', doing: expect.stringContaining('it waits for its model or driver'), stopping: null },
  ])
  expect(found.over).toBe(false)
  expect(found.text.split('\n')).toEqual([
    'a waits for b (call_…, deadline in 90 s), which waits for c (call_…, deadline in 88 s), which has begun ' +
      'and recorded nothing yet: it waits for its model or driver (for 10 s, deadline in 88 s).',
    'Waiting:',
    '  a (turn_…) waits for b (call_…) for 10 s, deadline in 90 s: "the middle"',
    '  b (turn_…) waits for c (call_…) for 10 s, deadline in 88 s: "the end"',
    'Working:',
    '  c (turn_…) has begun and recorded nothing yet: it waits for its model or driver ' +
      '(for 10 s, deadline in 88 s)',
  ])
  const [call] = await w.events('call.opened')
  expect((await explained(w, call?.event.target ?? '')).waits.length).toBe(2)
})

test('after it ended: a call was cancelled because one further up was stopped', async () => {
  const w = await world({
    agents: {
      a: { script: handOn('b', 'the middle') },
      b: { script: handOn('c', 'the next') },
      c: { script: handOn('d', 'the end') },
      d: { script: never },
    },
  })
  const run = w.ask('a', 'go')
  await w.rest()
  const [middle] = await w.events('call.opened')
  await cancel(w.node.runtime, toTurnId(middle?.event.call ?? 'call_'), 'cancelled', 'too slow')
  await w.until(run)
  await w.pass(5000)
  const found = await explained(w, await flowOf(w))
  expect(found).toMatchObject({ over: true, waits: [], busy: [] })
  expect(found.text).toBe(`a is done, 5.0 s ago.
Ended without an answer:
  c (call_…): cancelled, the call above it ended (cancelled)
    because call_… to b ended (cancelled: too slow)
  d (call_…): cancelled, the call above it ended (cancelled)
    because call_… to c ended (cancelled: the call above it ended (cancelled))
    because call_… to b ended (cancelled: too slow)
  b (call_…): cancelled, too slow`)
})

test('a deadline is named as the cause, with the time that there was', async () => {
  const w = await world({
    agents: { a: { script: handOn('b', 'part', { timeout_seconds: 5 }) }, b: { script: never } },
  })
  await w.run('a', 'go')
  await w.pass(5000)
  expect((await explained(w, await flowOf(w))).ended).toMatchObject([
    { agent: 'b', outcome: 'timed_out', cause: 'deadline', because: [] },
  ])
})

test('a cancel from outside is named as the cause of what ended below it', async () => {
  const w = await world({ agents: { a: { script: handOn('b', 'part') }, b: { script: never } } })
  const run = w.ask('a', 'go')
  await w.rest()
  await run.cancel('enough')
  await w.until(run)
  await w.pass(5000)
  expect((await explained(w, await flowOf(w))).ended).toMatchObject([
    {
      agent: 'b',
      outcome: 'cancelled',
      cause: 'the turn that made it was stopped (cancelled)',
      because: ['the turn of a was stopped (cancelled: enough)'],
    },
    { agent: 'a', outcome: 'cancelled', cause: 'enough', because: [] },
  ])
})

test('what is queued waits for the turn before it, also of another flow, and for what that one waits for', async () => {
  const ask: ScriptedFunction = async (turn) =>
    JSON.stringify(
      (await turn.tool('call_agent', { agent_id: 'keeper', message: turn.task, timeout_ms: 100_000 })).value,
    )
  const w = await world({
    agents: {
      a: { script: ask },
      b: { script: ask },
      keeper: { script: handOn('slow', 'think') },
      slow: { script: never },
    },
  })
  void w.ask('a', 'first')
  await w.rest()
  void w.ask('b', 'second')
  await w.rest()
  const found = await explained(w, await flowOf(w))
  expect(found.waits.map(({ agent, by, forAgent }) => [agent, by, forAgent])).toEqual(
    expect.arrayContaining([
      ['b', 'call', 'keeper'],
      ['keeper', 'queue', 'keeper'],
      ['keeper', 'call', 'slow'],
    ]),
  )
  expect(found.busy.map(({ agent }) => agent)).toEqual(['slow'])
  expect(found.text).toMatch(
    /keeper \(turn_…\) is queued for 0\.0 s, deadline in \d+ s: turn_… runs in its session ses_…/,
  )
})

test('a tool that hangs, a wait for a background call, and refusals are said', async () => {
  const hang: Tool = {
    name: 'hang',
    effect: 'write',
    calling: false,
    describe: () => ({ name: 'hang', description: '', input: {} }),
    run: () => new Promise(() => undefined),
  }
  const a: ScriptedFunction = async (turn) => {
    await turn.tool('sub_agent', { agent_name: 'nobody', task: 'x' })
    await turn.tool('sub_agent', { agent_name: 'a', task: 'y' })
    const { value } = await turn.tool('sub_agent', { agent_name: 'b', task: 'hang', background: true })
    return JSON.stringify(
      await turn.tool('wait_for_call', { call_id: (value as { call_id: string }).call_id }),
    )
  }
  const w = await world({
    agents: { a: { script: a }, b: { script: async (turn) => String((await turn.tool('hang', {})).ok) } },
    tools: [hang],
  })
  void w.ask('a', 'go')
  await w.rest()
  const found = await explained(w, await flowOf(w))
  expect(found.waits).toMatchObject([{ agent: 'a', by: 'wait', forAgent: 'b' }])
  expect(found.busy).toMatchObject([{ agent: 'b', doing: 'runs the tool hang, which has no result yet' }])
  expect(found.refused).toMatchObject([
    { caller: 'a', agent: 'nobody', code: 'agent_unknown' },
    { caller: 'a', agent: 'a', code: 'self_call' },
  ])
  expect(found.text).toContain(
    'a asked for nobody: agent_unknown. There is no agent "nobody". Known agents: a, b.',
  )
})

test('when all is well it says so', async () => {
  const w = await world({ agents: { a: {} } })
  await w.run('a', 'go')
  expect((await explained(w, await flowOf(w))).text).toBe(
    'Nothing of flow_… is running or waiting. Everything ended with an answer, and nothing was refused.',
  )
})
