/** Symptoms that were seen once: each test fails when its mending is taken out. */
import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Driver, Tool } from '../kernel/ports.ts'

const tool = (name: string, run: Tool['run'], effect: Tool['effect'] = 'read'): Tool => ({
  name,
  effect,
  calling: false,
  describe: () => ({ name, description: '', input: {} }),
  run,
})
const usage = (input: number) => ({ input, output: 0, estimated: false })

test('a tool that answers with what is no JSON fails its own turn, and everybody else goes on', async () => {
  const w = await world({
    agents: {
      bad: {
        script: async (turn) => {
          await turn.tool('odd', {})
          return 'never recorded'
        },
      },
      good: { script: () => 'fine' },
    },
    tools: [tool('odd', async () => ({ ok: true, value: 1n as never }))],
  })
  const [bad, good] = await w.until(Promise.all([w.ask('bad', 'go'), w.ask('good', 'go')]))
  expect(bad).toMatchObject({ outcome: 'failed', success: false })
  expect(bad?.error).toContain('not_recorded')
  expect(good?.output).toBe('fine')
  expect((await w.run('good', 'again')).output).toBe('fine')
})

test('usage in fractions and times that are no numbers are taken for what they can mean, or refused', async () => {
  const w = await world({
    agents: {
      a: {
        driver: {
          async run(_turn, steps) {
            await steps.step('model', 'm', {}, async () => ({
              value: { text: 'x' },
              usage: { input: 12.5, output: Number.NaN, estimated: true },
            }))
            return { outcome: 'completed', output: 'x', error: null, iterations: 1 }
          },
        },
      },
    },
  })
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'completed', tokensUsed: 13 })
  expect((await w.run('a', 'go', { timeoutMs: Number.NaN })).refusal).toMatchObject({
    code: 'bad_input',
    field: 'timeoutMs',
  })
  expect((await w.run('a', 'go', { timeoutMs: 1000.5 })).outcome).toBe('completed')
})

test('one fault of the store stops neither the sweep nor the heartbeat', async () => {
  const w = await world({ agents: { a: {} } })
  const due = w.store.due.bind(w.store)
  w.store.due = () => Promise.reject(new Error('once'))
  await w.pass(2000)
  let looks = 0
  w.store.due = (...query) => {
    looks += 1
    return due(...query)
  }
  await w.pass(8000)
  expect(looks).toBeGreaterThan(3)
  expect(w.faults.length).toBeGreaterThan(0)
  const { runnerAlive } = await w.store.sessionFacts('ses_none')
  expect(runnerAlive).toBe(false)
  const until = (w.store.db.prepare('select until from nodes').get() as { until: number }).until
  expect(until).toBeGreaterThan(w.clock.now())
})

test('sessions that nobody can run, however many, keep no other from being found by the sweep', async () => {
  const here = new Set<string>()
  const w = await world({
    agents: { away: {}, back: { script: () => 'at last' } },
    isThere: (agent) => here.has(agent),
  })
  const create = (agent: string, id: string) =>
    w.exchange.createSession(
      { kind: 'user' },
      { cwd: '/tmp', agent, model: null, title: '', parent: null, initialMessage: 'go', id, trace: null },
    )
  for (let n = 0; n < 600; n += 1) await create('away', `a${String(n).padStart(4, '0')}`)
  await create('back', 'z')
  await w.rest()
  const transact = w.store.transact.bind(w.store)
  let begun = 0
  w.store.transact = (keys, work) => {
    begun += keys.length > 0 ? 1 : 0
    return transact(keys, work)
  }
  await w.pass(2000)
  // What is looked at every second costs no transaction.
  expect(begun).toBe(0)
  // Nobody is told: only looking finds it.
  here.add('back')
  await w.pass(3000)
  expect(await w.store.sessionFacts('ses_z')).toMatchObject({ running: null, next: null })
  expect((await w.events('turn.ended')).map(({ event }) => event.session)).toEqual(['ses_z'])
})

test('a driver that returns nothing useful ends its turn as failed', async () => {
  const w = await world({
    agents: {
      none: { driver: { run: async () => undefined as never } },
      odd: { driver: { run: async () => ({ outcome: 'completed' }) as never } },
    },
  })
  expect((await w.run('none', 'go')).error).toContain('driver_broken')
  expect((await w.run('odd', 'go')).error).toContain('driver_broken')
})

