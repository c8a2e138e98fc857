/** Messages to and from sessions of opencode. */
import { expect, test } from 'vitest'
import { type World, world, session, ended, gate, use } from '../kits/opencode-world.ts'

test('a message waits for the user of a session; a cancel meanwhile stops nothing of the user', async () => {
  const held = gate()
  const w = await world(async ({ text }) => {
    await held.opened
    return `done: ${text}`
  })
  const id = await session(w, 'a')
  const typed = w.memory.type('a', 'long work')
  await expect.poll(() => w.memory.texts('a')).toHaveLength(2)
  await w.client.sessions.send(id, { message: 'later' })
  await expect.poll(async () => (await w.client.sessions.state(id)).isActive).toBe(true)
  await w.client.sessions.cancel(id, {})
  await w.client.sessions.wait(id, { timeoutMs: 10_000 })
  held.open()
  await typed
  expect([w.memory.aborted, w.memory.texts('a')]).toEqual([
    [],
    ['user: long work', 'assistant: done: long work'],
  ])
})

test('a message that is cancelled just before it is a prompt becomes none', async () => {
  const [asked, held] = [gate(), gate()]
  const w = await world(async () => 'ok')
  const id = await session(w, 'a')
  const before = { ...w.memory.client.session }
  w.memory.client.session.get = async (at) => {
    asked.open()
    await held.opened
    return before.get(at)
  }
  await w.client.sessions.send(id, { message: 'hello' })
  await asked.opened
  await w.client.sessions.cancel(id, {})
  await w.client.sessions.wait(id, { timeoutMs: 10_000 })
  held.open()
  await expect.poll(() => w.memory.said).toEqual([])
  expect(w.memory.prompts).toEqual([])
})

test('the answer goes back as a reply, once: not where the model has replied itself, and not to a reply', async () => {
  const w: World = await world(async ({ session: at, message, text }) => {
    if (at === 'b' && text.includes('by yourself'))
      await use(
        w,
        'send-message',
        { message: 'I did', reply: [/id (\S+)/.exec(text)?.[1]] },
        { sessionID: at, messageID: message },
      )
    return at === 'b' ? 'pong' : 'thanks'
  })
  await session(w, 'a')
  const b = await session(w, 'b')
  const at = { sessionID: 'a', messageID: 'x' }
  for (const [id, message] of [
    ['m1', 'ping'],
    ['m2', 'answer by yourself to id m2'],
  ] as const) {
    await use(w, 'send-message', { id, session: b, message }, at)
    await w.client.mail.accept(b, id)
    await w.client.sessions.wait(b, { timeoutMs: 10_000 })
  }
  await expect.poll(() => w.memory.texts('a').filter((text) => text.startsWith('assistant'))).toHaveLength(2)
  expect(
    w.memory
      .texts('a')
      .filter((text) => text.startsWith('user'))
      .map((text) => (text.includes('pong') ? 'pong' : text.includes('I did') ? 'I did' : text)),
  ).toEqual(['pong', 'I did'])
  expect((await w.client.mail.inbox(b)).messages).toEqual([])
  expect(await w.client.mail.get('m1')).toMatchObject({ status: 'answered' })
})

test('buffer accept said both to answer with reply and not to answer now: two replies went out', async () => {
  const w = await world(async ({ text }) => (text.includes('question') ? 'an answer' : 'ok'))
  const a = await session(w, 'a')
  const b = await session(w, 'b')
  await use(w, 'send-message', { session: b, message: 'a question' }, { sessionID: 'a', messageID: 'x' })
  expect(await use(w, 'buffer', { accept: 'oldest' }, { sessionID: 'b', messageID: 'y' })).toMatchObject({
    accepted: true,
    next: expect.stringContaining('Do not answer it now') as string,
    instruction: expect.not.stringContaining('To answer it, use send-message') as string,
  })
  await expect.poll(() => w.memory.texts('a').some((text) => text.includes('an answer'))).toBe(true)
  expect(await ended(w.client, a)).toBe('ok')
  expect(w.memory.texts('a').filter((text) => text.includes('an answer'))).toHaveLength(1)
})

test('what is accepted while another message waits for the user is handed over at once', async () => {
  const held = gate()
  const w = await world(async ({ text }) => {
    await held.opened
    return `done: ${text}`
  })
  await session(w, 'a')
  const b = await session(w, 'b')
  await use(w, 'send-message', { session: b, message: 'a question' }, { sessionID: 'a', messageID: 'x' })
  const typed = w.memory.type('b', 'long work')
  await expect.poll(() => w.memory.texts('b')).toHaveLength(2)
  await w.client.sessions.send(b, { message: 'later' })
  await expect.poll(async () => (await w.client.sessions.state(b)).isActive).toBe(true)
  const accepted = await use(w, 'buffer', { accept: 'oldest' }, { sessionID: 'b', messageID: 'y' })
  expect(accepted).toMatchObject({
    accepted: true,
    message: { message: expect.stringContaining('a question') as string },
  })
  expect(accepted).not.toHaveProperty('next')
  held.open()
  await typed
  await w.client.sessions.wait(b, { timeoutMs: 10_000 })
  expect(w.memory.texts('b').filter((text) => text.includes('a question'))).toEqual([])
})

test('a message that cannot be written out stays a draft, and the fork for it leaves nothing behind', async () => {
  const w = await world(async ({ text }) =>
    text.includes('Write out') ? Promise.reject(new Error('no model')) : 'ok',
  )
  await session(w, 'a')
  const b = await session(w, 'b')
  await w.memory.type('a', 'hello')
  const sent = await use(
    w,
    'send-message',
    { session: b, message: 'as it is', elaborate: true },
    { sessionID: 'a', messageID: 'x' },
  )
  expect(await w.client.mail.get(String(sent['id']))).toMatchObject({
    status: 'draft',
    initial: 'as it is',
    message: 'as it is',
  })
  expect(w.memory.said).toEqual([expect.stringContaining('could not be written out')])
  expect([
    (await w.memory.client.session.list()).data?.length,
    (await w.client.sessions.list()).sessions.filter(({ id }) => id.includes('opencode')).length,
  ]).toEqual([2, 2])
})
