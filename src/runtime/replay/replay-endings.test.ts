/** Turns that did not end well, or not on the node where they began, replay as they went. */
import { expect, test } from 'vitest'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { valueOf, world } from '../../../test/kits/world.ts'
import { scriptedDriver } from '../../adapters/scripted/drive.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Driver, Tool } from '../kernel/ports.ts'
import { counting, call } from '../../../test/kits/busy-night.ts'

test('a driver that computes something else, or waits for something outside, is a difference, not a hang', async () => {
  let n = 0
  const w = await world({
    agents: {
      a: { script: async (turn) => turn.think(`number ${n++}`) },
      b: {
        script: async (turn) => {
          if (n > 0 && turn.task === 'later') await new Promise(() => undefined)
          return 'b'
        },
      },
    },
  })
  await w.run('a', 'go')
  expect((await replayed(w, await flowOf(w))).difference).toMatchObject({
    recorded: expect.stringContaining('number 0'),
    replayed: expect.stringContaining('number 1'),
  })
  n = 0
  await w.run('b', 'later')
  n = 1
  expect((await replayed(w, await flowOf(w))).difference?.why).toContain(
    'waits for something that is not in the record',
  )
})

test('a turn that ran out of tokens and one whose driver broke end again as they did', async () => {
  const broken: Driver = {
    run: async (_turn, steps) => {
      await steps.step('model', 'm', 1, async () => ({ value: 'a', usage: null }))
      await steps.step('model', 'm', 2, async () => Promise.reject(new Error('the wire is cut')))
      throw new Error('never')
    },
  }
  const w = await world({
    agents: {
      spender: {
        script: async (turn) => {
          for (let n = 0; ; n += 1) await turn.think(`many words ${n}`.repeat(5))
        },
      },
      broken: { driver: broken },
      boss: {
        script: async (turn) =>
          String(
            valueOf(await turn.tool('sub_agent', call('spender', 'spend', { max_tokens: 200 })))['outcome'],
          ),
      },
    },
  })
  await w.run('spender', 'go', { maxTokens: 100 })
  expect(await replayed(w, await flowOf(w))).toMatchObject({ difference: null, equal: true })
  await w.run('boss', 'go', { maxTokens: 3000 })
  expect(await replayed(w, await flowOf(w))).toMatchObject({ difference: null, equal: true })
  expect((await w.run('broken', 'go')).error).toBe('the wire is cut')
  expect(await replayed(w, await flowOf(w))).toMatchObject({
    difference: null,
    equal: true,
    turns: [{ notes: ['the last step left no result in the record; it broke with: the wire is cut'] }],
  })
})

test('a turn that was cancelled is compared up to there', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          await turn.think('first')
          await turn.tool('sub_agent', call('b', 'wait'))
          return 'never'
        },
      },
      b: { script: () => new Promise<string>(() => undefined) },
    },
  })
  const run = w.ask('a', 'go')
  await w.rest()
  const early = await replayed(w, await flowOf(w))
  expect(early).toMatchObject({
    equal: true,
    turns: [
      { agent: 'a', stop: 'the record ends before the turn does', events: 2 },
      { agent: 'b', events: 0 },
    ],
  })
  await run.cancel('enough')
  await w.until(run)
  await w.pass(3000)
  expect(await replayed(w, await flowOf(w))).toMatchObject({
    equal: true,
    difference: null,
    turns: [{ agent: 'a', stop: 'the turn was stopped (cancelled: enough)', events: 2 }, { agent: 'b' }],
  })
})

test('R10: a turn that another node took over replays like any other', async () => {
  const runs: string[] = []
  let hang = true
  const risky: Tool = {
    ...counting('mark', 'write', runs),
    run: async () => {
      runs.push('mark')
      if (hang) await new Promise(() => undefined)
      return { ok: true, value: 1 }
    },
  }
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          await turn.think('one')
          const x = await turn.tool('mark', {})
          await turn.tool('sub_agent', call('b', 'part'))
          return turn.think(JSON.stringify(x.value))
        },
      },
      b: {},
    },
    tools: [risky],
  })
  void w.ask('a', 'go')
  await w.rest()
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
  hang = false
  await w.addNode()
  await w.pass(8000)
  expect((await w.events('session.claimed')).length).toBe(1)
  expect(await replayed(w, await flowOf(w))).toMatchObject({
    equal: true,
    difference: null,
    turns: [{ agent: 'a', stop: null }, { agent: 'b' }],
  })
  expect(runs).toEqual(['mark'])
})

test('summaries, schemas with their repair, and refusals that stood on how busy others were replay too', async () => {
  const asks = {
    summary: call('b', 'with summary', { context: { include_summary: true, roles: ['user', 'tool'] } }),
    schema: call('c', 'json', { output_schema: { type: 'object' } }),
  }
  const a: ScriptedFunction = async (turn) => {
    if (turn.task !== 'go') {
      await turn.tool('look', {})
      return `noted ${turn.task}`
    }
    const first = [await turn.tool('sub_agent', asks.summary), await turn.tool('sub_agent', asks.schema)]
    const both = await Promise.all([
      turn.tool('sub_agent', call('b', 'one')),
      turn.tool('sub_agent', call('b', 'one too many')),
    ])
    return [...first, ...both].map((answer) => JSON.stringify(answer.value)).join('\n')
  }
  const w = await world({
    agents: {
      a: { script: a },
      b: {},
      c: { script: async (turn) => turn.think(turn.prompt.includes('Problems:') ? '{}' : 'a first try') },
    },
    tools: [counting('look', 'read', [])],
    limits: { callsPerCallerMax: 1 },
  })
  const { session } = await w.run('a', 'remember this')
  await w.run('a', 'go', { session: session as `ses_${string}` })
  expect((await w.events('call.refused')).map(({ event }) => event.refusal.code)).toEqual(['too_many_calls'])
  expect((await w.events('step.ended')).some(({ event }) => event.kind === 'summary')).toBe(true)
  expect(await replayed(w, await flowOf(w))).toMatchObject({ difference: null, equal: true })
})

test('an agent that runs by rules replays without its rules being asked', async () => {
  const w = await world({ agents: { a: { tools: ['*'] }, b: {} } })
  const driver = scriptedDriver(
    [
      {
        when: { iteration: 1 },
        tools: [
          { name: 'sub_agent', input: call('b', 'x') },
          { name: 'sub_agent', input: call('b', 'y') },
        ],
      },
      { say: 'it is {{result.output}}', delayMs: 5 },
    ],
    { clock: w.clock, count: (text) => text.length },
  )
  const ruled = await world({ agents: { a: { driver }, b: {} }, clock: w.clock })
  await ruled.run('a', 'go')
  expect(await replayed(ruled, await flowOf(ruled))).toMatchObject({
    difference: null,
    equal: true,
    events: 9,
  })
})
