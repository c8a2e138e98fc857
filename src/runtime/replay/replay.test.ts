import { describe, expect, test } from 'vitest'
import { flowOf, replayed, tampered } from '../../../test/kits/replay.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import { scriptedDriver } from '../../adapters/scripted/drive.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Event } from '../../model/event.ts'
import type { Driver, Tool, ToolEffect } from '../kernel/ports.ts'

const counting = (name: string, effect: ToolEffect, runs: string[]): Tool => ({
  name,
  effect,
  calling: false,
  describe: () => ({ name, description: '', input: {} }),
  run: async (input) => {
    runs.push(`${name} ${JSON.stringify(input)}`)
    return { ok: true, value: { done: runs.length } }
  },
})

/** Answers as a model would, one request a step, and counts how often it was asked. */
const modelLike = (asked: string[], calls: number): Driver => ({
  async run(turn, steps) {
    let text = ''
    for (let n = 1; n <= calls; n += 1) {
      const answer = await steps.step('model', 'm', { n, text }, async () => {
        asked.push(turn.task)
        return { value: { text: `${turn.task} ${n}` }, usage: { input: 3, output: 4, estimated: false } }
      })
      text = String((answer as { text: string }).text)
      const got = await steps.tool('look', { n })
      text += JSON.stringify(got.value)
    }
    return { outcome: 'completed', output: text, error: null, iterations: calls }
  },
})

const call = (agent: string, task: string, more: object = {}) => ({ agent_name: agent, task, ...more })

type Recorded = { w: World; runs: string[]; asked: string[] }

/**
 * Nested and parallel calls, tools with effects, refusals, a timeout, messages passed on, and a background
 * call.
 */
async function busyNight(): Promise<Recorded> {
  const runs: string[] = []
  const asked: string[] = []
  const boss: ScriptedFunction = async (turn) => {
    await turn.think('let me see')
    if (turn.task === 'hello') return 'hello, I am the boss'
    await turn.tool('mark', { by: 'boss' })
    const [a, b] = await Promise.all([
      turn.tool('sub_agent', call('mid', 'left', { allow_nested_calls: true })),
      turn.tool('sub_agent', call('model', 'right', { context: { last_messages: 4 }, input: { x: 1 } })),
    ])
    const refused = [
      await turn.tool('sub_agent', call('nobody', 'x')),
      await turn.tool('sub_agent', call('boss', 'again')),
      await turn.tool('sub_agent', { task: 3 }),
    ]
    const late = await turn.tool('sub_agent', call('sleeper', 'wait', { timeout_seconds: 1 }))
    const background = valueOf(await turn.tool('sub_agent', call('model', 'later', { background: true })))
    const waited = await turn.tool('wait_for_call', { call_id: background['call_id'] as string })
    const asked = await turn.tool('call_agent', { agent_id: 'keeper', message: 'what is new?' })
    await turn.tool('no_such_tool', {})
    return [a, b, ...refused, late, waited, asked].map((answer) => JSON.stringify(answer.value)).join('\n')
  }
  const w = await world({
    agents: {
      boss: { script: boss },
      mid: {
        script: async (turn) => {
          const marked = await turn.tool('mark', { by: 'mid' })
          const answered = await turn.tool('sub_agent', call('model', 'deep'))
          return `${marked.ok} ${JSON.stringify(answered.value)}`
        },
      },
      model: { driver: modelLike(asked, 2) },
      keeper: { script: async (turn) => turn.think(`heard ${turn.history.length}`) },
      sleeper: {
        script: (turn) =>
          new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason))),
      },
    },
    tools: [counting('mark', 'write', runs), counting('look', 'read', runs)],
  })
  const first = await w.run('boss', 'hello')
  await w.run('boss', 'go', { session: first.session as `ses_${string}` })
  await w.pass(5000)
  return { w, runs, asked }
}

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

const change = <T extends Event['type']>(
  type: T,
  nth: number,
  edit: (event: Extract<Event, { type: T }>) => Event[],
) => {
  let seen = 0
  return (events: Event[]): Event[] =>
    events.flatMap((event) =>
      event.type === type && seen++ === nth ? edit(event as Extract<Event, { type: T }>) : [event],
    )
}

