/**
 * The OpenCode plugin against a real server, with opencode in memory: what the real one cannot be brought to
 * do at will. `scripts/test-opencode.ts` has the real one.
 */
import { tmpdir } from 'node:os'
import { expect, test, vi } from 'vitest'
import { tielinePlugin } from '../../src/adapters/opencode/plugin.ts'
import { memoryOpencode } from '../kits/opencode-double.ts'
import { type World, ours, world, session, ended, gate, use } from '../kits/opencode-world.ts'

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

test('beside an opencode that we start ourselves, the one that is open keeps its sessions and tools', async () => {
  const driven = { driver: 'acp', preset: 'opencode', allowSubAgentCalls: true } as const
  const w = await world(async ({ text }) => `heard ${text}`, {}, { opencode: driven })
  const id = await session(w, 'a')
  await w.client.sessions.send(id, { message: 'hello' })
  expect(await ended(w.client, id)).toBe('heard hello')
  expect(
    await use(w, 'sub_agent', { agent_name: 'helper', task: 'help' }, { sessionID: 'a', messageID: 'm' }),
  ).toMatchObject({ output: 'helped' })
  const names = (await w.client.agents()).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['opencode', 'opencode-open']))
})

test('an opencode that a turn of ours has started has our tools already, and the plugin brings none', async () => {
  vi.stubEnv('TIELINE_TOKEN', 'tlt_1')
  const memory = memoryOpencode(tmpdir(), async () => '')
  expect(await tielinePlugin({ client: memory.client, directory: tmpdir() }, {})).toEqual({})
  vi.unstubAllEnvs()
})
