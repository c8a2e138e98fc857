/**
 * The wall clock is set between a decision and its commit: what was decided has the time that it was given, on the
 * clock that only passes (R4).
 */
import { expect, test } from 'vitest'
import { valueOf, virtualClock, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction } from '../../adapters/scripted/run-function.ts'
import type { Event } from '../../model/event.ts'
import { send } from '../mail/send.ts'
import { sqliteStore, type SqliteStore } from '../../store/sqlite.ts'
import { keepTime } from './kept-time.ts'
import type { Tx } from './store-port.ts'

const hourMs = 3_600_000
const jumps = [-hourMs, 3 * hourMs] as const

const hang: ScriptedFunction = ({ signal }) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )

type Jumping = World & { began: () => number }

/** Where `isMoment` is true of an event that a work appends, the wall clock jumps before its commit. */
async function worldThatJumps(
  jumpMs: number,
  isMoment: (event: Event) => boolean,
  given: Omit<Parameters<typeof world>[0], 'store' | 'clock'>,
): Promise<Jumping> {
  const clock = virtualClock()
  const inner = sqliteStore({ directory: ':memory:', now: () => clock.now() })
  let began = -1
  const watch = (tx: Tx): Tx => ({
    ...tx,
    append: (...events) => {
      tx.append(...events)
      if (began >= 0 || !events.some(isMoment)) return
      began = clock.elapsed()
      clock.jump(jumpMs)
    },
  })
  const store = Object.create(inner, {
    transact: {
      value: (keys: never, work: (tx: Tx) => Promise<unknown>) =>
        inner.transact(keys, (tx) => work(watch(tx))),
    },
  }) as SqliteStore
  return { ...(await world({ ...given, store, clock })), began: () => began }
}

const slow = { limits: { turnMsMax: 120_000, inactivityMs: 500_000 } }

test.each(jumps)(
  'a turn that starts has its own time, whatever the clock is set by (%i ms)',
  async (jumpMs) => {
    const isMoment = ({ type }: Event): boolean => type === 'turn.started'
    const w = await worldThatJumps(jumpMs, isMoment, { agents: { a: { script: hang } }, ...slow })
    expect((await w.run('a', 'go')).outcome).toBe('timed_out')
    expect(w.clock.elapsed() - w.began()).toBe(120_000)
  },
)

test.each(jumps)('an input that is queued has the time that its sender gave it (%i ms)', async (jumpMs) => {
  const isMoment = (event: Event): boolean => event.type === 'message.sent' && event.text === 'two'
  const w: Jumping = await worldThatJumps(jumpMs, isMoment, {
    agents: {
      a: { script: (turn) => (turn.task === 'one' ? w.clock.sleep(20_000).then(() => 'x') : hang(turn)) },
    },
    ...slow,
  })
  const { session } = (await w.ask('a', 'one').accepted) as { session: `ses_${string}` }
  await w.rest()
  await send(w.node.runtime, { to: { session }, text: 'two', timeoutMs: 60_000 })
  await w.pass(59_000)
  expect((await w.events('turn.started')).length).toBe(2)
  expect(await w.events('turn.cancelled')).toEqual([])
  await w.pass(1100)
  expect((await w.events('turn.cancelled')).map(({ event }) => event.outcome)).toEqual(['timed_out'])
})

test.each(jumps)('a queued input whose start comes with an end has its own time (%i ms)', async (jumpMs) => {
  let starts = 0
  const isMoment = ({ type }: Event): boolean => type === 'turn.started' && (starts += 1) === 2
  const script: ScriptedFunction = (turn) =>
    turn.task === 'one' ? w.clock.sleep(1000).then(() => 'first') : hang(turn)
  const w: Jumping = await worldThatJumps(jumpMs, isMoment, {
    agents: { a: { script } },
    ...slow,
  })
  const { session } = (await w.ask('a', 'one').accepted) as { session: `ses_${string}` }
  await w.rest()
  expect((await w.run('a', 'two', { session })).outcome).toBe('timed_out')
  expect(w.clock.elapsed() - w.began()).toBe(120_000)
})

test.each(jumps)('a call has the time that it was given (%i ms)', async (jumpMs) => {
  const isMoment = ({ type }: Event): boolean => type === 'call.opened'
  const w = await worldThatJumps(jumpMs, isMoment, {
    agents: {
      boss: {
        script: async (turn) =>
          JSON.stringify(
            valueOf(await turn.tool('sub_agent', { agent_name: 'b', task: 'x', timeout_seconds: 60 }))[
              'outcome'
            ],
          ),
      },
      b: { script: hang },
    },
    limits: { turnMsMax: 600_000, inactivityMs: 500_000 },
  })
  expect((await w.run('boss', 'go')).output).toContain('timed_out')
  expect(w.clock.elapsed() - w.began()).toBe(60_000)
})

test('a start that was not committed takes nothing from the time that a queued input has of its sender', async () => {
  const w = await world({
    agents: { a: { script: hang } },
    limits: { turnMsMax: 600_000, inactivityMs: 500_000 },
  })
  const { runtime } = w.node
  const first = (await w.ask('a', 'one').accepted) as { session: `ses_${string}` }
  await w.rest()
  const run = w.ask('a', 'two', { session: first.session, timeoutMs: 60_000 })
  const { turn } = (await run.accepted) as { turn: `turn_${string}` }
  const began = w.clock.elapsed()
  keepTime(runtime, turn, w.clock.now() + 2000)
  w.clock.jump(-hourMs)
  await w.until(run)
  expect(w.clock.elapsed() - began).toBe(60_000)
})
