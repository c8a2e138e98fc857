import { expect, test } from 'vitest'
import type { Clock } from '../../runtime/kernel/ports.ts'
import { whoWorks, withProgress, type Progress } from './server-progress.ts'
import type { WaitEdge } from '../../wire/log.ts'
import type { Desk } from '../../runtime/desk/desk.ts'

/** A clock that shows what it is told to, and lets a sleeper go when it is told to. */
function handClock() {
  const wakes: (() => void)[] = []
  const clock: Clock & { shows: number } = {
    shows: 1000,
    now: () => clock.shows,
    elapsed: () => clock.shows,
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        wakes.push(resolve)
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      }),
  }
  return {
    clock,
    pass: async (ms: number): Promise<void> => {
      clock.shows += ms
      wakes.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

test('progress grows also when the clock is set back', async () => {
  const { clock, pass } = handClock()
  const told: Progress[] = []
  const work = Promise.withResolvers<string>()
  const result = withProgress(work.promise, {
    clock,
    everyMs: 5000,
    describe: async () => 'a is at work',
    tell: async (progress) => void told.push(progress),
  })
  await pass(5000)
  await pass(-60_000)
  await pass(70_000)
  work.resolve('done')
  expect(await result).toBe('done')
  expect(told).toEqual([
    { progress: 5, message: '5 s: a is at work' },
    { progress: 5.001, message: '5 s: a is at work' },
    { progress: 15, message: '15 s: a is at work' },
  ])
})

test('nothing is told after the end, not even what was being looked up', async () => {
  const { clock, pass } = handClock()
  const told: Progress[] = []
  const [work, looked] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const result = withProgress(work.promise, {
    clock,
    everyMs: 5000,
    describe: () => looked.promise,
    tell: async (progress) => void told.push(progress),
  })
  await pass(5000)
  work.resolve('done')
  await result
  looked.resolve('late')
  await pass(5000)
  expect(told).toEqual([])
})

test('a client that cannot be told, or a look that fails, does not end the work', async () => {
  const { clock, pass } = handClock()
  const work = Promise.withResolvers<string>()
  const result = withProgress(work.promise, {
    clock,
    everyMs: 1,
    describe: () => Promise.reject(new Error('no')),
    tell: () => Promise.reject(new Error('gone')),
  })
  await pass(1)
  work.resolve('done')
  expect(await result).toBe('done')
  await expect(
    withProgress(Promise.reject(new Error('the work')), {
      clock,
      everyMs: 1,
      describe: async () => '',
      tell: async () => undefined,
    }),
  ).rejects.toThrow('the work')
})

const edge = (waiter: string, target: string, agent: string, call: string): WaitEdge => ({
  waiter: `ses_${waiter}`,
  waiterAgent: waiter,
  target: `ses_${target}`,
  targetAgent: agent,
  kind: 'call',
  call: `call_${call}`,
  since: 0,
  until: 0,
})

/** Only what is asked of it here. */
const deskWith = (edges: WaitEdge[], call: object | null = null): Desk =>
  ({
    log: { waits: async () => ({ waits: edges }) },
    calls: { get: async () => call ?? { code: 'call_unknown', call: '' } },
  }) as unknown as Desk

test.each([
  [
    'the agents below the one that was called',
    deskWith([edge('me', 'p', 'planner', '1'), edge('p', 'c', 'coder', '2')]),
    { agent_name: 'planner' },
    'planner -> coder are at work',
  ],
  [
    'the one that was called, of several',
    deskWith([edge('me', 'a', 'one', '1'), edge('me', 'b', 'two', '2')]),
    { agent_name: 'one' },
    'one is at work',
  ],
  [
    'the one that was asked for, before it has begun',
    deskWith([]),
    { agent_id: 'helper' },
    'helper is at work',
  ],
  [
    'the target of a call that was named',
    deskWith([edge('t', 'c', 'coder', '2')], {
      call: 'call_1',
      target: 'tester',
      targetSession: 'ses_t',
    }),
    { call_id: 'call_1' },
    'tester -> coder are at work',
  ],
  ['the tool, where nothing is known', deskWith([]), {}, 'subagent is at work'],
])('progress names %s', async (_what, desk, input, words) =>
  expect(await whoWorks(desk, 'ses_me', 'subagent', input as Record<string, string>)).toBe(words),
)

test('a ring of waits ends', async () =>
  expect(
    await whoWorks(
      deskWith([edge('me', 'a', 'a', '1'), edge('a', 'b', 'b', '2'), edge('b', 'a', 'a', '3')]),
      'ses_me',
      'x',
      {},
    ),
  ).toMatch(/are at work$/))
