/** With `[mail] release = "person"`, whatever agents write to each other waits as a draft. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user } from '../../../test/kits/mail.ts'

test('a person was promised to release everything, and draft: false went through', async () => {
  const w = await mailWorld({ release: 'person' })
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const sent = await w.use(a, 'send-message', { session: b, message: 'one', draft: false })
  expect(sent).toMatchObject({ status: 'draft', draft: true })
  expect(await w.use(a, 'send_agent_message', { sessionId: b, message: 'two' })).toMatchObject({
    status: 'draft',
    sessionId: b,
  })
  const made = await w.use(a, 'create_agent_session', {
    cwd: tmpdir(),
    agent: 'coder',
    initialMessage: 'three',
  })
  expect(made).toMatchObject({ error: null, messageId: expect.any(String) as string })
  expect(await w.use(a, 'send-message', { message: 'four' })).toMatchObject({ status: 'draft' })
  const { messages } = await w.exchange.mail.drafts(null, null)
  expect(messages.map(({ message }) => message).toSorted()).toEqual(['four', 'one', 'three', 'two'])
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).messages).toEqual([])
  expect(w.asked.some(({ prompt }) => /one|two|three|four/.test(prompt.replace(/act \d+/, '')))).toBe(false)
})

test('no door goes past it, and neither does the owner of the draft', async () => {
  const w = await mailWorld({ release: 'person' })
  const [client, b] = [await w.open('external'), await w.open('coder')]
  const posted = await w.exchange.send(as(client), letter(b, 'over HTTP', { source: 'agent', from: client }))
  expect(posted).toMatchObject({ status: 'draft', turn: null })
  const { messageId } = await w.ok(Promise.resolve(posted))
  const own = await w.exchange.mail.release(as(client), { id: messageId, read: null }, null, null)
  expect('code' in own ? own.code : own.status).toBe('draft')
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).messages).toEqual([])
  expect(await w.exchange.mail.release(user, { id: messageId, read: null }, null, null)).toMatchObject({
    status: 'buffered',
  })
})

test('what the user writes, and what is written to the user, goes at once', async () => {
  const w = await mailWorld({ release: 'person' })
  const b = await w.open('coder')
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'mine', id: 'm' }, null, null))
  await w.ok(w.exchange.mail.accept(user, b, 'm', null))
  await w.rested(b)
  expect(await w.use(b, 'send-message', { message: 'yours', reply: ['m'] })).toMatchObject({
    session: 'ses_user',
  })
})
