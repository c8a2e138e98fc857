/** Mail of clients, whom nobody runs here: a person releases it, the client takes it, or waits for it. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user, type MailWorld, type Value } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'

const useAs = async (w: MailWorld, session: SessionId, tool: string, input: Json): Promise<Value> => {
  const how = { signal: new AbortController().signal, id: null, trace: null }
  const answer = await w.exchange.useTool(as(session), tool, input, how)
  if ('code' in answer) throw new Error(answer.code)
  return answer.value as Value
}

async function withMail() {
  const w = await mailWorld()
  const [client, coder] = [await w.open('external'), await w.open('coder')]
  const first = await w.use(coder, 'send-message', { session: client, message: 'first' })
  const second = await w.use(coder, 'send-message', { session: client, message: 'second' })
  return { w, client, coder, first: String(first['id']), second: String(second['id']) }
}

test("accept takes a client's mail away although nobody works on it", async () => {
  const { w, client, first, second } = await withMail()
  const accept = (which: string, act: string | null = null) =>
    w.exchange.mail.accept(user, client, which, act)
  expect(await accept('oldest', 'key')).toMatchObject({
    accepted: false,
    released: true,
    message: { id: first, status: 'ready', accepted_at: null },
  })
  expect(await accept('oldest', 'key')).toMatchObject({ message: { id: first } })
  expect(await accept(first)).toMatchObject({ released: true, message: { id: first } })
  expect(await accept('oldest')).toMatchObject({ released: true, message: { id: second } })
  expect(await accept('oldest')).toEqual({ message: null, accepted: false, released: false })
  expect(await useAs(w, client, 'buffer', {})).toMatchObject({
    total: 2,
    instruction: expect.stringContaining(first) as string,
  })
  expect(await useAs(w, client, 'buffer', { accept: first })).toMatchObject({
    accepted: true,
    message: { id: first, status: 'delivered', accepted_by: null },
  })
  expect(await accept(first)).toMatchObject({ code: 'message_taken' })
  expect(await w.exchange.mail.message(user, first)).toMatchObject({ status: 'delivered' })
})

test('M6: one above a client reads its mail, and cannot take it', async () => {
  const { w, client } = await withMail()
  const parent = await w.open('coder')
  await w.exchange.adopt(client, parent)
  expect(await w.use(parent, 'buffer', { session: client })).toMatchObject({ total: 2 })
  expect(await w.use(parent, 'buffer', { session: client, accept: true })).toMatchObject({
    accepted: false,
    error: { code: 'not_allowed' },
  })
  expect(await useAs(w, client, 'buffer', {})).toMatchObject({ total: 2 })
})

test('what only waits is shown to the user, and not acted on', async () => {
  const { w, client } = await withMail()
  const { instruction } = await useAs(w, client, 'buffer', {})
  expect(instruction).toMatch(/^Show this list to the user/)
})

test('an agent whose mail a person accepted cannot answer it, because it is not told its id', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const { id } = await w.use(a, 'send-message', { session: b, message: 'how many?' })
  await w.ok(w.exchange.mail.accept(user, b, 'oldest', null))
  await w.rested(b)
  const { prompt } = w.asked.at(-1) ?? { prompt: '' }
  expect(prompt).toContain(`<peer_message id="${String(id)}" from="${a}"`)
  const told = /id="([^"]+)"/.exec(prompt)?.[1] ?? ''
  expect(await w.use(b, 'send-message', { message: 'four', reply: [told] })).toMatchObject({ session: a })
  await w.rested(a)
  expect(w.asked.at(-1)?.prompt).toContain(`in-reply-to="${String(id)}"`)
})

test('no tool waits for mail: wait_for_mail lists at once what waits', async () => {
  const { w, client } = await withMail()
  expect(await useAs(w, client, 'wait_for_mail', {})).toMatchObject({ total: 2 })
})

test('wait_for_mail ends when a message comes, or with its time', async () => {
  const w = await mailWorld()
  const [client, coder] = [await w.open('external'), await w.open('coder')]
  const began = w.clock.elapsed()
  const idle = await w.until(useAs(w, client, 'wait_for_mail', { timeout_seconds: 500 }))
  expect(idle).toMatchObject({
    total: 0,
    instruction: expect.stringContaining('wait_for_mail again') as string,
  })
  expect(w.clock.elapsed() - began).toBeGreaterThanOrEqual(55_000)
  expect(w.clock.elapsed() - began).toBeLessThan(60_000)
  const waiting = useAs(w, client, 'wait_for_mail', {})
  const before = w.clock.elapsed()
  await w.use(coder, 'send-message', { session: client, message: 'now' })
  expect(await w.until(waiting)).toMatchObject({ total: 1 })
  expect(w.clock.elapsed() - before).toBeLessThan(50_000)
})

test('an orphan that was adopted stays archived and deaf', async () => {
  const w = await mailWorld()
  const parent = await w.open('planner')
  const child = await w.open('coder', { parent })
  await w.exchange.archive(parent)
  expect(await w.exchange.sessionView(child)).toMatchObject({ archived: true })
  expect(await w.exchange.adopt(child, null)).toMatchObject({ archived: false, parent: null })
  await w.ok(w.exchange.send(user, letter(child, 'are you there?')))
  await w.rested(child)
  expect(w.asked.at(-1)?.prompt).toContain('are you there?')
})

test('a post of an idle session to itself says that it is not allowed, instead of what is wrong', async () => {
  const w = await mailWorld()
  const own = await w.open('coder')
  expect(await w.exchange.send(user, letter(own, 'hello', { source: 'agent', from: own }))).toMatchObject({
    code: 'self_call',
  })
})
