/** What users of other systems suffered from, one test each, named after the symptom. */
import { expect, test } from 'vitest'
import type { ScriptedFunction, ScriptedTurn } from '../../src/adapters/scripted/run-function.ts'
import { valueOf, world } from '../kits/world.ts'

const forever = (turn: ScriptedTurn): Promise<never> =>
  new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
const call =
  (agent: string, more: Record<string, unknown> = {}): ScriptedFunction =>
  async (turn) =>
    JSON.stringify(
      (
        await turn.tool('sub_agent', {
          agent_name: agent,
          task: `for ${agent}`,
          allow_nested_calls: true,
          ...more,
        } as never)
      ).value,
    )

test('a wait of 300 s took 7.5 h: one stalled child does not hang its parent', async () => {
  const w = await world({
    agents: {
      parent: { script: call('stalled') },
      stalled: { driver: { run: () => new Promise(() => undefined) } },
    },
  })
  const start = w.clock.now()
  expect(JSON.parse((await w.run('parent', 'go')).output).outcome).toBe('timed_out')
  expect(w.clock.now() - start).toBeLessThanOrEqual(300_050)
})

test('19 children launched, 15 completions arrived: all of them arrive', async () => {
  const parent: ScriptedFunction = async (turn) => {
    const done: unknown[] = []
    for (const batch of [10, 9])
      done.push(
        ...(await Promise.all(
          Array.from({ length: batch }, (_, n) =>
            turn.tool('sub_agent', { agent_name: 'child', task: `${batch}-${n}` }),
          ),
        )),
      )
    return String(done.filter((answer) => valueOf(answer as never)['success'] === true).length)
  }
  const w = await world({
    agents: {
      parent: { script: parent },
      child: {
        script: async (turn) => {
          await w.clock.sleep(turn.task.length * 37)
          return 'done'
        },
      },
    },
  })
  expect((await w.run('parent', 'go')).output).toBe('19')
})

test('2 calls became 242 agents: a flow has a bound on what it creates, and a loop meets it', async () => {
  const breed: ScriptedFunction = async (turn) => {
    const others = ['a', 'b', 'c', 'd', 'e', 'f'].filter((name) => name !== turn.agent.name)
    const answers = await Promise.all(
      others.map((name) =>
        turn.tool('sub_agent', { agent_name: name, task: `${turn.task}${name}`, allow_nested_calls: true }),
      ),
    )
    return answers.map((answer) => String(valueOf(answer)['outcome'])).join(' ')
  }
  const w = await world({
    agents: Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, { script: breed }])),
    limits: { callsPerMinute: 100_000 },
  })
  await w.run('a', 'go')
  expect(
    (await w.events('session.created')).filter(({ event }) => event.kind === 'ephemeral').length,
  ).toBeLessThanOrEqual(100)
  expect(
    (await w.events('call.refused')).some(({ event }) => event.refusal.code === 'too_many_descendants'),
  ).toBe(true)
})

test('20 levels, 46 sessions: depth is derived by the server, never read from a request', async () => {
  const agents = Object.fromEntries(
    Array.from({ length: 21 }, (_, n) => [`a${n}`, { script: call(`a${n + 1}`) }]),
  )
  const w = await world({ agents })
  await w.run('a0', 'go')
  expect(Math.max(...(await w.events('call.opened')).map(({ event }) => event.grant.depth))).toBe(5)
})

test('the same task handed down unchanged is refused', async () => {
  const same: ScriptedFunction = async (turn) =>
    JSON.stringify(
      (
        await turn.tool('sub_agent', {
          agent_name: turn.agent.name === 'a' ? 'b' : 'c',
          task: 'fix the bug',
          allow_nested_calls: true,
        })
      ).value,
    )
  const w = await world({ agents: { a: { script: same }, b: { script: same }, c: {} } })
  await w.run('a', 'go')
  expect((await w.events('call.refused')).map(({ event }) => event.refusal.code)).toEqual(['task_repeated'])
})

test('agents that wait for each other do not stall: the closing edge is refused with its path', async () => {
  const next: Record<string, string> = { a: 'b', b: 'c', c: 'a' }
  const ask: ScriptedFunction = async (turn) => {
    if (turn.task !== 'go') return 'fine'
    await w.clock.sleep(10)
    return JSON.stringify(
      (
        await turn.tool('call_agent', {
          agent_id: next[turn.agent.name] as string,
          message: 'ping',
          timeout_ms: 300_000,
        })
      ).value,
    )
  }
  const w = await world({
    agents: {
      a: { script: ask },
      b: { script: ask },
      c: { script: ask },
      opener: {
        script: async (turn) => {
          for (const name of ['a', 'b', 'c'])
            await turn.tool('call_agent', { agent_id: name, message: 'hello' })
          return 'ok'
        },
      },
    },
  })
  await w.run('opener', 'go')
  const start = w.clock.now()
  const results = await w.until(
    Promise.all(['a', 'b', 'c'].map((name) => w.ask('', 'go', { session: `ses_main-${name}` }))),
  )
  expect(results.map(({ output }) => JSON.parse(output).outcome).sort()).toEqual([
    'completed',
    'completed',
    'refused',
  ])
  expect(w.clock.now() - start).toBeLessThan(5000)
})

