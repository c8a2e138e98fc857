/**
 * Time limits when the wall clock is set: back by an hour a call of 3 s never ended, forward by three hours
 * one of 60 s ended at once.
 */
import { describe, expect, test } from 'vitest'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Tool } from './ports.ts'

const hourMs = 3_600_000
const jumps = [-hourMs, 3 * hourMs, -1000, 1000] as const
/** CONTRACTS: control returns within 50 ms of a deadline. */
const lateMs = 50

const hang: ScriptedFunction = ({ signal }) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
const shown = async (answer: Promise<{ value: unknown }>): Promise<string> =>
  JSON.stringify((await answer).value)
const danger: Tool = {
  name: 'danger',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'danger', description: '', input: {} }),
  run: async () => ({ ok: true, value: 'done' }),
}

/**
 * Runs `work`; after 1.5 s, when it is under way and the node has swept, the wall clock jumps. How long
 * `work` took in elapsed time.
 */
async function timed<T>(w: World, jumpMs: number, work: PromiseLike<T>): Promise<{ value: T; ms: number }> {
  const began = w.clock.elapsed()
  await w.pass(1500)
  w.clock.jump(jumpMs)
  const value = await w.until(work)
  return { value, ms: w.clock.elapsed() - began }
}

const within = (ms: number, limitMs: number): void => {
  expect(ms).toBeGreaterThanOrEqual(limitMs)
  expect(ms).toBeLessThanOrEqual(limitMs + lateMs)
}

