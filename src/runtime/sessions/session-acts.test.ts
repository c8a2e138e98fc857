/** What a turn may do with other sessions: how long it waits for them, and what is left of a wait. */
import { expect, test } from 'vitest'
import { letter, resting, session, user } from '../../../test/kits/letters.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'

test('R5: a session does not wait for itself', async () => {
  const answers: unknown[] = []
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          answers.push(valueOf(await turn.tool('wait_for_session', { sessionId: own })))
          return 'ok'
        },
      },
    },
  })
  const own: SessionId = await session(w, 'a')
  await w.exchange.send(user, letter(own, 'go'))
  await resting(w, own)
  expect(answers).toMatchObject([{ error: { code: 'self_call' } }])
  expect(await w.events('wait.started')).toEqual([])
})

test('R4: a turn waits for a session no longer than it may run itself', async () => {
  const w: World = await world({
    agents: {
      waiter: {
        script: async (turn) => {
          await turn.tool('wait_for_session', { sessionId: slow, timeout_seconds: 50 })
          return 'ok'
        },
      },
      slow: { script: async (turn) => (await w.clock.sleep(100_000, turn.signal), 'ok') },
    },
  })
  const slow: SessionId = await session(w, 'slow', 'go')
  await w.run('waiter', 'go', { timeoutMs: 5000 })
  const deadline = (await w.events('turn.started')).at(-1)?.event.deadline
  expect((await w.events('wait.started')).map(({ event }) => event.until)).toEqual([deadline])
})

test('R5: a wait that was not begun, because it would close a ring, leaves no edge behind a later one', async () => {
  const w: World = await world({
    agents: {
      one: {
        script: async (turn) => {
          await turn.tool('wait_for_session', { sessionId: two, timeout_seconds: 3 })
          await w.clock.sleep(20_000, turn.signal)
          return 'ok'
        },
      },
      two: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          const wait = { sessionId: one, timeout_seconds: 3 }
          expect(valueOf(await turn.tool('wait_for_session', wait))['next']).toContain('Do not wait again')
          await w.clock.sleep(5000, turn.signal)
          await turn.tool('wait_for_session', wait)
          return 'ok'
        },
      },
    },
  })
  const two: SessionId = await session(w, 'two', 'go')
  const one: SessionId = await session(w, 'one', 'go')
  await resting(w, two)
  const mine = (events: { event: { session: SessionId } }[]) =>
    events.filter(({ event }) => event.session === two).length
  expect([mine(await w.events('wait.started')), mine(await w.events('wait.ended'))]).toEqual([1, 1])
})
