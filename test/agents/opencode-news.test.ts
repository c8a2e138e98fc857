/** Sessions of opencode that a person works in are told of their mail, and no prompt of ours meets another. */
import { expect, test } from 'vitest'
import { ended, gate, session, world, type World } from '../kits/opencode-world.ts'

const waking = { wake: { default: 'wake', perHour: 100 } }
const told = /waits in your inbox/

async function write({ client, directory }: World, to: string, message: string): Promise<string> {
  const { sessionId: from } = await client.sessions.create({ cwd: directory, agent: 'external' })
  return (await client.mail.send({ from, session: to, message })).id
}

const countTold = ({ memory }: World, own: string): number =>
  memory.texts(own).filter((text) => told.test(text)).length

test('a session that was resumed is told with the prompt of its user, and not started in the midst of it', async () => {
  const held = gate()
  const w = await world(
    async ({ text }) => {
      await held.opened
      return `done: ${text.slice(0, 5)}`
    },
    {},
    {},
    waking,
  )
  const id = await session(w, 'a')
  await write(w, id, 'while you were away')
  await w.reload()
  await expect.poll(async () => (await w.client.sessions.get(id)).presence).toBe('idle')
  const typed = w.memory.type('a', 'Hello again')
  await expect.poll(() => w.memory.texts('a')).toHaveLength(2)
  held.open()
  await typed
  await expect.poll(async () => (await w.client.sessions.get(id)).presence).toBe('idle')
  expect(w.memory.texts('a')[0]).toMatch(/^user: Hello again\n\nTieline: a message waits in your inbox/)
  expect([w.memory.texts('a').length, w.memory.prompts]).toEqual([2, []])
})

test('mail that comes while a delivered message is at work is told afterwards, and spoils no answer', async () => {
  const [held, begun] = [gate(), gate()]
  const w = await world(
    async ({ text }) => {
      if (text.includes('long work')) {
        begun.open()
        await held.opened
        return 'the long answer'
      }
      return 'ok'
    },
    {},
    {},
    waking,
  )
  const id = await session(w, 'a')
  await w.memory.type('a', 'Hello')
  await expect.poll(async () => (await w.client.sessions.get(id)).presence).toBe('idle')
  await w.client.sessions.send(id, { message: 'long work' })
  await begun.opened
  const mail = await write(w, id, 'in between')
  // It is announced to a session that seems to rest, and waits here.
  await expect.poll(async () => JSON.stringify((await w.client.export({})).text)).toContain('mail.announced')
  expect(countTold(w, 'a')).toBe(0)
  held.open()
  await expect.poll(() => w.memory.texts('a').some((text) => text.includes(mail))).toBe(true)
  expect(await ended(w.client, id)).toBe('the long answer')
})

test('news that opencode does not take leaves the session at rest, and the next mail starts it', async () => {
  const w = await world(async () => 'ok', {}, {}, waking)
  const id = await session(w, 'a')
  await w.memory.type('a', 'Hello')
  await expect.poll(async () => (await w.client.sessions.get(id)).presence).toBe('idle')
  const { session: asked } = w.memory.client
  const prompt = asked.prompt.bind(asked)
  w.memory.client.session.prompt = async () => ({ error: new Error('not now') })
  await write(w, id, 'first')
  await expect.poll(() => w.memory.said.join()).toContain('not now')
  w.memory.client.session.prompt = prompt
  const second = await write(w, id, 'second')
  await expect.poll(() => w.memory.texts('a').some((text) => text.includes(second))).toBe(true)
  expect(countTold(w, 'a')).toBe(1)
})