test('cancel does not reach children, and finished children keep their slots: it does, and they do not', async () => {
  const parent: ScriptedFunction = async (turn) => {
    for (let round = 0; round < 3; round += 1)
      await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          turn.tool('sub_agent', { agent_name: 'quick', task: `${round}-${n}` }),
        ),
      )
    return (await call('stuck')(turn)) as string
  }
  const w = await world({ agents: { parent: { script: parent }, quick: {}, stuck: { script: forever } } })
  const run = w.ask('parent', 'go')
  const sent = await run.accepted
  await w.pass(100)
  expect(w.node.runtime.running.size).toBe(2)
  expect(await w.until(run.cancel())).toBe(true)
  expect((await w.until(run)).outcome).toBe('cancelled')
  await w.pass(3000)
  expect(w.node.runtime.running.size).toBe(0)
  void sent
})

test('a provider error becomes an empty "success": it is a typed failure with its cause', async () => {
  const w = await world({
    agents: {
      parent: { script: call('broken') },
      broken: {
        driver: { run: async () => ({ outcome: 'completed', output: '', error: null, iterations: 1 }) },
      },
    },
  })
  const value = JSON.parse((await w.run('parent', 'go')).output)
  expect(value).toMatchObject({ success: false, outcome: 'failed' })
  expect(value.errors[0]).toContain('empty_output')
})

test('a run cut by its limit loses all it did: partial output is kept', async () => {
  const w = await world({
    agents: {
      parent: { script: call('talker', { max_tokens: 300 }) },
      talker: {
        tools: [],
        script: async (turn) => {
          for (let n = 0; ; n += 1) await turn.think(`finding ${n}`)
        },
      },
    },
  })
  const value = JSON.parse((await w.run('parent', 'go', { maxTokens: 5000 })).output)
  expect(value.outcome).toBe('budget_exhausted')
  expect(value.output).toContain('finding 0')
})

test('allowed_tools from the caller replaced the own list of the callee: it is an intersection', async () => {
  const w = await world({
    agents: {
      parent: {
        script: async (turn) =>
          String(
            valueOf(
              await turn.tool('sub_agent', {
                agent_name: 'reader',
                task: 'x',
                allowed_tools: ['shell', 'read'],
              }),
            )['output'],
          ),
      },
      reader: { tools: ['read'], script: (turn) => turn.tools.map(({ name }) => name).join() },
    },
  })
  expect((await w.run('parent', 'go')).output).toBe('read')
})

test('a zero budget was read as unlimited: zero is zero', async () => {
  const w = await world({ agents: { a: { script: async (turn) => turn.think('thinking') } } })
  expect((await w.run('a', 'go', { maxTokens: 0 })).outcome).toBe('budget_exhausted')
})

test('every child gets 140k characters of context: by default it gets none of the history', async () => {
  const w = await world({
    agents: {
      parent: { script: async (turn) => (turn.task === 'go' ? call('child')(turn) : 'noted') },
      child: { script: (turn) => `${turn.history.length} ${turn.system.length + turn.prompt.length}` },
    },
  })
  const { session } = await w.run('parent', 'x'.repeat(90_000))
  const value = JSON.parse((await w.run('parent', 'go', { session: session as `ses_${string}` })).output)
  expect(Number(value.output.split(' ')[1])).toBeLessThan(100)
})

test('cannot see what a child is doing: its partial output can be read while it runs', async () => {
  const parent: ScriptedFunction = async (turn) => {
    const started = valueOf(
      await turn.tool('sub_agent', { agent_name: 'child', task: 'x', background: true }),
    )
    await w.clock.sleep(50)
    return String(valueOf(await turn.tool('read_output', { call_id: started['call_id'] as string }))['text'])
  }
  const w = await world({
    agents: {
      parent: { script: parent },
      child: {
        script: async (turn) => {
          turn.say('reading file 3 of 9')
          return forever(turn)
        },
      },
    },
  })
  expect((await w.run('parent', 'go')).output).toBe('reading file 3 of 9')
})