describe.each(jumps)('R4: the wall clock is set by %i ms', (jumpMs) => {
  test('a call that is pending ends at its deadline, neither before nor after', async () => {
    const w = await world({
      agents: {
        boss: {
          script: (turn) =>
            shown(turn.tool('sub_agent', { agent_name: 'slow', task: 'x', timeout_seconds: 60 })),
        },
        slow: { script: hang },
      },
    })
    const { value, ms } = await timed(w, jumpMs, w.ask('boss', 'go'))
    expect(JSON.parse(value.output)).toMatchObject({ outcome: 'timed_out' })
    within(ms, 60_000)
    expect(w.faults).toEqual([])
  })

  test('a call in the background ends at its deadline', async () => {
    const w = await world({
      agents: {
        boss: {
          async script(turn) {
            const begun = valueOf(
              await turn.tool('sub_agent', {
                agent_name: 'slow',
                task: 'x',
                timeout_seconds: 60,
                background: true,
              }),
            )
            for (;;) {
              const { outcome } = valueOf(
                await turn.tool('wait_for_call', { call_id: begun['call_id'] ?? '', timeout_seconds: 40 }),
              )
              if (outcome !== null) return String(outcome)
            }
          },
        },
        slow: { script: hang },
      },
    })
    const { value, ms } = await timed(w, jumpMs, w.ask('boss', 'go'))
    expect(value.output).toContain('timed_out')
    within(ms, 60_000)
  })

  test('a call to a session that is busy ends at its deadline, in the queue', async () => {
    const w = await world({
      agents: {
        boss: {
          script: (turn) =>
            shown(turn.tool('call_agent', { agent_id: 'slow', message: 'x', timeout_ms: 60_000 })),
        },
        slow: { script: hang },
      },
    })
    void w.ask('boss', 'one')
    await w.rest()
    const { value, ms } = await timed(w, jumpMs, w.ask('boss', 'two'))
    expect(JSON.parse(value.output)).toMatchObject({ outcome: 'timed_out' })
    within(ms, 60_000)
  })

  test('a turn ends at its absolute cap', async () => {
    const w = await world({
      agents: {
        a: {
          async script(turn) {
            for (;;) {
              await w.clock.sleep(5000, turn.signal)
              turn.say('.')
            }
          },
        },
      },
      limits: { turnMsMax: 120_000, inactivityMs: 60_000 },
    })
    const { value, ms } = await timed(w, jumpMs, w.ask('a', 'go'))
    expect(value.outcome).toBe('timed_out')
    within(ms, 120_000)
  })

  test('a turn in which nothing happens is stopped by the inactivity limit', async () => {
    const w = await world({
      agents: { a: { script: hang } },
      limits: { turnMsMax: 600_000, inactivityMs: 60_000 },
    })
    const { value, ms } = await timed(w, jumpMs, w.ask('a', 'go'))
    expect(value.outcome).toBe('timed_out')
    within(ms, 60_000)
    expect(w.node.runtime.kept.size).toBe(0)
  })

  test('an input that is queued waits as long as its sender said', async () => {
    const w = await world({
      agents: { a: { script: hang } },
      limits: { turnMsMax: 600_000, inactivityMs: 500_000 },
    })
    const first = w.ask('a', 'one')
    const sent = await first.accepted
    await w.rest()
    const { value, ms } = await timed(
      w,
      jumpMs,
      w.ask('a', 'two', { session: (sent as { session: `ses_${string}` }).session, timeoutMs: 60_000 }),
    )
    expect(value.outcome).toBe('timed_out')
    within(ms, 60_000)
  })

  test('an input that is queued is begun with the time that it has left', async () => {
    const w = await world({
      agents: {
        a: {
          script: (turn) => (turn.task === 'one' ? w.clock.sleep(20_000).then(() => 'first') : hang(turn)),
        },
      },
      limits: { turnMsMax: 600_000, inactivityMs: 500_000 },
    })
    const sent = await w.ask('a', 'one').accepted
    await w.rest()
    const { value, ms } = await timed(
      w,
      jumpMs,
      w.ask('a', 'two', { session: (sent as { session: `ses_${string}` }).session, timeoutMs: 60_000 }),
    )
    expect(value.outcome).toBe('timed_out')
    within(ms, 60_000)
    expect((await w.events('turn.started')).length).toBe(2)
  })

  test('a wait for a session ends when its time is over', async () => {
    const w = await world({
      agents: {
        a: {
          script: (turn) =>
            shown(turn.tool('wait_for_session', { sessionId: turn.task, timeout_seconds: 50 })),
        },
        slow: { script: hang },
      },
      limits: { inactivityMs: 500_000 },
    })
    const sent = await w.ask('slow', 'x').accepted
    await w.rest()
    const { value, ms } = await timed(w, jumpMs, w.ask('a', (sent as { session: string }).session))
    expect(JSON.parse(value.output)).toMatchObject({ isActive: true })
    within(ms, 50_000)
  })

  test('a permission question is answered with no shortly before the end of its turn', async () => {
    const w = await world({
      agents: {
        boss: {
          script: (turn) =>
            shown(turn.tool('sub_agent', { agent_name: 'coder', task: 'x', timeout_seconds: 60 })),
        },
        coder: { ask: ['danger'], script: (turn) => shown(turn.tool('danger', {})) },
      },
      tools: [danger],
      asks: true,
    })
    const { value, ms } = await timed(w, jumpMs, w.ask('boss', 'go'))
    expect(value.output).toContain('nobody answered by the deadline')
    within(ms, 58_000)
  })

  test('R7: a call from inside a call has what its caller really has left', async () => {
    const w = await world({
      agents: {
        boss: {
          script: (turn) =>
            shown(
              turn.tool('sub_agent', {
                agent_name: 'middle',
                task: 'x',
                timeout_seconds: 60,
                allow_nested_calls: true,
              }),
            ),
        },
        middle: {
          async script(turn) {
            await w.clock.sleep(10_000, turn.signal)
            return shown(turn.tool('sub_agent', { agent_name: 'slow', task: 'y', timeout_seconds: 300 }))
          },
        },
        slow: { script: hang },
      },
    })
    const { value, ms } = await timed(w, jumpMs, w.ask('boss', 'go'))
    // 50 s are left, of which the caller keeps 2 s to use the answer.
    expect(JSON.parse(value.output)).toMatchObject({
      outcome: 'completed',
      output: expect.stringContaining('timed_out') as string,
    })
    within(ms, 58_000)
    const [outer, inner] = await w.events('call.opened')
    expect((inner?.event.deadline ?? 0) - (inner?.at ?? 0)).toBe(48_000)
    expect((outer?.event.deadline ?? 0) - (outer?.at ?? 0)).toBe(60_000)
  })

  test('the record has the time of the wall clock, and ids stay in order', async () => {
    const w = await world({ agents: { a: {} } })
    await w.run('a', 'one')
    w.clock.jump(jumpMs)
    await w.run('a', 'two')
    const [one, two] = await w.events('message.sent')
    expect((two?.at ?? 0) - (one?.at ?? 0)).toBe(jumpMs)
  })

  test('R6: a node keeps its own turns, whatever its lease says on the wall clock', async () => {
    const w = await world({ agents: { a: { script: () => w.clock.sleep(30_000).then(() => 'done') } } })
    const { value } = await timed(w, jumpMs, w.ask('a', 'go'))
    expect(value.output).toBe('done')
    expect(await w.events('session.claimed')).toEqual([])
    expect((await w.events('turn.started')).length).toBe(1)
  })
})
