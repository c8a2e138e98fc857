/** The typed client against the real server, over real sockets. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import type { LettaMessage } from '../../src/client/letta-routes.ts'
import { agents, readRefusal, scratch, started } from '../kits/client.ts'

describe('sessions', () => {
  test('are made, written to, waited for, read, listed and archived', async () => {
    const { client, cwd } = await started()
    expect(await client.health()).toMatchObject({ status: 'ok' })
    const made = await client.sessions.create({ cwd, agent: 'boss', title: 'first' })
    expect(made).toMatchObject({ cwd, agent: 'boss', messageId: null })
    const sent = await client.sessions.send(made.sessionId, { message: 'hello' })
    expect(sent).toMatchObject({ status: 'dispatched', sessionId: made.sessionId })
    expect(await client.sessions.wait(made.sessionId)).toMatchObject({ status: 'idle', isActive: false })
    expect(await client.sessions.state(made.sessionId)).toMatchObject({
      lastMessage: { role: 'assistant', content: 'helper said: done: Part of: hello' },
    })
    const { messages } = await client.sessions.history(made.sessionId, { limit: 10 })
    expect(messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'hello'],
      ['assistant', 'helper said: done: Part of: hello'],
    ])
    expect((await client.sessions.list({ agent: 'boss' })).sessions).toMatchObject([
      { id: made.sessionId, title: 'first' },
    ])
    expect(await client.sessions.get(made.sessionId.slice(4))).toMatchObject({ id: made.sessionId })
    const child = await client.sessions.create({ cwd, agent: 'helper', parent: made.sessionId })
    expect(await client.sessions.adopt(child.sessionId, null)).toMatchObject({ parent: null })
    expect(await client.sessions.archive(made.sessionId)).toEqual({ archived: [made.sessionId] })
    const [call] = await client.calls.list({ session: made.sessionId })
    expect(call).toMatchObject({ caller: 'boss', agent: 'helper', outcome: 'completed' })
    expect((await client.flow(call?.flow ?? '')).calls).toMatchObject([{ call: call?.call }])
    expect((await client.flowEvents(call?.flow ?? '', { limit: 1 })).events).toMatchObject([
      { sessionId: made.sessionId, event: { type: 'message.sent' } },
    ])
    expect((await client.agents()).map(({ name }) => name)).toContain('helper')
  })

  test('can be cancelled, and meanwhile say who waits for whom', async () => {
    const { client, cwd } = await started({
      agents: {
        ...agents,
        waiter: {
          tools: ['sub_agent'],
          allowSubAgentCalls: true,
          script: async (turn) =>
            JSON.stringify((await turn.tool('sub_agent', { agent_name: 'stuck', task: 'x' })).value),
        },
      },
    })
    const { sessionId } = await client.sessions.create({ cwd, agent: 'waiter', initialMessage: 'go' })
    await expect
      .poll(async () => (await client.waits()).map((edge) => [edge.waiterAgent, edge.targetAgent]))
      .toEqual([['waiter', 'stuck']])
    expect(await client.sessions.wait(sessionId, { timeoutMs: 10 })).toMatchObject({ status: 'streaming' })
    expect((await client.sessions.cancel(sessionId)).cancelled).toBeGreaterThan(0)
    expect(await client.sessions.wait(sessionId)).toMatchObject({ isActive: false })
  })
})

describe('calls', () => {
  test('block until the callee has ended, and have a record', async () => {
    const { client } = await started()
    const answer = await client.calls.open({ agent: 'helper', task: 'tea' })
    expect(answer).toMatchObject({
      agent_name: 'helper',
      success: true,
      output: 'done: tea',
      outcome: 'completed',
    })
    expect(await client.calls.get(answer.call_id)).toMatchObject({
      target: 'helper',
      task: 'tea',
      success: true,
    })
  })

  test('an aborted signal goes away, and the server cancels what was asked for', async () => {
    const { client } = await started()
    const stop = new AbortController()
    const asked = client.calls.open({ agent: 'stuck', task: 'wait' }, { signal: stop.signal })
    await expect.poll(async () => (await client.calls.list()).length).toBe(1)
    stop.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    await expect(client.health({ signal: stop.signal })).rejects.toThrow('enough')
    await expect.poll(async () => (await client.calls.list())[0]?.outcome).toBe('cancelled')
  })
})

describe('questions', () => {
  test('are seen and answered, once', async () => {
    const { client, cwd } = await started()
    const { sessionId } = await client.sessions.create({ cwd, agent: 'careful', initialMessage: 'go' })
    await expect.poll(async () => (await client.questions.list()).length).toBe(1)
    const [question] = await client.questions.list()
    expect(question).toMatchObject({
      agent: 'careful',
      tool: 'shell',
      input: { command: 'echo hi' },
      path: ['careful'],
    })
    expect(await client.questions.answer(question?.id ?? '', 'allow')).toMatchObject({ answer: 'allow' })
    await client.sessions.wait(sessionId)
    expect((await client.sessions.state(sessionId)).lastMessage?.content).toContain('hi')
    expect(
      (await readRefusal(client.questions.answer(question?.id ?? '', 'deny'))).status,
    ).toBeGreaterThanOrEqual(400)
  })
})

describe('mail', () => {
  test('is drafted, revised, sent, accepted once, threaded and declined; a session can be forked', async () => {
    const { client, cwd } = await started()
    const { sessionId } = await client.sessions.create({ cwd, agent: 'helper', initialMessage: 'hello' })
    await client.sessions.wait(sessionId)
    const draft = await client.mail.send({ session: sessionId, message: 'tee', draft: true, id: 'letter-1' })
    expect(draft).toMatchObject({ id: 'letter-1', draft: true, status: 'draft' })
    expect(await client.mail.revise('letter-1', 'tea')).toMatchObject({ message: 'tea', initial: 'tee' })
    expect(await client.mail.release('letter-1')).toMatchObject({
      id: 'letter-1',
      status: 'buffered',
      session: sessionId,
    })
    await client.mail.send({ session: sessionId, message: 'coffee', id: 'letter-2' })
    expect((await client.mail.inbox(sessionId)).messages.map(({ id }) => id)).toEqual([
      'letter-1',
      'letter-2',
    ])
    expect(await client.mail.accept(sessionId, 'oldest')).toMatchObject({
      accepted: true,
      message: { id: 'letter-1', message: 'tea' },
    })
    expect(await client.mail.decline('letter-2')).toMatchObject({ status: 'declined' })
    expect(await client.mail.accept(sessionId, 'oldest')).toEqual({
      message: null,
      accepted: false,
      released: false,
    })
    expect(await readRefusal(client.mail.revise('letter-1', 'too late'))).toMatchObject({
      code: 'message_already_sent',
      status: 409,
    })
    expect((await client.mail.thread('letter-1')).messages.map(({ id }) => id)).toContain('letter-1')
    expect(await client.mail.get('letter-2')).toMatchObject({ message: 'coffee' })
    expect((await client.mail.deadLetters()).messages).toEqual([])
    await client.sessions.wait(sessionId)
    const fork = await client.sessions.fork(sessionId)
    expect(fork.sessionId).toBe(fork.id)
    expect((await client.server()).cwd).not.toBe('')
    expect((await client.sessions.history(fork.id)).messages.length).toBeGreaterThan(1)
  })
})

describe('persistent agents', () => {
  test('are made, asked, asked as a stream, listed and deleted', async () => {
    const { client } = await started()
    const agent = await client.v1.createAgent({ name: 'Ada', system: 'You are Ada.' })
    const answer = await client.v1.send(agent.id, { content: 'hello' })
    expect(JSON.stringify(answer.messages)).toContain('hello')
    const parts: LettaMessage[] = []
    for await (const part of client.v1.stream(agent.id, {
      messages: [{ role: 'user', content: 'and again' }],
    }))
      parts.push(part)
    expect(JSON.stringify(parts)).toContain('and again')
    expect((await client.v1.agents()).map(({ name }) => name)).toContain('Ada')
    expect((await client.v1.messages(agent.id)).length).toBeGreaterThan(1)
    expect(await client.v1.agent(agent.id)).toMatchObject({ name: 'Ada' })
    await client.v1.deleteAgent(agent.id)
    expect((await readRefusal(client.v1.agent(agent.id))).status).toBe(404)
  })
})

describe('a refusal', () => {
  test('is thrown with code, words, field, details and status', async () => {
    const { client } = await started()
    const wrong = await readRefusal(client.sessions.create({ cwd: '/nowhere/at/all' }))
    expect(wrong).toMatchObject({ name: 'TielineError', code: 'bad_input', field: 'cwd', status: 400 })
    expect(wrong.message).toContain('/nowhere/at/all')
    expect(await readRefusal(client.sessions.get('ses_nope'))).toMatchObject({
      code: 'session_unknown',
      status: 404,
      details: { session: 'ses_nope' },
    })
    expect(await readRefusal(client.calls.open({ agent: 'nobody', task: 'x' }))).toMatchObject({
      code: 'agent_unknown',
      status: 404,
      details: {
        known: expect.arrayContaining(['helper']) as unknown,
        call_id: expect.stringMatching(/^call_/) as unknown,
      },
    })
  })

  test('without a valid token is one, for requests and for events', async () => {
    const directory = scratch()
    writeFileSync(join(directory, 'on.json'), JSON.stringify({ server: { auth: 'on' } }))
    const { served } = await started({ config: join(directory, 'on.json') })
    const stranger = tielineClient({ url: served.url, token: 'wrong' })
    expect(await readRefusal(stranger.sessions.list())).toMatchObject({
      code: 'not_authenticated',
      status: 401,
    })
    expect(await readRefusal(stranger.events().next())).toMatchObject({ code: 'not_authenticated' })
    expect((await tielineClient({ url: served.url, token: served.token }).sessions.list()).sessions).toEqual(
      [],
    )
  })

  test('what is not a Tieline server is told apart', async () => {
    const other = createServer((_request, response) => response.writeHead(200).end('<html>')).listen(
      0,
      '127.0.0.1',
    )
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    expect(
      await readRefusal(
        tielineClient({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` }).agents(),
      ),
    ).toMatchObject({ code: 'not_tieline' })
  })
})