describe('a log that was tampered with shows its first difference with both sides', () => {
  const recorded = async (): Promise<World> => {
    const w = await world({
      agents: {
        a: {
          script: async (turn) => {
            const x = await turn.think('one')
            const y = await turn.tool('sub_agent', call('b', 'part', { max_context_tokens: 500 }))
            return turn.think(`${x} ${String(valueOf(y)['output'])}`)
          },
        },
        b: { script: async (turn) => JSON.stringify((await turn.tool('look', { n: 1 })).value) },
      },
      tools: [counting('look', 'read', [])],
    })
    await w.run('a', 'go')
    expect((await replayed(w, await flowOf(w))).equal).toBe(true)
    return w
  }
  const difference = async (edit: (events: Event[]) => Event[]) => {
    const w = await recorded()
    const { equal, difference: found } = await replayed(w, await flowOf(w), await tampered(w, edit))
    expect(equal).toBe(false)
    return found
  }

  test('a changed answer of a step', async () => {
    expect(
      await difference(
        change('step.ended', 0, (event) => [
          { ...event, output: { text: 'uno', toolCalls: [], finish: 'stop' } },
        ]),
      ),
    ).toMatchObject({
      agent: 'a',
      why: 'the turn asked for something else than what was recorded next',
      recorded: expect.stringContaining('one {'),
      replayed: expect.stringContaining('uno {'),
    })
  })

  test('a changed answer of a tool', async () => {
    expect(
      await difference(change('step.ended', 1, (event) => [{ ...event, output: { done: 7 } }])),
    ).toMatchObject({
      agent: 'b',
      why: 'call.ended is not what it was',
      recorded: expect.stringContaining('\\"done\\":1'),
      replayed: expect.stringContaining('\\"done\\":7'),
    })
  })

  test('a missing step', async () => {
    expect(await difference(change('step.ended', 1, () => []))).toMatchObject({
      agent: 'b',
      why: 'the turn asked for an effect that is not in its record',
      recorded: expect.stringContaining('turn.ended'),
      replayed: '{"asks":"tool","input":{"n":1},"name":"look"}',
    })
  })

  test('a step that never was', async () => {
    expect(
      await difference(
        change('step.ended', 0, (event) => [event, { ...event, key: 'planted', output: 'planted' }]),
      ),
    ).toMatchObject({
      agent: 'a',
      recorded: expect.stringContaining('planted'),
      replayed: expect.stringContaining('call.opened'),
    })
  })

  test('another order', async () => {
    const w = await recorded()
    const steps = (await w.events('step.ended'))
      .filter(({ event }) => event.kind === 'model')
      .map(({ event }) => event)
    const swapped = await tampered(w, (events) =>
      events.map((event) =>
        event.type === 'step.ended' && event.kind === 'model'
          ? (steps.find((step) => step.key !== event.key) ?? event)
          : event,
      ),
    )
    expect((await replayed(w, await flowOf(w), swapped)).difference).toMatchObject({
      agent: 'a',
      why: 'the turn asked for something else than what was recorded next',
      recorded: expect.stringContaining('one {'),
      replayed: expect.stringContaining('"text":"one"'),
    })
  })

  test('more authority than the caller had', async () => {
    expect(
      await difference(
        change('call.opened', 0, (event) => [{ ...event, grant: { ...event.grant, depth: 0 } }]),
      ),
    ).toMatchObject({
      why: 'call.opened is not what it was',
      recorded: expect.stringContaining('"depth":0'),
      replayed: expect.stringContaining('"depth":1'),
    })
  })

  test('another task', async () => {
    expect(
      await difference(change('call.opened', 0, (event) => [{ ...event, task: 'another' }])),
    ).toMatchObject({ why: 'call.opened is not what it was', recorded: expect.stringContaining('another') })
  })

  test('another end', async () => {
    expect(
      await difference(change('turn.ended', 1, (event) => [{ ...event, tokensUsed: event.tokensUsed + 1 }])),
    ).toMatchObject({ agent: 'a', why: 'turn.ended is not what it was' })
  })
})

test('an agent that is not configured here is named, and its turns are not called equal', async () => {
  const w = await world({ agents: { a: {} } })
  await w.run('a', 'go')
  const stranger = await world({ agents: { b: {} } })
  const result = await replayed(stranger, await flowOf(w), w.store)
  expect([result.equal, result.difference?.why]).toEqual([
    false,
    'the agent "a" is not configured here, so its turns cannot be run again; known are b',
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
    'there is no call "call_none" in this log. It has none.',
  )
  await expect(replayed(w, 'flow_none')).rejects.toThrow(
    `there is no flow "flow_none" in this log. The newest are ${flow}.`,
  )
  await expect(replayed(w, 'night')).rejects.toThrow(
    '"night" is no id: those of calls begin with call_, of sessions with ses_, of flows with flow_. ' +
      `The newest are ${flow}.`,
  )
  await expect(replayed(w, refused?.event.call ?? '')).rejects.toThrow(
    `was refused, so nothing ran for it. Ask for its caller instead: ${refused?.event.session}.`,
  )
})

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
