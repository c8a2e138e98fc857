/** The one way in which messages are sent: what is refused, how long a turn may take, and second tries. */
import { expect, test } from 'vitest'
import { session } from '../../../test/kits/letters.ts'
import { mailWorld, user } from '../../../test/kits/mail.ts'
import { world, type World } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal } from '../../model/refusal.ts'
import { post, send } from './send.ts'

/** An agent that takes the seconds that its task names. */
async function slowWorld(more: Partial<Parameters<typeof world>[0]> = {}): Promise<World> {
  const w: World = await world({
    agents: {
      slow: {
        script: async (turn) => {
          await w.clock.sleep(Number.parseInt(turn.task, 10) * 1000, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
    ...more,
  })
  return w
}

test('a text that says nothing, or more than a task may, is refused', async () => {
  const w = await slowWorld({ limits: { taskBytesMax: 1024 } })
  const to = { session: await session(w, 'slow') }
  const { runtime } = w.node
  for (const text of ['', ' \n'])
    expect(await send(runtime, { to, text })).toMatchObject({ code: 'bad_input', field: 'message' })
  expect(await send(runtime, { to, text: 'é'.repeat(513) })).toEqual({
    code: 'too_large',
    field: 'message',
    bytes: 1026,
    bytesMax: 1024,
  })
  expect(await w.events('message.sent')).toEqual([])
  expect(await send(runtime, { to, text: 'é'.repeat(512) })).toMatchObject({ status: 'dispatched' })
})

test('a turn that begins at once has the time that its sender gave', async () => {
  const w = await slowWorld()
  const at = w.clock.now()
  const to = { session: await session(w, 'slow') }
  expect(await send(w.node.runtime, { to, text: '100 long', timeoutMs: 3000 })).toMatchObject({
    status: 'dispatched',
  })
  expect((await w.events('turn.started')).map(({ event }) => event.deadline)).toEqual([at + 3000])
  await w.pass(10_000)
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['timed_out'])
})

test('R4: what is queued ends when its time has passed, although the wall clock was set back meanwhile', async () => {
  const w = await slowWorld()
  const to = { session: await session(w, 'slow', '60 first') }
  const sent = await send(w.node.runtime, { to, text: '1 second', timeoutMs: 5000 })
  if (isRefusal(sent)) throw new Error(sent.code)
  expect(sent.status).toBe('queued')
  w.clock.jump(-3_600_000)
  await w.pass(10_000)
  expect((await w.events('turn.ended')).map(({ event }) => [event.turn, event.outcome])).toEqual([
    [sent.turn, 'timed_out'],
  ])
})

test('M5: one id is one message: another session, sender or text is refused', async () => {
  const w = await slowWorld()
  const [a, b, one, other] = [
    await session(w, 'slow'),
    await session(w, 'slow'),
    await w.exchange.clientSession('one', '/tmp'),
    await w.exchange.clientSession('other', '/tmp'),
  ]
  const say = (to: SessionId, from: SessionId, text = '1 x') =>
    post(w.node.runtime, {
      to: { session: to },
      text,
      id: 'msg_same',
      sender: { kind: 'client', session: from },
    })
  const first = await say(a, one)
  expect(first).toMatchObject({ message: 'msg_same', session: a, again: false })
  expect(await say(a, one)).toMatchObject({ message: 'msg_same', session: a, again: true })
  expect(await say(b, one)).toEqual({ code: 'message_already_sent', message: 'msg_same' })
  expect(await say(a, one, '1 y')).toEqual({ code: 'message_already_sent', message: 'msg_same' })
  expect(await say(a, other)).toEqual({ code: 'message_not_yours', message: 'msg_same' })
  expect(await w.events('message.sent')).toHaveLength(1)
})

test('where a person releases, nothing that an agent sends goes past, whatever act asks for it', async () => {
  const w = await mailWorld({ release: 'person' })
  const [a, b] = [await w.open('external'), await w.open('coder')]
  const sender = { kind: 'client' as const, session: a }
  expect(await post(w.node.runtime, { to: { session: b }, text: 'x', sender })).toMatchObject({
    code: 'not_allowed',
    agent: a,
  })
  expect(await w.events('message.sent')).toEqual([])
})

test('a message that a person released says so', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'one', id: 'one', draft: true })
  await w.ok(w.exchange.mail.release(user, { id: 'one', read: null }, null, null))
  await w.use(a, 'send-message', { session: b, message: 'two', id: 'two' })
  const sent = (await w.events('message.sent')).filter(({ event }) => event.from === a)
  expect(sent.map(({ event }) => [event.message, event.releasedBy])).toEqual([
    ['one', 'user'],
    ['two', undefined],
  ])
})
