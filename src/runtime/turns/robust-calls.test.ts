/** Calls and waits that go wrong: what they held comes back, and nothing stays pending. */
import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Driver } from '../kernel/ports.ts'

const usage = (input: number) => ({ input, output: 0, estimated: false })

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
