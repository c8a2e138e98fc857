/** What a session of a connected program does with its token, between its turns and in them. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { goOn, server, program, as, readEvents } from '../kits/host.ts'

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
    (await readEvents({ served })).filter(
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