test('waiting for a call that was already answered counts it once', async () => {
  const spender: Driver = {
    async run(_turn, steps) {
      await steps.step('model', 'm', {}, async () => ({ value: { text: 'x' }, usage: usage(100) }))
      return { outcome: 'completed', output: 'x', error: null, iterations: 1 }
    },
  }
  const boss: ScriptedFunction = async (turn) => {
    const { call_id: call } = valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'a' }))
    for (let n = 0; n < 3; n += 1)
      await turn.tool('wait_for_call', { call_id: call as string, timeout_seconds: n + 1 })
    return 'done'
  }
  const w = await world({ agents: { boss: { tools: ['*'], script: boss }, child: { driver: spender } } })
  expect((await w.run('boss', 'go')).tokensUsed).toBe(100)
})

test('what a timed-out call held comes back to the budget of its caller when it has stopped', async () => {
  const boss: ScriptedFunction = async (turn) => {
    await turn.tool('sub_agent', { agent_name: 'stuck', task: 'a', max_tokens: 900, timeout_seconds: 1 })
    await w.clock.sleep(5000)
    return turn.think('and now I can think again')
  }
  const w = await world({
    agents: {
      boss: { tools: ['sub_agent'], script: boss },
      stuck: {
        tools: [],
        script: (turn) =>
          new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason))),
      },
    },
  })
  expect((await w.run('boss', 'go', { maxTokens: 1000 })).output).toBe('and now I can think again')
})

test('R7: what a running call holds is not there for its caller to think with', async () => {
  const boss: ScriptedFunction = async (turn) => {
    await turn.tool('sub_agent', { agent_name: 'stuck', task: 'a', max_tokens: 4990, background: true })
    return turn.think('one more thought')
  }
  const w = await world({
    agents: {
      boss: { tools: ['sub_agent'], script: boss },
      stuck: { tools: [], script: () => new Promise(() => undefined) },
    },
  })
  expect((await w.run('boss', 'go', { maxTokens: 5000 })).outcome).toBe('budget_exhausted')
})

test('a cancel that is committed together with the start of a turn stops it at once', async () => {
  const w = await world({
    agents: {
      a: {
        script: (turn) =>
          new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason))),
      },
    },
  })
  const start = w.clock.now()
  const run = w.ask('a', 'go')
  // The first id after the node's own: known before the commit, so that both can be in one group.
  const suffix = `${start.toString(36)}000001`
  const cancelled = w.store.transact([`session:ses_${suffix}`], async (tx) =>
    tx.append({
      type: 'turn.cancelled',
      session: `ses_${suffix}`,
      turn: `turn_${suffix}`,
      outcome: 'cancelled',
      cause: 'at once',
    }),
  )
  await w.until(cancelled)
  expect(await run.accepted).toMatchObject({ turn: `turn_${suffix}` })
  expect((await w.until(run)).outcome).toBe('cancelled')
  expect(w.clock.now() - start).toBeLessThan(500)
})

test('a call that nobody awaited does not stay pending after its turn has ended', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          void turn.tool('sub_agent', { agent_name: 'stuck', task: 'a' }).catch(() => undefined)
          return 'gone already'
        },
      },
      stuck: { script: () => new Promise(() => undefined) },
    },
  })
  await w.run('boss', 'go')
  await w.pass(5000)
  const opened = await w.events('call.opened')
  const ended = await w.events('call.ended')
  expect(ended.length).toBe(opened.length)
})

test('R8: the frames of peers count in the budget of a context', async () => {
  let seen = ''
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          turn.task === 'go'
            ? String(
                valueOf(
                  await turn.tool('sub_agent', {
                    agent_name: 'child',
                    task: 'x',
                    max_context_tokens: 200,
                    context: { last_messages: 50 },
                  }),
                )['outcome'],
              )
            : 'ok',
      },
      child: {
        tools: [],
        script: (turn) => {
          seen = turn.history.map((entry) => `${entry.from ?? ''}${entry.text}`).join('\n')
          return 'x'
        },
      },
      peer: {
        script: async (turn) => {
          for (let n = 0; n < 12; n += 1)
            await turn.tool('call_agent', { agent_id: 'boss', message: `hello ${n}` })
          await turn.tool('call_agent', { agent_id: 'boss', message: 'go' })
          return 'ok'
        },
      },
    },
  })
  await w.run('peer', 'start')
  const manifest = (await w.events('call.opened')).at(-1)?.event.context
  expect(manifest?.tokens).toBeLessThanOrEqual(200)
  expect(manifest?.messages?.passed.length).toBeLessThan(12)
  expect(seen).not.toBe('')
})

