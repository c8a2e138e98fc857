/** Messages between sessions, spawned sessions, states and waits: on virtual time. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import { user, place, letter, session, resting } from '../../../test/kits/letters.ts'

test('a session made with a first message works on it, and is idle only when nothing is left to do', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(5000, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
  })
  const id = await session(w, 'coder', 'first')
  expect(await w.exchange.send(user, letter(id, 'second'))).toMatchObject({ status: 'queued' })
  expect(await w.exchange.state(id)).toMatchObject({
    status: 'streaming',
    isActive: true,
    queued: 1,
    lastMessage: null,
  })
  expect(await resting(w, id)).toMatchObject({
    status: 'idle',
    isActive: false,
    queued: 0,
    lastMessage: { role: 'assistant', content: 'did second' },
  })
  expect(await w.exchange.send(user, letter(id, 'third'))).toMatchObject({ status: 'dispatched' })
  await resting(w, id)
})

test('a failed turn is the state error, until a turn ends well; a cancelled one is not an error', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          if (turn.task === 'fail') throw new Error('broke')
          if (turn.task === 'hang') await w.clock.sleep(1e9, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const id = await session(w, 'coder', 'fail')
  expect(await resting(w, id)).toMatchObject({ status: 'error' })
  await w.exchange.send(user, letter(id, 'go'))
  expect(await resting(w, id)).toMatchObject({ status: 'idle' })
  await w.exchange.send(user, letter(id, 'hang'))
  await w.rest()
  expect(await w.exchange.cancel(id, false, 'asked')).toEqual({ cancelled: 1 })
  expect(await resting(w, id)).toMatchObject({ status: 'idle' })
})

test('cancel ends the present turn and leaves what is queued; with all it ends that too', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          if (turn.task === 'hang') await w.clock.sleep(1e9, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
  })
  const id = await session(w, 'coder', 'hang')
  await w.exchange.send(user, letter(id, 'next'))
  expect(await w.exchange.cancel(id, false, 'asked')).toEqual({ cancelled: 1 })
  expect(await resting(w, id)).toMatchObject({ lastMessage: { content: 'did next' } })
  await w.exchange.send(user, letter(id, 'hang'))
  await w.exchange.send(user, letter(id, 'never'))
  expect(await w.exchange.cancel(id, true, 'asked')).toEqual({ cancelled: 2 })
  await resting(w, id)
  expect((await w.events('turn.ended')).map(({ event }) => event.output)).not.toContain('did never')
})

test('delivery "now" to a busy session is refused, and nothing is queued', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const id = await session(w, 'coder', 'work')
  expect(await w.exchange.send(user, letter(id, 'now', { delivery: 'now' }))).toEqual({
    code: 'session_busy',
    session: id,
  })
  await resting(w, id)
  expect(await w.exchange.send(user, letter(id, 'now', { delivery: 'now' }))).toMatchObject({
    status: 'dispatched',
  })
})

test('the 101st waiting input is refused, never lost and never a hidden wait', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const id = await session(w, 'coder', 'work')
  for (let n = 0; n < 100; n += 1)
    expect(await w.exchange.send(user, letter(id, `m${n}`))).toMatchObject({ status: 'queued' })
  expect(await w.exchange.send(user, letter(id, 'one too many'))).toMatchObject({
    code: 'queue_full',
    queued: 100,
    queuedMax: 100,
  })
  await resting(w, id)
  expect(((await w.exchange.history(id, null, 500)) as { messages: unknown[] }).messages.length).toBe(202)
})

test('a message with the same id has one effect; with another text it is refused', async () => {
  const w = await world({ agents: { coder: {} } })
  const id = await session(w, 'coder')
  const first = await w.exchange.send(user, letter(id, 'hello', { id: 'mine-1' }))
  expect(first).toMatchObject({ messageId: 'mine-1', status: 'dispatched' })
  await resting(w, id)
  expect(await w.exchange.send(user, letter(id, 'hello', { id: 'mine-1' }))).toMatchObject({
    messageId: 'mine-1',
  })
  expect(await w.exchange.send(user, letter(id, 'other', { id: 'mine-1' }))).toEqual({
    code: 'message_already_sent',
    message: 'mine-1',
  })
  expect((await w.events('message.sent')).length).toBe(1)
  expect(await w.exchange.send(user, letter(id, 'x', { id: 'with blanks' }))).toMatchObject({
    code: 'bad_input',
    field: 'messageId',
  })
})

test('a session that was made with the same id is the same session', async () => {
  const w = await world({ agents: { coder: {} } })
  const ask = { ...place, agent: 'coder', initialMessage: 'go', id: 'key-1' }
  const [a, b] = [await w.exchange.createSession(user, ask), await w.exchange.createSession(user, ask)]
  expect(b).toEqual(a)
  expect((await w.events('session.created')).length).toBe(1)
  expect(await w.exchange.createSession(user, { ...ask, cwd: '/nowhere/at/all' })).toMatchObject({
    code: 'bad_input',
    field: 'cwd',
  })
  expect(await w.exchange.createSession(user, { ...ask, agent: 'nobody' })).toMatchObject({
    code: 'agent_unknown',
    known: ['coder'],
  })
})

test('a part of an id finds its session; one that fits two lists both', async () => {
  const w = await world({ agents: { coder: {} } })
  await w.exchange.createSession(user, { ...place, agent: 'coder', initialMessage: null, id: 'alpha-one' })
  await w.exchange.createSession(user, { ...place, agent: 'coder', initialMessage: null, id: 'alpha-two' })
  expect(await w.exchange.findSession('one')).toMatchObject({ id: 'ses_alpha-one' })
  const both = await w.exchange.findSession('alpha')
  expect(both).toMatchObject({ code: 'session_ambiguous' })
  expect('candidates' in both ? (both.candidates ?? []).toSorted() : []).toEqual([
    'ses_alpha-one',
    'ses_alpha-two',
  ])
  expect(await w.exchange.findSession('gamma')).toEqual({ code: 'session_unknown', session: 'gamma' })
})
