import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Driver } from '../kernel/ports.ts'

/** Uses so many tokens in so many requests. */
const spender = (each: number, requests: number): Driver => ({
  async run(_turn, steps) {
    for (let n = 0; n < requests; n += 1)
      await steps.step('model', 'm', { n }, async () => ({
        value: { text: `answer ${n}` },
        usage: { input: each, output: 0, estimated: false },
      }))
    return { outcome: 'completed', output: 'spent', error: null, iterations: requests }
  },
})

const hand =
  (input: Record<string, unknown>): ScriptedFunction =>
  async (turn) =>
    JSON.stringify(
      (await turn.tool('sub_agent', { agent_name: 'child', task: 'work', ...input } as never)).value,
    )

test('zero means zero: a flow without tokens makes no request and opens no call', async () => {
  const w = await world({ agents: { a: { driver: spender(1, 1) }, b: { script: hand({}) }, child: {} } })
  expect(await w.run('a', 'go', { maxTokens: 0 })).toMatchObject({
    outcome: 'budget_exhausted',
    tokensUsed: 0,
  })
  expect(JSON.parse((await w.run('b', 'go', { maxTokens: 0 })).output)).toMatchObject({ outcome: 'refused' })
  expect((await w.events('call.refused'))[0]?.event.refusal.code).toBe('budget_exhausted')
  const zero = await world({ agents: { a: { driver: spender(1, 1) } }, limits: { flowTokensMax: 0 } })
  expect((await zero.run('a', 'go')).outcome).toBe('budget_exhausted')
})

test('without a budget nothing is limited', async () => {
  const w = await world({ agents: { a: { driver: spender(1_000_000, 5) } } })
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'completed', tokensUsed: 5_000_000 })
})

test('a turn whose budget is used up ends with what it had, typed as that', async () => {
  const w = await world({
    agents: {
      boss: { script: hand({ max_tokens: 250 }) },
      child: {
        tools: [],
        script: async (turn) => {
          for (let n = 0; ; n += 1) await turn.think(`thought ${n} ${'x'.repeat(50)}`)
        },
      },
    },
  })
  const value = JSON.parse((await w.run('boss', 'go', { maxTokens: 1000 })).output)
  expect(value.outcome).toBe('budget_exhausted')
  expect(value.output).toContain('thought')
  expect(value.tokens_used).toBeGreaterThan(100)
  expect(value.tokens_used).toBeLessThanOrEqual(250)
})

test('R7: siblings cannot overspend together: each reserves before it runs', async () => {
  const boss: ScriptedFunction = async (turn) => {
    const all = await Promise.all(
      ['1', '2', '3'].map((task) => turn.tool('sub_agent', { agent_name: 'child', task, max_tokens: 400 })),
    )
    return JSON.stringify(all.map((answer) => valueOf(answer)['outcome']))
  }
  const w = await world({ agents: { boss: { script: boss }, child: { driver: spender(350, 1) } } })
  const run = await w.run('boss', 'go', { maxTokens: 1000 })
  expect(JSON.parse(run.output)).toEqual(['completed', 'completed', 'completed'])
  const grants = (await w.events('call.opened')).map(({ event }) => event.grant.tokensMax)
  expect(grants).toEqual([400, 400, 200])
  const fourth = await world({
    agents: {
      boss: {
        script: async (turn) =>
          JSON.stringify(
            (
              await Promise.all(
                ['1', '2'].map((task) =>
                  turn.tool('sub_agent', { agent_name: 'child', task, max_tokens: 1000 }),
                ),
              )
            ).map((answer) => valueOf(answer)['outcome']),
          ),
      },
      child: { driver: spender(10, 1) },
    },
  })
  expect(JSON.parse((await fourth.run('boss', 'go', { maxTokens: 1000 })).output)).toEqual([
    'completed',
    'refused',
  ])
})

test('what a call did not use is given back when it has ended', async () => {
  const boss: ScriptedFunction = async (turn) => {
    const grants: unknown[] = []
    for (const task of ['1', '2', '3'])
      grants.push(
        valueOf(await turn.tool('sub_agent', { agent_name: 'child', task, max_tokens: 900 }))['outcome'],
      )
    return JSON.stringify(grants)
  }
  const w = await world({ agents: { boss: { script: boss }, child: { driver: spender(50, 1) } } })
  const run = await w.run('boss', 'go', { maxTokens: 1000 })
  expect(JSON.parse(run.output)).toEqual(['completed', 'completed', 'completed'])
  expect(run.tokensUsed).toBe(150)
  expect((await w.events('call.opened')).map(({ event }) => event.grant.tokensMax)).toEqual([900, 900, 900])
})

test('R7: tokens held by a call that timed out are not given back before the callee has stopped', async () => {
  let stop = (): void => undefined
  const stopped = new Promise<void>((resolve) => (stop = resolve))
  const stubborn: Driver = {
    async run(_turn, steps, signal) {
      await steps.step('model', 'm', {}, async () => ({
        value: { text: 'x' },
        usage: { input: 100, output: 0, estimated: false },
      }))
      await stopped
      signal.throwIfAborted()
      return { outcome: 'completed', output: 'late', error: null, iterations: 1 }
    },
  }
  const boss: ScriptedFunction = async (turn) => {
    const first = valueOf(
      await turn.tool('sub_agent', { agent_name: 'child', task: '1', max_tokens: 900, timeout_seconds: 1 }),
    )['outcome']
    const second = valueOf(await turn.tool('sub_agent', { agent_name: 'other', task: '2', max_tokens: 500 }))[
      'outcome'
    ]
    stop()
    await w.clock.sleep(100)
    const third = valueOf(await turn.tool('sub_agent', { agent_name: 'other', task: '3', max_tokens: 500 }))[
      'outcome'
    ]
    return JSON.stringify([first, second, third])
  }
  const w = await world({
    agents: {
      boss: { script: boss },
      child: { driver: stubborn },
      other: { prompt: 'x '.repeat(150), driver: spender(10, 1) },
    },
  })
  expect(JSON.parse((await w.run('boss', 'go', { maxTokens: 1000 })).output)).toEqual([
    'timed_out',
    'refused',
    'completed',
  ])
})

test('tokens are counted once, at the leaf, and a result includes its subtree', async () => {
  const w = await world({
    agents: {
      boss: {
        driver: {
          async run(_turn, steps) {
            await spender(1, 1).run(_turn, steps, new AbortController().signal)
            const answer = valueOf(
              await steps.tool('sub_agent', { agent_name: 'middle', task: 'a', allow_nested_calls: true }),
            )
            return { outcome: 'completed', output: String(answer['tokens_used']), error: null, iterations: 1 }
          },
        },
      },
      middle: {
        driver: {
          async run(_turn, steps) {
            await spender(10, 1).run(_turn, steps, new AbortController().signal)
            const answer = valueOf(await steps.tool('sub_agent', { agent_name: 'child', task: 'b' }))
            return { outcome: 'completed', output: String(answer['tokens_used']), error: null, iterations: 1 }
          },
        },
      },
      child: { driver: spender(100, 1) },
    },
  })
  expect(await w.run('boss', 'go')).toMatchObject({ output: '110', tokensUsed: 111 })
})
