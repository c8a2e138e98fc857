/** Budgets whose tokens are held by a child that is stopping, and what an aborted request costs. */
import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { Driver } from '../kernel/ports.ts'
import { Script } from '../../adapters/scripted/script.ts'
import { scriptedDriver } from '../../adapters/scripted/drive.ts'
import { virtualClock } from '../../../test/kits/world.ts'
import { loadTokenizer } from '../../adapters/tokens/tokenizer.ts'

test('the reservation of a timed-out child killed its caller at its next request', async () => {
  const clock = virtualClock()
  // It takes a second to stop after it was told to.
  const slow: Driver = {
    run: (_turn, _steps, signal) =>
      new Promise((resolve) =>
        signal.addEventListener(
          'abort',
          () =>
            void clock
              .sleep(1000)
              .then(() => resolve({ outcome: 'failed', output: '', error: 'stopped', iterations: 0 })),
        ),
      ),
  }
  const w = await world({
    clock,
    agents: {
      boss: {
        tools: ['sub_agent'],
        script: async (turn) => {
          const input = { agent_name: 'slow', task: 'part', timeout_seconds: 1, max_tokens: 5000 }
          const { outcome } = valueOf(await turn.tool('sub_agent', input))
          return turn.think(`went on after ${String(outcome)}`)
        },
      },
      slow: { driver: slow },
    },
  })
  const result = await w.run('boss', 'go', { maxTokens: 5000 })
  expect(result).toMatchObject({ outcome: 'completed', output: 'went on after timed_out' })
})

test('a request that was aborted counted 0 tokens', async () => {
  const clock = virtualClock()
  const count = await loadTokenizer()
  const hangs = scriptedDriver(Script.parse([{ hang: true }]), { clock, count })
  let value: Record<string, unknown> = {}
  const w = await world({
    clock,
    agents: {
      boss: {
        script: async (turn) => {
          value = valueOf(
            await turn.tool('sub_agent', { agent_name: 'child', task: 'part', timeout_seconds: 1 }),
          )
          return 'done'
        },
      },
      child: { prompt: 'You work on parts, and you take your time for them.', driver: hangs },
    },
  })
  await w.run('boss', 'go')
  await w.pass(5000)
  expect(value['tokens_used']).toBeGreaterThan(10)
  const record = await w.desks.as({}).calls.get(String(value['call_id']))
  expect(record).toMatchObject({ outcome: 'timed_out', tokensUsed: value['tokens_used'] })
})

test('a budget was "used up" with 0 used and no numbers', async () => {
  const w = await world({
    agents: { boss: { prompt: 'word '.repeat(200), script: (turn) => turn.think('hello') } },
  })
  const small = await w.run('boss', 'go', { maxTokens: 20 })
  expect(small.error).toMatch(/^budget_exhausted: .*20 tokens/)
  const none = await w.run('boss', 'go', { maxTokens: 0 })
  expect(none.error).toBe('budget_exhausted: the budget of 0 tokens is used up: 0 are used here')
})
