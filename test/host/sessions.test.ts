/**
 * What sessions of a connected program do by themselves, and sessions that are made for it at the server. A
 * real server and the real client.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ScriptedTurn } from '../../src/adapters/scripted/run-function.ts'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import type { HostAsk, HostConnection, HostOpening } from '../../src/client/host.ts'
import type { Event } from '../../src/model/event.ts'
import { serve, type Served } from '../../src/serve.ts'

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

let goOn = (): void => undefined
const agents = {
  patient: {
    tools: ['call_agent'],
    allowSubAgentCalls: true,
    script: async (turn: ScriptedTurn) => {
      if (turn.task === 'hang')
        await new Promise((_, reject) =>
          turn.signal.addEventListener('abort', () => reject(turn.signal.reason)),
        )
      if (turn.task !== 'go') return 'patient'
      await new Promise<void>((resolve) => (goOn = resolve))
      return JSON.stringify(
        (await turn.tool('call_agent', { agent_id: 'ses_mine-one', message: 'and you?' })).value,
      )
    },
  },
  helper: { description: 'helps', script: [{ say: 'helped' }] },
  returner: {
    tools: ['call_agent'],
    allowSubAgentCalls: true,
    script: [
      {
        when: { iteration: 1 },
        tools: [{ name: 'call_agent', input: { agent_id: 'ses_mine-one', message: 'and you?' } }],
      },
      { say: '{{result.error}}' },
    ],
  },
}

async function server(): Promise<{ served: Served; client: TielineClient; dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-host-'))
  const served = await serve({ dataDir, port: 0, agents })
  open.push(() => served.close())
  return { served, client: tielineClient({ url: served.url }), dataDir }
}

async function program(client: TielineClient, ask: Partial<HostAsk> = {}): Promise<HostConnection> {
  const host = client.host({
    agent: 'mine',
    tools: [
      'sub_agent',
      'wait_for_call',
      'read_output',
      'send-message',
      'send_agent_message',
      'list-session',
      'buffer',
    ],
    sessions: [
      { id: 'one', cwd: tmpdir() },
      { id: 'two', cwd: tmpdir() },
    ],
    run: async (turn) => `${turn.id} heard ${turn.task}`,
    ...ask,
  })
  open.push(() => host.close())
  await host.ready
  return host
}

const as = (host: HostConnection, id: string): TielineClient => {
  const taken = host.taken(id)
  if (taken === null) throw new Error(`${id} is not known`)
  return taken.client
}

async function eventsOf({ served }: { served: Served }): Promise<Event[]> {
  return (await served.line.store.read(0, {}, 10_000)).events.map(({ event }) => event)
}

test('between turns a session of a program uses tools as itself; its calls are recorded below it', async () => {
  const { client } = await server()
  const mine = as(await program(client), 'one')
  const { ok, value } = await mine.tools.use('sub_agent', {
    agent_name: 'helper',
    task: 'x',
    background: true,
  })
  expect([ok, value]).toMatchObject([true, { agent_name: 'helper', outcome: null }])
  const call = (value as { call_id: string }).call_id
  expect(await mine.tools.use('wait_for_call', { call_id: call })).toMatchObject({
    ok: true,
    value: { output: 'helped', success: true },
  })
  expect(await mine.tools.use('read_output', { call_id: call })).toMatchObject({
    ok: true,
    value: { text: 'helped' },
  })
  const record = await client.calls.get(call)
  expect(record).toMatchObject({ caller: 'agent_host-mine', depth: 1, path: ['agent_host-mine', 'helper'] })
  expect(await client.sessions.get(record.callerSession)).toMatchObject({
    kind: 'external',
    parent: 'ses_mine-one',
  })
})

test('where its calls stand is nobody to write to: it is neither listed nor found by a part of its id', async () => {
  const { client } = await server()
  await as(await program(client), 'one').tools.use('sub_agent', { agent_name: 'helper', task: 'x' })
  expect(
    (await client.sessions.list()).sessions
      .map(({ id }) => id)
      .filter((id) => id.includes('mine'))
      .toSorted(),
  ).toEqual(['ses_mine-one', 'ses_mine-two'])
  expect(await client.sessions.get('mine-one')).toMatchObject({ id: 'ses_mine-one' })
})

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

test('whom a session of a program waits for cannot call it back (R5)', async () => {
  const { client } = await server()
  const { value } = await as(await program(client), 'one').tools.use('sub_agent', {
    agent_name: 'returner',
    task: 'x',
    allow_nested_calls: true,
  })
  expect(value).toMatchObject({
    output: expect.stringContaining('come back to an agent that is waiting for it') as string,
  })
})

test('no ring of waits closes through a session of a program, across roots (R5)', async () => {
  const { client } = await server()
  const mine = as(await program(client, { tools: ['call_agent'] }), 'one')
  // Another root is at work; our session asks it and waits behind that. Then that root calls our session.
  const { sessionId } = await client.sessions.create({
    cwd: tmpdir(),
    agent: 'patient',
    initialMessage: 'go',
  })
  const asked = mine.tools.use('call_agent', { agent_id: sessionId, message: 'and you?' })
  await expect
    .poll(async () =>
      (await client.waits()).filter(({ kind }) => kind === 'call').map(({ target }) => target),
    )
    .toEqual([sessionId])
  goOn()
  expect(await client.sessions.wait(sessionId, { timeoutMs: 5000 })).toMatchObject({ isActive: false })
  expect((await client.sessions.history(sessionId)).messages[1]?.text).toContain('would wait in a ring')
  await asked
  expect(await client.waits()).toEqual([])
})

test('R5: a wait of a session of a program is an edge, by tool and over HTTP', async () => {
  const { client } = await server()
  const mine = as(await program(client, { tools: ['wait_for_session', 'call_agent'] }), 'one')
  for (const wait of [
    (id: string) => mine.tools.use('wait_for_session', { sessionId: id }).then(({ value }) => value),
    (id: string) => mine.sessions.wait(id, { timeoutMs: 20_000 }),
  ]) {
    const { sessionId } = await client.sessions.create({
      cwd: tmpdir(),
      agent: 'patient',
      parent: 'ses_mine-one',
      initialMessage: 'go',
    })
    const waited = [wait(sessionId), wait(sessionId)]
    await expect
      .poll(async () => (await client.waits()).map(({ waiter, target }) => `${waiter} ${target}`))
      .toEqual(expect.arrayContaining(['ses_mine-one ses_calls-mine-one', `ses_calls-mine-one ${sessionId}`]))
    goOn()
    expect(await Promise.all(waited)).toMatchObject([
      { sessionId, isActive: false },
      { sessionId, isActive: false },
    ])
    expect((await client.sessions.history(sessionId)).messages[1]?.text).toContain('would wait in a ring')
    expect(await client.waits()).toEqual([])
  }
})

test("while a turn of it runs, what the token of a session asks for has that turn's depth and end", async () => {
  const { client } = await server()
  let answer = (): void => undefined
  const held = new Promise<string>((resolve) => (answer = () => resolve('at last')))
  const host = await program(client, { run: () => held })
  const { sessionId } = await client.sessions.create({
    cwd: tmpdir(),
    agent: 'returner',
    initialMessage: 'go',
  })
  await expect
    .poll(async () => (await client.waits()).map(({ waiter, target }) => [waiter, target]))
    .toEqual([[sessionId, 'ses_mine-one']])
  const { value } = await as(host, 'one').tools.use('sub_agent', { agent_name: 'helper', task: 'x' })
  expect(await client.calls.get((value as { call_id: string }).call_id)).toMatchObject({
    callerSession: 'ses_mine-one',
    depth: 2,
    path: ['returner', 'agent_host-mine', 'helper'],
  })
  const back = await as(host, 'one').tools.use('sub_agent', { agent_name: 'returner', task: 'y' })
  expect(back.value).toMatchObject({
    outcome: 'refused',
    errors: [expect.stringContaining('come back to an agent that is waiting for it')],
  })
  const long = as(host, 'one').tools.use('sub_agent', { agent_name: 'patient', task: 'hang' })
  await expect.poll(async () => (await client.waits()).length).toBe(2)
  answer()
  expect((await long).value).toMatchObject({ outcome: 'cancelled' })
  await client.sessions.wait(sessionId, { timeoutMs: 5000 })
})

test('a turn that may not call on lends no more to the token of its session', async () => {
  const { served, client } = await server()
  let answer = (): void => undefined
  const held = new Promise<string>((resolve) => (answer = () => resolve('at last')))
  const host = await program(client, {
    run: () => held,
    opens: { cwd: process.cwd(), open: async () => ({ id: 'made', cwd: tmpdir() }) },
  })
  // `allow_nested_calls` is false by default.
  const called = client.calls.open({ agent: 'mine', task: 'work' })
  await expect.poll(() => host.taken('made')).not.toBe(null)
  const made = host.taken('made')
  await expect.poll(async () => (await client.sessions.state(made?.sessionId ?? '')).isActive).toBe(true)
  expect(
    (await as(host, 'made').tools.use('sub_agent', { agent_name: 'helper', task: 'x' })).value,
  ).toMatchObject({ outcome: 'refused', errors: [expect.stringContaining('allow_nested_calls')] })
  const { sessionId } = await client.sessions.create({ cwd: tmpdir(), agent: 'helper' })
  await expect(
    as(host, 'made').sessions.send(sessionId, {
      message: 'psst',
      source: 'agent',
      fromSession: made?.sessionId ?? '',
    }),
  ).rejects.toMatchObject({ code: 'tool_disabled' })
  answer()
  expect(await called).toMatchObject({ output: 'at last' })
  expect(
    (await eventsOf({ served })).filter(
      ({ type, session }) => type === 'message.sent' && session === sessionId,
    ),
  ).toEqual([])
})

test('calls between turns of a program can be waited for in a turn, and the other way round', async () => {
  const { client } = await server()
  const answers: Record<string, unknown>[] = []
  const host = await program(client, {
    run: async (turn) => {
      const call = turn.task.startsWith('call_') ? turn.task : ''
      answers.push((await turn.tool('read_output', { call_id: call })).value as Record<string, unknown>)
      return JSON.stringify((await turn.tool('sub_agent', { agent_name: 'helper', task: 'x' })).value)
    },
  })
  const { value } = await as(host, 'one').tools.use('sub_agent', { agent_name: 'helper', task: 'x' })
  await client.sessions.send('ses_mine-one', { message: (value as { call_id: string }).call_id })
  const { lastMessage } = await client.sessions.wait('ses_mine-one', { timeoutMs: 5000 })
  expect(answers).toMatchObject([{ text: 'helped' }])
  expect(
    (
      await as(host, 'one').tools.use('read_output', {
        call_id: (JSON.parse(lastMessage?.content ?? '{}') as { call_id: string }).call_id,
      })
    ).value,
  ).toMatchObject({ text: 'helped' })
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
    description: expect.stringContaining('Your own session is the one that you are in.') as string,
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
  expect((await eventsOf({ served })).filter(({ type }) => type === 'session.renamed')).toHaveLength(1)
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
  expect((await eventsOf({ served })).filter(({ type }) => type.startsWith('step.'))).toMatchObject([
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
    (await eventsOf({ served })).flatMap((event) =>
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
