/** A server, or opencode, that is restarted while a message is worked on. */
import { expect, test, vi } from 'vitest'
import { gate, ours, session, use, world, type World } from '../kits/opencode-world.ts'

vi.setConfig({ testTimeout: 60_000 })

const patient = { timeout: 20_000 }

/** `b` is given a message of `a`, and works on it until the gate opens. */
async function begun() {
  const held = gate()
  const w: World = await world(async ({ session: at, text }) => {
    if (at !== 'b') return 'thanks'
    await held.opened
    return `did ${text.includes('count the files') ? 'the work' : 'something else'}`
  })
  await session(w, 'a')
  const b = await session(w, 'b')
  const message = { id: 'm1', session: b, message: 'count the files' }
  await use(w, 'send-message', message, { sessionID: 'a', messageID: 'x' })
  await w.client.mail.accept(b, 'm1')
  await expect.poll(() => w.memory.prompts, patient).toHaveLength(1)
  return { w, held }
}

/** What `a` was told, and how often `b` was asked. */
const heard = ({ memory }: World) => ({
  asked: memory.texts('b').filter((text) => text.includes('count the files')).length,
  replies: memory.texts('a').filter((text) => text.startsWith('user') && text.includes('did the work'))
    .length,
})

test('OpenCode does the work twice when the server restarts elsewhere during a delivered message', async () => {
  const { w, held } = await begun()
  const client = await w.restart()
  // The new server has given it again.
  await expect.poll(async () => (await client.sessions.state(ours('b'))).isActive, patient).toBe(true)
  await expect
    .poll(async () => (await client.agents()).some(({ name }) => name === 'opencode'), patient)
    .toBe(true)
  held.open()
  await expect.poll(() => heard(w), patient).toEqual({ asked: 1, replies: 1 })
  await client.sessions.wait(ours('b'), { timeoutMs: 20_000 })
  expect([heard(w), w.memory.aborted]).toEqual([{ asked: 1, replies: 1 }, []])
  expect(await client.mail.get('m1')).toMatchObject({ status: 'answered' })
})

test('a reply that is ready while no server runs goes out when one does, once', async () => {
  const { w, held } = await begun()
  const restarting = w.restart()
  held.open()
  const client = await restarting
  await expect.poll(() => heard(w), patient).toEqual({ asked: 1, replies: 1 })
  expect(await client.mail.get('m1')).toMatchObject({ status: 'answered' })
})

test('an opencode that was started again goes on with what its conversation has begun', async () => {
  const { w, held } = await begun()
  await w.reload()
  held.open()
  await expect.poll(() => heard(w), patient).toEqual({ asked: 1, replies: 1 })
})

test('what an earlier opencode was ended in is not asked again, and says so', async () => {
  const { w } = await begun()
  // It died with it: the question is there, no answer is, and nothing runs.
  const { session: api } = w.memory.client
  const before = { ...api }
  api.status = async () => ({ data: {} })
  api.messages = async (at) => ({
    data: (await before.messages(at)).data?.filter(({ info }) => info.role === 'user') ?? [],
  })
  await w.reload()
  await w.client.sessions.wait(ours('b'), { timeoutMs: 20_000 })
  expect(heard(w)).toEqual({ asked: 1, replies: 0 })
  const { messages: history } = await w.client.sessions.history(ours('b'))
  expect(history.at(-1)).toMatchObject({
    outcome: 'failed',
    error: expect.stringContaining('not asked again') as string,
  })
})
