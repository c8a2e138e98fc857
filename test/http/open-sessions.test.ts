/** Sessions that programs of the user have open: where they are, what wakes them, and what does not. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Event } from '../../src/model/event.ts'
import type { SessionId } from '../../src/model/id.ts'
import { isRefusal } from '../../src/model/refusal.ts'
import { scratch, started } from '../kits/client.ts'

const claude: SessionId = 'ses_client-claude-code_one'

async function open(config: object = {}) {
  const file = join(scratch(), 'tieline.json')
  writeFileSync(file, JSON.stringify(config))
  const world = await started({ config: file })
  const { served, client, cwd } = world
  const post = (path: string, name: string, more: object = {}): Promise<Response> =>
    fetch(`${served.url}/api/hooks/claude${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ session_id: 'one', cwd, hook_event_name: name, ...more }),
    })
  const hook = async (name: string, more: object = {}): Promise<string> => (await post('', name, more)).text()
  const wait = async (): Promise<{ status: number; text: string }> => {
    const answer = await post('/wait', 'wait')
    return { status: answer.status, text: await answer.text() }
  }
  const peer = (await client.sessions.create({ cwd, agent: 'external' })).sessionId
  const write = async (message: string, to: string = claude): Promise<string> =>
    (await client.mail.send({ from: peer, session: to, message })).id
  const getReply = async (text: string): Promise<string> => {
    const id = (await client.mail.send({ from: claude, session: peer, message: 'a question' })).id
    const desk = served.line.desks.as({ who: { kind: 'session', session: peer as SessionId } })
    const taken = await desk.tools.use('buffer', { accept: id }, { session: peer })
    if (isRefusal(taken)) throw new Error(taken.code)
    return (await client.mail.send({ from: peer, message: text, reply: [id] })).id
  }
  const events = async <T extends Event['type']>(type: T) =>
    (await served.line.store.read(0, { types: [type] }, 1000)).events.map(
      ({ event }) => event as Extract<Event, { type: T }>,
    )
  const see = async () => {
    const { presence, wakeable, title } = await client.sessions.get(claude)
    return { presence, wakeable, title }
  }
  const untilAwaited = async (): Promise<void> => {
    await expect.poll(async () => (await see()).wakeable).toBe(true)
  }
  return { ...world, hook, wait, peer, write, getReply, events, see, untilAwaited }
}

test('a session works or rests, is named after its first prompt, and goes when it is closed', async () => {
  const { hook, see, events, served, peer } = await open()
  await hook('SessionStart')
  expect(await see()).toMatchObject({ presence: 'idle', wakeable: false })
  await hook('UserPromptSubmit', { prompt: 'Fix the parser' })
  expect(await see()).toEqual({ presence: 'working', wakeable: false, title: 'Fix the parser' })
  await hook('UserPromptSubmit', { prompt: 'Something else' })
  expect((await see()).title).toBe('Fix the parser')
  await hook('Stop')
  expect((await see()).presence).toBe('idle')
  const desk = served.line.desks.as({ who: { kind: 'session', session: peer as SessionId } })
  const list = async (): Promise<string> =>
    JSON.stringify(await desk.tools.use('list-session', { dir: '*' }, { session: peer }))
  expect(await list()).toContain(claude)
  await hook('SessionEnd', { reason: 'prompt_input_exit' })
  expect((await see()).presence).toBe('closed')
  expect(await list()).not.toContain(claude)
  await hook('SessionStart')
  expect((await see()).presence).toBe('idle')
  expect(await list()).toContain(claude)
  expect((await events('session.opened')).filter(({ session }) => session === claude)).toHaveLength(2)
  expect(await events('session.closed')).toMatchObject([{ session: claude, cause: 'prompt_input_exit' }])
})

test('mail that came while it was closed is told when it is resumed; mail to the directory, to a new one', async () => {
  const { hook, write, cwd } = await open()
  await hook('SessionStart')
  await hook('SessionEnd')
  const [own, shared] = [await write('for you'), await write('for the directory', `claude@${cwd}`)]
  expect(await hook('SessionStart', { session_id: 'two' })).toContain(shared)
  const told = await hook('SessionStart')
  expect(told).toContain(own)
  expect(told).toContain(shared)
})

test('a session that rests is started by a reply, with its text; buffered mail does not start it', async () => {
  const { hook, wait, write, getReply, events, untilAwaited, see } = await open()
  await hook('SessionStart')
  const waiting = wait()
  await untilAwaited()
  const buffered = await write('later')
  const id = await getReply('forty-two')
  const { status, text } = await waiting
  expect(status).toBe(200)
  expect(text).toContain('forty-two')
  // K4: what waits besides is announced with it.
  expect(text).toContain(buffered)
  expect(await events('session.woken')).toMatchObject([{ session: claude, messages: [buffered, id] }])
  expect((await see()).presence).toBe('working')
  expect(await hook('Stop')).toBe('{}')
})

test('a session that works is not started: it is told with its next tool result', async () => {
  const { hook, wait, getReply, events, untilAwaited } = await open()
  await hook('UserPromptSubmit')
  const waiting = wait()
  await untilAwaited()
  await getReply('in between')
  expect(await hook('PostToolUse')).toContain('in between')
  await hook('Stop')
  await getReply('at rest')
  expect((await waiting).text).toContain('at rest')
  expect(await events('session.woken')).toHaveLength(1)
})

test('the second waiter of a session takes the place of the first', async () => {
  const { hook, wait, getReply, untilAwaited } = await open()
  await hook('SessionStart')
  const first = wait()
  await untilAwaited()
  const second = wait()
  expect((await first).status).toBe(205)
  await getReply('once')
  expect((await second).text).toContain('once')
})

test('quiet holds everything for its time, for one session or for all, and what it held comes afterwards', async () => {
  const { hook, wait, getReply, client, untilAwaited, events } = await open()
  await hook('SessionStart')
  expect(await client.quiet.set({ ms: 60_000 })).toMatchObject({ all: expect.any(Number) as number })
  expect((await client.quiet.set({ session: claude, ms: 60_000 })).sessions).toMatchObject([
    { session: claude },
  ])
  expect((await client.sessions.get(claude)).quietUntil).toEqual(expect.any(Number))
  await client.quiet.set({ ms: 0 })
  const waiting = wait()
  await untilAwaited()
  const id = await getReply('held')
  for (const name of ['UserPromptSubmit', 'PostToolUse', 'Stop']) expect(await hook(name)).toBe('{}')
  expect(await events('mail.announced')).toEqual([])
  expect(await client.quiet.set({ session: claude, ms: 0 })).toEqual({ all: null, sessions: [] })
  expect((await waiting).text).toContain('held')
  expect(await events('session.woken')).toMatchObject([{ messages: [id] }])
})

test('a policy for the agent that writes counts for its messages', async () => {
  const { hook, write } = await open({ wake: { senders: { external: 'hold' } } })
  await hook('SessionStart')
  await write('held')
  expect(await hook('UserPromptSubmit')).toBe('{}')
})

test('two that answer each other start a resting session no more often than the limit of an hour', async () => {
  const { hook, wait, getReply, events } = await open({ wake: { perHour: 2 } })
  await hook('SessionStart')
  for (let round = 0; round < 2; round += 1) {
    const waiting = wait()
    await getReply(`round ${round}`)
    expect((await waiting).text).toContain(`round ${round}`)
    await hook('Stop')
  }
  await getReply('too much')
  expect(await hook('Stop')).toBe('{}')
  expect(await events('session.woken')).toHaveLength(2)
  expect(await hook('UserPromptSubmit')).toContain('too much')
})

test('the result of a call in the background starts the session that made it, once, unless it was read', async () => {
  const { hook, wait, untilAwaited, served, cwd, events } = await open({
    agents: { coder: { driver: 'scripted', script: [{ say: 'all is done' }] } },
  })
  await hook('SessionStart')
  const desk = served.line.desks.as({ client: { name: 'claude-code', session: 'one', cwd } })
  const begin = async (): Promise<string> => {
    const begun = await desk.tools.use(
      'sub_agent',
      { agent_name: 'coder', task: 'Do it', background: true },
      {},
    )
    if (isRefusal(begun)) throw new Error(begun.code)
    return (begun.value as { call_id: string }).call_id
  }
  const waiting = wait()
  await untilAwaited()
  const call = await begin()
  const { text } = await waiting
  expect(text).toContain(`your call ${call} in the background has ended`)
  expect(text).toContain('all is done')
  expect(await events('session.woken')).toMatchObject([{ messages: [call], reason: `result of ${call}` }])
  const read = await begin()
  await desk.tools.use('wait_for_call', { call_id: read }, {})
  expect(await hook('PostToolUse')).toBe('{}')
  expect(await hook('Stop')).toBe('{}')
})
