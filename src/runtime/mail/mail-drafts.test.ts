/** Drafts and ids: what is written stays with its owner, and is sent once. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../../test/kits/mail.ts'
import type { AgentSpec } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'

test('M3: a draft stays with its owner, who alone changes it; each revision is kept; it is sent once', async () => {
  const w = await mailWorld()
  const [a, b, c] = [await w.open('planner'), await w.open('coder'), await w.open('coder')]
  expect(
    await w.use(a, 'send-message', { session: b, message: 'first', id: 'plan', draft: true }),
  ).toMatchObject({ id: 'plan', session: b, status: 'draft', draft: true })
  expect(await w.exchange.mail.inbox(user, b, null)).toMatchObject({ total: 0 })
  expect(await w.use(c, 'send-message', { message: 'mine now', id: 'plan', draft: true })).toMatchObject({
    error: { code: 'message_not_yours' },
  })
  await w.doIn(c, async () => {
    expect(await w.exchange.mail.revise(as(c), { id: 'plan', read: null }, 'not mine', null)).toMatchObject({
      code: 'message_not_yours',
    })
    expect(await w.exchange.mail.release(as(c), { id: 'plan', read: null }, null, null)).toMatchObject({
      code: 'message_not_yours',
    })
    expect(await w.exchange.mail.decline(as(c), 'plan')).toMatchObject({ code: 'message_not_yours' })
  })
  expect(await w.exchange.mail.message(as(b), 'plan')).toMatchObject({ code: 'message_not_yours' })
  await w.use(a, 'send-message', { message: 'second', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'second', id: 'plan', draft: true })
  await w.use(a, 'send-message', { message: 'third', id: 'plan', draft: true })
  expect((await w.events('message.revised')).map(({ event }) => [event.text, event.how])).toEqual([
    ['second', 'written'],
    ['third', 'written'],
  ])
  expect((await w.ok(w.exchange.mail.drafts(a, null))).messages).toMatchObject([
    { id: 'plan', initial: 'first', message: 'third', to: b },
  ])
  expect(await w.use(a, 'send-message', { message: 'third', id: 'plan' })).toMatchObject({
    id: 'plan',
    session: b,
    status: 'buffered',
  })
  expect(await w.use(a, 'send-message', { message: 'third', id: 'plan' })).toMatchObject({
    id: 'plan',
    session: b,
    status: 'buffered',
  })
  expect(await w.use(a, 'send-message', { message: 'fourth', id: 'plan', session: b })).toMatchObject({
    error: { code: 'message_already_sent' },
  })
  expect(await w.use(a, 'send-message', { message: 'fourth', id: 'plan', draft: true })).toMatchObject({
    error: { code: 'message_already_sent' },
  })
  expect((await w.events('message.sent')).filter(({ event }) => event.message === 'plan')).toHaveLength(1)
  expect(await w.exchange.mail.message(as(b), 'plan')).toMatchObject({
    initial: 'first',
    message: 'third',
    status: 'buffered',
  })
})

test('M5: one id is one message: a retry has one effect, another text or sender is refused', async () => {
  const w = await mailWorld()
  const [a, b, x] = [await w.open('planner'), await w.open('coder'), await w.open('external')]
  await w.use(a, 'send-message', { session: b, message: 'one', id: 'abc' })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'abc' })).toMatchObject({
    status: 'buffered',
    error: null,
  })
  expect(await w.use(a, 'send-message', { session: b, message: 'two', id: 'abc' })).toMatchObject({
    error: { code: 'message_already_sent' },
  })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'msg_abc' })).toMatchObject({
    id: 'abc',
    error: null,
  })
  expect(
    await w.exchange.mail.send(as(x), { session: b, message: 'one', id: 'abc' }, null, null),
  ).toMatchObject({ code: 'message_not_yours' })
  expect(await w.exchange.send(user, letter(b, 'one', { id: 'abc' }))).toMatchObject({
    code: 'message_not_yours',
  })
  expect(await w.use(a, 'send-message', { session: b, message: 'one', id: 'with blanks' })).toMatchObject({
    error: { code: 'bad_input' },
  })
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).total).toBe(1)
})

test('an act that is tried again has one effect: a send with the same key, an accept with the same key', async () => {
  const w = await mailWorld()
  const [b, x] = [await w.open('coder'), await w.open('external')]
  const first = await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'hi' }, 'key-1', null))
  expect(await w.exchange.mail.send(as(x), { session: b, message: 'hi' }, 'key-1', null)).toEqual(first)
  await w.ok(w.exchange.mail.send(as(x), { session: b, message: 'second' }, null, null))
  const taken = await w.ok(w.exchange.mail.accept(user, b, 'oldest', 'key-2'))
  expect(await w.exchange.mail.accept(user, b, 'oldest', 'key-2')).toMatchObject({
    message: { id: taken.message?.id },
  })
  await w.rested(b)
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).total).toBe(1)
})

test('the user writes mail, keeps drafts, and finds replies in an inbox of their own', async () => {
  const w = await mailWorld()
  const b = await w.open('coder')
  expect(
    await w.exchange.mail.send(
      user,
      { session: b, message: 'draft of mine', id: 'u', draft: true },
      null,
      null,
    ),
  ).toMatchObject({ status: 'draft' })
  expect(await w.exchange.mail.revise(user, { id: 'u', read: null }, 'question of mine', null)).toMatchObject(
    { message: 'question of mine', initial: 'draft of mine', from: null, source: 'user' },
  )
  expect(await w.exchange.mail.release(user, { id: 'u', read: null }, null, null)).toMatchObject({
    status: 'buffered',
  })
  expect(await w.exchange.mail.release(user, { id: 'u', read: null }, null, null)).toMatchObject({
    status: 'buffered',
  })
  const taken = await w.use(b, 'buffer', { accept: true })
  expect((taken['message'] as { message: string }).message).toBe('question of mine')
  expect(await w.use(b, 'send-message', { reply: ['u'], message: 'answer' })).toMatchObject({
    session: 'ses_user',
    status: 'ready',
  })
  expect(await w.exchange.mail.inbox(user, 'ses_user', null)).toMatchObject({
    messages: [{ message: 'answer', 'in-reply-to': 'u' }],
  })
  const direct = await w.ok(w.exchange.send(user, letter(b, 'said directly')))
  await w.rested(b)
  expect(
    await w.use(b, 'send-message', { reply: [direct.messageId], message: 'an afterthought' }),
  ).toMatchObject({ session: 'ses_user' })
  expect(await w.exchange.mail.message(user, direct.messageId)).toMatchObject({
    status: 'answered',
    message: 'said directly',
  })
})

test('M5: a turn that is taken over after it sent has sent once', async () => {
  let runs = 0
  const script: NonNullable<AgentSpec['script']> = async (turn) => {
    if (turn.task !== 'write') return 'ok'
    await turn.tool('send-message', { session: b, message: 'hello' })
    runs += 1
    if (runs === 1) await first.clock.sleep(1e9, turn.signal)
    return 'done'
  }
  const first = await mailWorld({ agents: { coder: { script } } })
  const a = await first.open('coder')
  const b: SessionId = await first.open('coder')
  await first.exchange.send(user, letter(a, 'write'))
  await first.pass(100)
  await first.node.stop()
  const second = await mailWorld({ agents: { coder: { script } }, store: first.store, clock: first.clock })
  await second.pass(10_000)
  expect([
    runs,
    (await second.events('message.sent')).filter(({ event }) => event.turn === null).length,
  ]).toEqual([2, 1])
})
