/**
 * The OpenCode plugin against a real server, with opencode in memory: what the real one cannot be brought to
 * do at will. `scripts/test-opencode.ts` has the real one.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { tielinePlugin, type TielinePluginOptions } from '../../src/adapters/opencode/plugin.ts'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import { serve } from '../../src/serve.ts'
import { memoryOpencode, type MemoryOpencode, type Say } from '../kits/opencode-double.ts'

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

type World = { client: TielineClient; memory: MemoryOpencode; dataDir: string; directory: string }
const ours = (own: string): string => `ses_opencode-${own}`

async function world(say: Say, options: TielinePluginOptions = {}): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-plugin-'))
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-plugin-data-'))
  const served = await serve({
    dataDir,
    port: 0,
    agents: { helper: { description: 'helps', script: [{ say: 'helped' }] } },
  })
  open.push(() => served.close())
  const memory = memoryOpencode(directory, say)
  memory.hooks = await tielinePlugin({ client: memory.client, directory }, { dataDir, ...options })
  open.push(() => memory.hooks.dispose?.())
  return { client: tielineClient({ url: served.url }), memory, dataDir, directory }
}

/** A session that the server knows. */
async function session(
  { memory, client }: World,
  id: string,
  more: Parameters<MemoryOpencode['add']>[0] | object = {},
): Promise<string> {
  memory.add({ ...more, id })
  await expect
    .poll(async () => (await client.sessions.list()).sessions.some((one) => one.id === ours(id)))
    .toBe(true)
  return ours(id)
}

const ended = async (client: TielineClient, id: string): Promise<string | undefined> =>
  (await client.sessions.wait(id, { timeoutMs: 10_000 })).lastMessage?.content

function gate(): { opened: Promise<void>; open: () => void } {
  let release = (): void => undefined
  const opened = new Promise<void>((resolve) => (release = resolve))
  return { opened, open: () => release() }
}

type Hooked = NonNullable<MemoryOpencode['hooks']['tool']>
const use = async (
  { memory }: World,
  name: keyof Hooked,
  args: Record<string, unknown>,
  at: { sessionID: string; messageID: string },
): Promise<Record<string, unknown>> =>
  JSON.parse(
    (await memory.hooks.tool?.[name]?.execute(args, { ...at, abort: new AbortController().signal }))
      ?.output ?? '{}',
  ) as Record<string, unknown>

test('a message is a prompt for the agent and model that the session works with, marked as whose it is', async () => {
  const w = await world(async ({ text }) => `heard ${text}`)
  const id = await session(w, 'a', { agent: 'plan', model: { id: 'm', providerID: 'p', variant: 'high' } })
  await w.client.sessions.send(id, { message: 'hello' })
  expect(await ended(w.client, id)).toBe('heard hello')
  expect(w.memory.prompts).toMatchObject([
    {
      agent: 'plan',
      model: { providerID: 'p', modelID: 'm' },
      variant: 'high',
      parts: [{ text: 'hello', metadata: { tieline: { from: null } } }],
    },
  ])
})

test('an answer that also answers the user of the session is not handed on to whoever wrote', async () => {
  const held = gate()
  const w = await world(async ({ text }) => {
    await held.opened
    return text.includes('password') ? 'the password is hunter2, and yes to the other one' : 'done'
  })
  const id = await session(w, 'a')
  // It seems to rest just when its user begins: then a prompt joins what runs, and is answered with the
  // user's next one.
  w.memory.client.session.status = async () => ({ data: {} })
  const typed = w.memory.type('a', 'long work')
  await w.client.sessions.send(id, { message: 'are you there?' })
  await expect.poll(() => w.memory.texts('a')).toHaveLength(3)
  const again = w.memory.type('a', 'what was the password?')
  await expect.poll(() => w.memory.texts('a')).toHaveLength(4)
  held.open()
  await Promise.all([typed, again])
  expect(w.memory.texts('a').at(-1)).toContain('hunter2')
  const state = await w.client.sessions.wait(id, { timeoutMs: 10_000 })
  expect([state.status, JSON.stringify(state)]).toEqual(['error', expect.not.stringContaining('hunter2')])
})

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

