/**
 * What sessions of a connected program do by themselves, and sessions that are made for it at the server. A
 * real server and the real client.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HostOpening } from '../../src/wire/host.ts'
import { server, program, as, readEvents } from '../kits/host.ts'

test('a token of one session does not act as another, and nobody acts as a resting one without it', async () => {
  const { client } = await server()
  const mine = as(await program(client), 'one')
  await expect(
    mine.tools.use('sub_agent', { agent_name: 'helper', task: 'x' }, { session: 'ses_mine-two' }),
  ).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(
    client.tools.use('sub_agent', { agent_name: 'helper', task: 'x' }, { session: 'ses_mine-one' }),
  ).rejects.toMatchObject({ code: 'not_allowed' })
})

test("a tool that its agent was not given is refused in the tool's own shape", async () => {
  const { client } = await server()
  const mine = as(await program(client, { tools: ['list-session'] }), 'one')
  expect((await mine.tools.list()).map(({ name }) => name)).toEqual(['list-session'])
  expect(await mine.tools.use('sub_agent', { agent_name: 'helper', task: 'x' })).toMatchObject({
    ok: false,
    value: { success: false, errors: [expect.stringContaining('not available here')] },
  })
})

test('what any session of an agent has is told without one, and names none', async () => {
  const { client } = await server()
  await program(client)
  const tools = await client.tools.list({ agent: 'mine' })
  expect(tools.find(({ name }) => name === 'sub_agent')).toMatchObject({
    description: expect.stringContaining('list-session says which session is yours') as string,
    input: { required: ['agent_name', 'task'] },
  })
  await expect(client.tools.list({ agent: 'nobody' })).rejects.toMatchObject({ code: 'agent_unknown' })
})

test('a program is asked to make sessions that were made for it at the server, once, and then runs them', async () => {
  const { client } = await server()
  const asked: HostOpening[] = []
  let make = (): void => undefined
  const wanted = new Promise<void>((resolve) => (make = resolve))
  await program(client, {
    opens: {
      cwd: tmpdir(),
      open: async (opening) => {
        asked.push(opening)
        await wanted
        return { id: `made-${asked.length}`, cwd: tmpdir() }
      },
    },
  })
  const { sessionId } = await client.sessions.create({
    cwd: tmpdir(),
    agent: 'mine',
    initialMessage: 'hello',
  })
  await client.sessions.send(sessionId, { message: 'again' })
  make()
  expect(await client.sessions.wait(sessionId, { timeoutMs: 5000 })).toMatchObject({
    lastMessage: { content: 'made-1 heard again' },
  })
  expect(asked).toEqual([{ sessionId, cwd: tmpdir(), title: '', fork: null }])
})

test('one that was made while no program was there is made when one comes, in its own directory only', async () => {
  const { client } = await server()
  await program(client).then((host) => host.close())
  const elsewhere = mkdtempSync(join(tmpdir(), 'tieline-elsewhere-'))
  await expect
    .poll(async () => (await client.sessions.send('ses_mine-one', { message: 'probe' })).status)
    .toBe('queued')
  const here = await client.sessions.create({ cwd: tmpdir(), agent: 'mine', initialMessage: 'here' })
  const there = await client.sessions.create({ cwd: elsewhere, agent: 'mine', initialMessage: 'there' })
  await program(client, { opens: { cwd: tmpdir(), open: async ({ cwd }) => ({ id: 'made', cwd }) } })
  expect(await client.sessions.wait(here.sessionId, { timeoutMs: 10_000 })).toMatchObject({
    lastMessage: { content: 'made heard here' },
  })
  expect(await client.sessions.state(there.sessionId)).toMatchObject({ isActive: true, lastMessage: null })
})

test("a fork of a program's session is made by the program, as many messages back as it was told", async () => {
  const { client } = await server()
  const asked: HostOpening[] = []
  const host = await program(client, {
    opens: {
      cwd: tmpdir(),
      open: async (opening) => {
        asked.push(opening)
        return { id: 'forked', cwd: tmpdir() }
      },
    },
  })
  const { value } = await as(host, 'one').tools.use('send-message', { fork: 2, message: 'go on' })
  const { session } = value as { session: string }
  expect(await client.sessions.wait(session, { timeoutMs: 5000 })).toMatchObject({
    parent: 'ses_mine-one',
    lastMessage: { content: 'forked heard go on' },
  })
  expect(asked).toMatchObject([{ sessionId: session, fork: { id: 'one', back: 2 } }])
})

test('a session has the title that its program gave it last', async () => {
  const { served, client } = await server()
  const host = await program(client, { sessions: [{ id: 'one', cwd: tmpdir(), title: 'New session' }] })
  await host.add({ id: 'one', cwd: tmpdir(), title: 'About boats' })
  await host.add({ id: 'one', cwd: tmpdir(), title: 'About boats' })
  await host.add({ id: 'one', cwd: tmpdir() })
  expect(await client.sessions.get('ses_mine-one')).toMatchObject({ title: 'About boats' })
  expect((await readEvents({ served })).filter(({ type }) => type === 'session.renamed')).toHaveLength(1)
})

test('a program brings only sessions of its own agent', async () => {
  const { client } = await server()
  const { sessionId } = await client.sessions.create({ cwd: tmpdir(), agent: 'helper' })
  const errors: { code: string; message: string }[] = []
  await program(client, {
    sessions: [{ id: 'one', cwd: tmpdir(), as: sessionId }],
    onError: (error) => errors.push(error),
  })
  expect(errors).toMatchObject([
    { code: 'bad_input', message: expect.stringContaining('a session of mine') as string },
  ])
})

test('a spare program runs a session only when whoever has it is gone', async () => {
  const { client } = await server()
  const first = await program(client, { run: async (turn) => `first: ${turn.task}` })
  await program(client, {
    sessions: [{ id: 'one', cwd: tmpdir(), spare: true }],
    run: async (turn) => `second: ${turn.task}`,
  })
  const ask = async (message: string): Promise<string | undefined> => {
    await client.sessions.send('ses_mine-one', { message })
    return (await client.sessions.wait('ses_mine-one', { timeoutMs: 5000 })).lastMessage?.content
  }
  expect(await ask('a')).toBe('first: a')
  first.close()
  await expect.poll(() => ask('b')).toBe('second: b')
})

test('what a program does with its own tools is recorded in its session, the beginning first', async () => {
  const { served, client } = await server()
  const mine = as(await program(client), 'one')
  await mine.tools.trace('ses_mine-one', { key: 'c1', tool: 'bash', input: { command: 'false' } })
  await mine.tools.trace('ses_mine-one', {
    key: 'c1',
    tool: 'bash',
    input: { command: 'false' },
    ended: { ok: false, output: 'exit 1', startedAt: 5 },
  })
  expect((await readEvents({ served })).filter(({ type }) => type.startsWith('step.'))).toMatchObject([
    {
      type: 'step.started',
      session: 'ses_mine-one',
      turn: null,
      name: 'bash',
      key: 'c1',
      input: { command: 'false' },
    },
    { type: 'step.ended', ok: false, output: 'exit 1', startedAt: 5 },
  ])
  // Tried again, late or out of order, it is written down once.
  await mine.tools.trace('ses_mine-one', {
    key: 'c1',
    tool: 'bash',
    input: { command: 'false' },
    ended: { ok: false, output: 'exit 1', startedAt: 5 },
  })
  await mine.tools.trace('ses_mine-one', { key: 'c1', tool: 'bash', input: { command: 'false' } })
  await mine.tools.trace('ses_mine-one', { key: 'c9', tool: 'bash' })
  await mine.tools.trace('ses_mine-one', { key: 'c9', tool: 'bash' })
  expect(
    (await readEvents({ served })).flatMap((event) =>
      event.type === 'step.started' || event.type === 'step.ended' ? [`${event.type} ${event.key}`] : [],
    ),
  ).toEqual(['step.started c1', 'step.ended c1', 'step.started c9'])
  await expect(mine.tools.trace('ses_mine-two', { key: 'c2', tool: 'bash' })).rejects.toMatchObject({
    code: 'not_allowed',
  })
  const { sessionId } = await client.sessions.create({ cwd: tmpdir(), agent: 'helper' })
  await expect(client.tools.trace(sessionId, { key: 'c3', tool: 'bash' })).rejects.toMatchObject({
    code: 'bad_input',
  })
  await expect(
    client.tools.trace('ses_mine-one', { key: 'c4', tool: 'bash', input: 'x'.repeat(70_000) }),
  ).rejects.toMatchObject({ code: 'too_large' })
})

test('a person releases what a program drafted, while the program is away: it is still from its session', async () => {
  const { client } = await server()
  const host = await program(client)
  const target = await client.sessions.create({ cwd: tmpdir(), agent: 'helper' })
  const { value } = await as(host, 'one').tools.use('send-message', {
    session: target.sessionId,
    message: 'of a program',
    id: 'plan',
    draft: true,
  })
  expect(value).toMatchObject({ status: 'draft' })
  host.close()
  expect((await client.mail.drafts(null)).messages).toMatchObject([{ id: 'plan', from: 'ses_mine-one' }])
  expect(await client.mail.release('plan')).toMatchObject({ status: 'buffered', session: target.sessionId })
  expect(await client.mail.accept(target.sessionId, 'plan')).toMatchObject({
    message: { from: 'ses_mine-one', message: 'of a program' },
  })
})
