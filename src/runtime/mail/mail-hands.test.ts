/** In whose hands a message is: who may take it, see it and change it, and what is counted meanwhile. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../../test/kits/mail.ts'
import type { Driver } from '../kernel/ports.ts'
import { isRefusal } from '../../model/refusal.ts'

test('a draft cannot be accepted by the one it is meant for', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'not yet', id: 'plan', draft: true })
  expect(await w.exchange.mail.accept(user, b, 'plan', null)).toMatchObject({ code: 'message_unknown' })
  expect(await w.exchange.mail.message(user, 'plan')).toMatchObject({ status: 'draft' })
})

test('what waits is counted down when it is accepted, declined or dies', async () => {
  const w = await mailWorld()
  const b = await w.open('coder')
  for (const id of ['one', 'two', 'three'])
    await w.ok(w.exchange.mail.send(user, { session: b, message: id, id }, null, null))
  const total = async () => {
    const inbox = await w.ok(w.exchange.mail.inbox(user, b, null))
    const { waiting } = await w.store.lists.mail.counts(b)
    return [inbox.total, waiting, inbox.messages.map(({ id }) => id)]
  }
  expect(await total()).toEqual([3, 3, ['one', 'two', 'three']])
  await w.exchange.mail.decline(user, 'two')
  expect(await total()).toEqual([2, 2, ['one', 'three']])
  await w.exchange.mail.accept(user, b, 'one', null)
  await w.rested(b)
  expect(await total()).toEqual([1, 1, ['three']])
  await w.exchange.archive(b)
  expect(await w.store.lists.mail.counts(b)).toMatchObject({ waiting: 0 })
  expect(await w.exchange.mail.message(user, 'three')).toMatchObject({ status: 'dead' })
})

test('a thread shows each reader only what it may see', async () => {
  const w = await mailWorld()
  const [a, b, c] = [await w.open('planner'), await w.open('coder'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'to b', id: 'first' })
  await w.exchange.mail.accept(user, b, 'first', null)
  await w.rested(b)
  await w.use(b, 'send-message', { message: 'back to a', id: 'second', reply: ['first'] })
  await w.exchange.mail.accept(user, a, 'second', null)
  await w.rested(a)
  // The answer of a is a draft: b, who will get it, does not see it yet.
  await w.use(a, 'send-message', { message: 'once more', id: 'third', reply: ['second'], draft: true })
  const seen = async (session: typeof a) => {
    const thread = await w.desks.as({ who: as(session) }).mail.thread('first', {})
    return isRefusal(thread) ? thread.code : thread.messages.map(({ id }) => id)
  }
  expect(await seen(a)).toEqual(['first', 'second', 'third'])
  expect(await seen(b)).toEqual(['first', 'second'])
  expect(await seen(c)).toBe('message_not_yours')
})

test('an id that a sender chose never names a session', async () => {
  const w = await mailWorld()
  const a = await w.open('planner')
  await w.use(a, 'send-message', { session: 'new', message: 'hello', id: 'victim' })
  const made = (await w.events('message.sent')).find(({ event }) => event.message === 'victim')
  expect(made?.event.session).not.toBe('ses_victim')
  expect(await w.store.session('ses_victim')).toBeNull()
})

test('what a running turn has used is not given away again by its messages', async () => {
  let to = ''
  const spender: Driver = {
    async run(_turn, steps) {
      await steps.step('model', 'm', {}, async () => ({
        value: { text: 'thinking' },
        usage: { input: 300, output: 300, estimated: false },
      }))
      await steps.tool('send_agent_message', { sessionId: to, message: 'hello' })
      return { outcome: 'completed', output: 'sent', error: null, iterations: 1 }
    },
  }
  const w = await mailWorld({ agents: { coder: {}, spender: { driver: spender } } })
  to = await w.open('coder')
  expect(await w.run('spender', 'spend', { maxTokens: 1000 })).toMatchObject({ outcome: 'completed' })
  const sent = (await w.events('message.sent')).find(({ event }) => event.text === 'hello')
  expect(sent?.event.grant.tokensMax).toBe(200)
})

test('the same act again does not write a second text', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const draft = (message: string, act: string) =>
    w.desks.as({ who: user, act }).mail.send({ session: b, message, draft: true })
  const first = await w.ok(draft('first words', 'act-1'))
  expect(await w.ok(draft('first words', 'act-1'))).toEqual(first)
  await w.ok(draft('other words', 'act-1'))
  expect(await w.exchange.mail.message(user, first.id)).toMatchObject({
    initial: 'first words',
    message: 'first words',
  })
  expect((await w.events('message.revised')).length).toBe(0)
  expect(a).not.toBe(b)
})

test('a reply reaches only who wrote, and what it answers is answered', async () => {
  const w = await mailWorld()
  const [a, b, c] = [await w.open('planner'), await w.open('coder'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'question', id: 'q' })
  await w.exchange.mail.accept(user, b, 'q', null)
  await w.rested(b)
  expect(
    await w.use(b, 'send-message', { session: c, message: 'to somebody else', reply: ['q'] }),
  ).toMatchObject({ error: { code: 'bad_input' } })
  await w.use(b, 'send-message', { message: 'answer', id: 'r', reply: ['q'] })
  expect(await w.exchange.mail.message(user, 'q')).toMatchObject({ status: 'answered' })
  expect(await w.exchange.mail.message(user, 'r')).toMatchObject({ to: a, 'in-reply-to': 'q' })
  expect(await w.exchange.send(user, letter(a, 'go on'))).toMatchObject({ sessionId: a })
})