test('a queued input keeps the time that its sender gave it', async () => {
  const w = await world({
    agents: {
      a: {
        script: async () => {
          await w.clock.sleep(60_000)
          return 'slow'
        },
      },
    },
  })
  const first = w.ask('a', 'first')
  await w.rest()
  const sent = (await first.accepted) as { session: `ses_${string}` }
  const start = w.clock.now()
  const second = await w.until(w.ask('', 'second', { session: sent.session, timeoutMs: 1000 }))
  expect(second.outcome).toBe('timed_out')
  expect(w.clock.now() - start).toBeLessThan(1050)
})

test('identical tools side by side are told apart in the order in which they began', async () => {
  const keys: string[] = []
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          await Promise.all([
            turn.tool('peek', { n: 1 }),
            turn.tool('peek', { n: 1 }),
            turn.tool('peek', { n: 1 }),
          ])
          return 'ok'
        },
      },
    },
    tools: [
      tool('peek', async (_input, { stepKey }) => {
        keys.push(stepKey)
        await w.clock.sleep(10 - keys.length)
        return { ok: true, value: keys.length }
      }),
    ],
  })
  await w.run('a', 'go')
  expect(new Set(keys).size).toBe(3)
  expect(new Set((await w.events('step.ended')).map(({ event }) => event.key)).size).toBe(3)
})

test('a wait that is over refuses nobody', async () => {
  const boss: ScriptedFunction = async (turn) => {
    const { call_id: call } = valueOf(
      await turn.tool('sub_agent', { agent_name: 'child', task: 'a', background: true }),
    )
    await turn.tool('wait_for_call', { call_id: call as string, timeout_seconds: 1 })
    await w.clock.sleep(10)
    return String((w.store.db.prepare('select count(*) as n from waits').get() as { n: number }).n)
  }
  const w = await world({
    agents: {
      boss: { script: boss },
      child: {
        script: async () => {
          await w.clock.sleep(5000)
          return 'late'
        },
      },
    },
  })
  expect((await w.run('boss', 'go')).output).toBe('0')
})

test('steps are progress: a turn that works is not silent', async () => {
  const w = await world({
    agents: {
      a: {
        driver: {
          async run(_turn, steps) {
            for (let n = 0; n < 5; n += 1)
              await steps.step('model', 'm', { n }, async () => {
                await w.clock.sleep(50_000)
                return { value: { text: '' }, usage: null }
              })
            return { outcome: 'completed', output: 'done', error: null, iterations: 5 }
          },
        },
      },
    },
    limits: { inactivityMs: 60_000 },
  })
  expect((await w.run('a', 'go')).output).toBe('done')
})

test('a calling tool that an agent does not have says no in its own shape, on record', async () => {
  const w = await world({
    agents: {
      a: {
        tools: ['read'],
        script: async (turn) =>
          JSON.stringify((await turn.tool('sub_agent', { agent_name: 'b', task: 'x' })).value),
      },
      b: {},
    },
  })
  expect(JSON.parse((await w.run('a', 'go')).output)).toMatchObject({
    success: false,
    outcome: 'refused',
    tool_calls: [],
    agent_name: 'b',
  })
  expect((await w.events('call.refused')).length).toBe(1)
})

test('a session that does not exist is said to be unknown', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) =>
          String(valueOf(await turn.tool('call_agent', { agent_id: 'ses_nowhere', message: 'x' }))['error']),
      },
    },
  })
  expect((await w.run('a', 'go')).output).toContain('There is no session "ses_nowhere"')
})

test('parallel calls that ask for a summary share one', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          if (turn.task !== 'go') return 'noted'
          await Promise.all(
            [1, 2, 3].map((n) =>
              turn.tool('sub_agent', { agent_name: 'b', task: `t${n}`, context: { include_summary: true } }),
            ),
          )
          return 'ok'
        },
      },
      b: {},
    },
  })
  const { session } = await w.run('a', 'a fact')
  await w.run('a', 'go', { session: session as `ses_${string}` })
  expect((await w.events('step.ended')).filter(({ event }) => event.kind === 'summary').length).toBe(1)
})

test('a listener that breaks does not break what it listens to', async () => {
  const w = await world({ agents: { a: { script: async (turn) => turn.think('text') } } })
  w.node.runtime.deltaListeners.add(() => {
    throw new Error('mine')
  })
  expect((await w.run('a', 'go')).outcome).toBe('completed')
  expect(w.faults.length).toBe(1)
})