test('what is done for a message has its place below it; what the user does has not', async () => {
  const w: World = await world(async ({ session: at, message, text }) => {
    if (!text.includes('work')) return 'nothing'
    const direct = await use(
      w,
      'sub_agent',
      { agent_name: 'helper', task: 'one' },
      { sessionID: at, messageID: message },
    )
    w.memory.add({ id: 'child', parentID: at })
    const below = await use(
      w,
      'sub_agent',
      { agent_name: 'helper', task: 'two' },
      { sessionID: 'child', messageID: 'x' },
    )
    const beside = await use(
      w,
      'sub_agent',
      { agent_name: 'helper', task: 'three' },
      { sessionID: 'other', messageID: 'y' },
    )
    return [direct, below, beside].map((answer) => answer['call_id']).join(' ')
  })
  const id = await session(w, 'a')
  await session(w, 'other')
  const { flow } = await w.client.sessions.send(id, { message: 'work' })
  const calls = (await ended(w.client, id))?.split(' ') ?? []
  const records = await Promise.all(calls.map((call) => w.client.calls.get(call)))
  expect(records.map((record) => [record.success, record.callerSession, record.flow === flow])).toEqual([
    [true, id, true],
    [true, id, true],
    [true, `ses_calls-${ours('other').slice(4)}`, false],
  ])
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

test('what was accepted inside opencode comes as the next prompt, and the model is told so', async () => {
  const w = await world(async ({ text }) => (text.includes('question') ? 'an answer' : 'ok'))
  const a = await session(w, 'a')
  const b = await session(w, 'b')
  await use(w, 'send-message', { session: b, message: 'a question' }, { sessionID: 'a', messageID: 'x' })
  expect(await use(w, 'buffer', { accept: 'oldest' }, { sessionID: 'b', messageID: 'y' })).toMatchObject({
    accepted: true,
    next: expect.stringContaining('Do not answer it now') as string,
  })
  await expect.poll(() => w.memory.texts('a').some((text) => text.includes('an answer'))).toBe(true)
  expect(await ended(w.client, a)).toBe('ok')
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

test('a fork does not count the turn that asked for it, though that is over when it is made', async () => {
  const w: World = await world(async ({ session: at, message, text }) => {
    if (text === 'fork')
      await use(w, 'send-message', { fork: 2, message: 'from here' }, { sessionID: at, messageID: message })
    return `said ${text}`
  })
  await session(w, 'a')
  const over = gate()
  const before = { ...w.memory.client.session }
  w.memory.client.session.status = () => over.opened.then(() => before.status())
  for (const text of ['one', 'two', 'fork']) await w.memory.type('a', text)
  over.open()
  await expect.poll(async () => (await w.memory.client.session.list()).data?.length).toBe(2)
  const fork = (await w.memory.client.session.list()).data?.at(-1)?.id ?? ''
  await expect.poll(() => w.memory.texts(fork)).toHaveLength(4)
  expect(w.memory.texts(fork).slice(0, 2)).toEqual(['user: one', 'assistant: said one'])
})

test('a message that cannot be written out is sent as it is, and the fork for it leaves nothing behind', async () => {
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
    status: 'buffered',
    initial: 'as it is',
    message: 'as it is',
  })
  expect(w.memory.said).toEqual([expect.stringContaining('could not be written out')])
  expect([
    (await w.memory.client.session.list()).data?.length,
    (await w.client.sessions.list()).sessions.filter(({ id }) => id.includes('opencode')).length,
  ]).toEqual([2, 2])
})

test('the name that a session has at the server is not that of its fork, though opencode copies it', async () => {
  const w = await world(async () => 'ok')
  const made = await w.client.sessions.create({
    cwd: w.directory,
    agent: 'opencode',
    initialMessage: 'hello',
  })
  expect(await ended(w.client, made.sessionId)).toBe('ok')
  const { data: [own] = [] } = await w.memory.client.session.list()
  const { data: fork } = await w.memory.client.session.fork({ path: { id: own?.id ?? '' }, body: {} })
  expect(own?.metadata).toEqual({ tieline: { session: made.sessionId, own: own?.id } })
  await expect
    .poll(async () =>
      (await w.client.sessions.list()).sessions
        .map(({ id }) => id)
        .filter((id) => id !== 'ses_user')
        .toSorted(),
    )
    .toEqual([made.sessionId, ours(fork?.id ?? '')].toSorted())
})

test('where there is no server to be had, opencode goes on without it, and it is said why', async () => {
  const memory = memoryOpencode(tmpdir(), async () => 'ok')
  expect(
    await tielinePlugin({ client: memory.client, directory: tmpdir() }, { server: 'http://127.0.0.1:9' }),
  ).toEqual({})
  expect(memory.said).toEqual([
    expect.stringContaining('Tieline: not available here: no Tieline server answers at http://127.0.0.1:9'),
  ])
})

test('what cannot be done is an answer that the model can read', async () => {
  const w = await world(async () => 'ok')
  await session(w, 'a')
  expect(
    await use(w, 'call_agent', { agent_id: 'nobody', message: 'x' }, { sessionID: 'a', messageID: 'x' }),
  ).toMatchObject({ success: false, error: expect.stringContaining('no agent "nobody"') as string })
  expect(await use(w, 'buffer', {}, { sessionID: 'not there', messageID: 'x' })).toMatchObject({
    error: { code: 'not_possible', message: expect.stringContaining('did not find session') as string },
  })
})
