/** The typed client against the real server, over real sockets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcp, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { WebSocket as LibrarySocket } from 'ws'
import type * as wire from '../src/client/answers.ts'
import { tielineClient, type TielineClient } from '../src/client/client.ts'
import type { Fetch } from '../src/client/request.ts'
import { surroundings } from '../src/client/surroundings.ts'
import { ServerUnreachable, TielineError } from '../src/client/tieline-error.ts'
import type { AgentView, CreateAnswer, FlowView, HistoryEntry, Question, SendAnswer, SessionView, WaitEdge } from '../src/runtime/exchange.ts'
import type { ListedCall } from '../src/runtime/listing.ts'
import type { MessageRecord } from '../src/runtime/mail-record.ts'
import type { MailAnswer } from '../src/runtime/mail-port.ts'
import type { Delta, SessionState } from '../src/runtime/ports.ts'
import type { CallRecord } from '../src/runtime/record.ts'
import { serve, type Served, type ServeOptions } from '../src/serve.ts'

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-client-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const agents: NonNullable<ServeOptions['agents']> = {
  boss: { tools: ['sub_agent'], allowSubAgentCalls: true, script: async (turn) => {
    const { value } = await turn.tool('sub_agent', { agent_name: 'helper', task: `Part of: ${turn.task}` })
    return turn.think(`helper said: ${(value as { output: string }).output}`)
  } },
  helper: { description: 'helps', script: async (turn) => turn.think(`done: ${turn.task}`) },
  stuck: { script: () => new Promise(() => undefined) },
  careful: { tools: ['shell'], ask: ['shell'], script: async (turn) => turn.think(JSON.stringify((await turn.tool('shell', { command: 'echo hi' })).value)) },
}

async function started(options: ServeOptions = {}): Promise<{ served: Served; client: TielineClient; cwd: string }> {
  const directory = scratch()
  writeFileSync(join(directory, 'empty.json'), '{}')
  const served = await serve({ agents, config: join(directory, 'empty.json'), dataDir: join(directory, 'data'), cwd: directory, port: 0, onWarning: () => undefined, ...options })
  onTestFinished(() => served.close())
  return { served, client: tielineClient({ url: served.url, token: served.token }), cwd: directory }
}

const refusalOf = async (work: Promise<unknown>): Promise<TielineError> => {
  const error = await work.then(() => null, (thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(TielineError)
  return error as TielineError
}

test('what the server says and what the client expects are one shape', () => {
  expectTypeOf<wire.Session>().toEqualTypeOf<SessionView>()
  expectTypeOf<wire.SessionState>().toEqualTypeOf<SessionState>()
  expectTypeOf<wire.CreatedSession>().toEqualTypeOf<CreateAnswer>()
  expectTypeOf<wire.SentMessage>().toEqualTypeOf<SendAnswer>()
  expectTypeOf<wire.HistoryEntry>().toEqualTypeOf<HistoryEntry>()
  expectTypeOf<wire.ListedCall>().toEqualTypeOf<ListedCall>()
  expectTypeOf<wire.CallRecord>().toEqualTypeOf<CallRecord>()
  expectTypeOf<wire.Flow>().toEqualTypeOf<FlowView>()
  expectTypeOf<wire.WaitEdge>().toEqualTypeOf<WaitEdge>()
  expectTypeOf<wire.Question>().toEqualTypeOf<Question>()
  expectTypeOf<wire.Agent>().toEqualTypeOf<AgentView>()
  expectTypeOf<wire.Delta>().toEqualTypeOf<Delta>()
  expectTypeOf<wire.MessageRecord>().toEqualTypeOf<MessageRecord>()
  expectTypeOf<wire.SentMail>().toEqualTypeOf<MailAnswer>()
})

describe('sessions', () => {
  test('are made, written to, waited for, read, listed and archived', async () => {
    const { client, cwd } = await started()
    expect(await client.health()).toMatchObject({ status: 'ok' })
    const made = await client.sessions.create({ cwd, agent: 'boss', title: 'first' })
    expect(made).toMatchObject({ cwd, agent: 'boss', messageId: null })
    const sent = await client.sessions.send(made.sessionId, { message: 'hello' })
    expect(sent).toMatchObject({ status: 'dispatched', sessionId: made.sessionId })
    expect(await client.sessions.wait(made.sessionId)).toMatchObject({ status: 'idle', isActive: false })
    expect(await client.sessions.state(made.sessionId)).toMatchObject({ lastMessage: { role: 'assistant', content: 'helper said: done: Part of: hello' } })
    const { messages } = await client.sessions.history(made.sessionId, { limit: 10 })
    expect(messages.map(({ role, text }) => [role, text])).toEqual([['user', 'hello'], ['assistant', 'helper said: done: Part of: hello']])
    expect((await client.sessions.list({ agent: 'boss' })).sessions).toMatchObject([{ id: made.sessionId, title: 'first' }])
    expect(await client.sessions.get(made.sessionId.slice(4))).toMatchObject({ id: made.sessionId })
    const child = await client.sessions.create({ cwd, agent: 'helper', parent: made.sessionId })
    expect(await client.sessions.adopt(child.sessionId, null)).toMatchObject({ parent: null })
    expect(await client.sessions.archive(made.sessionId)).toEqual({ archived: [made.sessionId] })
    const [call] = await client.calls.list({ session: made.sessionId })
    expect(call).toMatchObject({ caller: 'boss', agent: 'helper', outcome: 'completed' })
    expect((await client.flow(call?.flow ?? '')).calls).toMatchObject([{ call: call?.call }])
    expect((await client.agents()).map(({ name }) => name)).toContain('helper')
  })

  test('can be cancelled, and meanwhile say who waits for whom', async () => {
    const { client, cwd } = await started({ agents: { ...agents, waiter: { tools: ['sub_agent'], allowSubAgentCalls: true, script: async (turn) => JSON.stringify((await turn.tool('sub_agent', { agent_name: 'stuck', task: 'x' })).value) } } })
    const { sessionId } = await client.sessions.create({ cwd, agent: 'waiter', initialMessage: 'go' })
    await expect.poll(async () => (await client.waits()).map((edge) => [edge.waiterAgent, edge.targetAgent])).toEqual([['waiter', 'stuck']])
    expect(await client.sessions.wait(sessionId, { timeoutMs: 10 })).toMatchObject({ status: 'streaming' })
    expect((await client.sessions.cancel(sessionId)).cancelled).toBeGreaterThan(0)
    expect(await client.sessions.wait(sessionId)).toMatchObject({ isActive: false })
  })
})

describe('calls', () => {
  test('block until the callee has ended, and have a record', async () => {
    const { client } = await started()
    const answer = await client.calls.open({ agent: 'helper', task: 'tea' })
    expect(answer).toMatchObject({ agent_name: 'helper', success: true, output: 'done: tea', outcome: 'completed' })
    expect(await client.calls.get(answer.call_id)).toMatchObject({ target: 'helper', task: 'tea', success: true })
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
    expect(question).toMatchObject({ agent: 'careful', tool: 'shell', input: { command: 'echo hi' }, path: ['careful'] })
    expect(await client.questions.answer(question?.id ?? '', 'allow')).toMatchObject({ answer: 'allow' })
    await client.sessions.wait(sessionId)
    expect((await client.sessions.state(sessionId)).lastMessage?.content).toContain('hi')
    expect((await refusalOf(client.questions.answer(question?.id ?? '', 'deny'))).status).toBeGreaterThanOrEqual(400)
  })
})

describe('mail', () => {
  test('is drafted, revised, sent, listed, accepted once, followed as a thread, and declined; a session can be forked', async () => {
    const { client, cwd } = await started()
    const { sessionId } = await client.sessions.create({ cwd, agent: 'helper', initialMessage: 'hello' })
    await client.sessions.wait(sessionId)
    const draft = await client.mail.send({ session: sessionId, message: 'tee', draft: true, id: 'letter-1' })
    expect(draft).toMatchObject({ id: 'letter-1', draft: true, status: 'draft' })
    expect(await client.mail.revise('letter-1', 'tea')).toMatchObject({ message: 'tea', initial: 'tee' })
    expect(await client.mail.release('letter-1')).toMatchObject({ id: 'letter-1', status: 'buffered', session: sessionId })
    await client.mail.send({ session: sessionId, message: 'coffee', id: 'letter-2' })
    expect((await client.mail.inbox(sessionId)).messages.map(({ id }) => id)).toEqual(['letter-1', 'letter-2'])
    expect(await client.mail.accept(sessionId, 'oldest')).toMatchObject({ accepted: true, message: { id: 'letter-1', message: 'tea' } })
    expect(await client.mail.decline('letter-2')).toMatchObject({ status: 'declined' })
    expect(await client.mail.accept(sessionId, 'oldest')).toEqual({ message: null, accepted: false })
    expect(await refusalOf(client.mail.revise('letter-1', 'too late'))).toMatchObject({ code: 'message_already_sent', status: 409 })
    expect((await client.mail.thread('letter-1')).messages.map(({ id }) => id)).toContain('letter-1')
    expect(await client.mail.get('letter-2')).toMatchObject({ message: 'coffee' })
    expect((await client.mail.deadLetters()).messages).toEqual([])
    await client.sessions.wait(sessionId)
    const fork = await client.sessions.fork(sessionId)
    expect((await client.sessions.history(fork.id)).messages.length).toBeGreaterThan(1)
  })
})

describe('persistent agents', () => {
  test('are made, asked, asked as a stream, listed and deleted', async () => {
    const { client } = await started()
    const agent = await client.v1.createAgent({ name: 'Ada', system: 'You are Ada.' })
    const answer = await client.v1.send(agent.id, { content: 'hello' })
    expect(JSON.stringify(answer.messages)).toContain('hello')
    const parts: wire.LettaMessage[] = []
    for await (const part of client.v1.stream(agent.id, { messages: [{ role: 'user', content: 'and again' }] })) parts.push(part)
    expect(JSON.stringify(parts)).toContain('and again')
    expect((await client.v1.agents()).map(({ name }) => name)).toContain('Ada')
    expect((await client.v1.messages(agent.id)).length).toBeGreaterThan(1)
    expect(await client.v1.agent(agent.id)).toMatchObject({ name: 'Ada' })
    await client.v1.deleteAgent(agent.id)
    expect((await refusalOf(client.v1.agent(agent.id))).status).toBe(404)
  })
})

describe('a refusal', () => {
  test('is thrown with code, words, field, details and status', async () => {
    const { client } = await started()
    const wrong = await refusalOf(client.sessions.create({ cwd: '/nowhere/at/all' }))
    expect(wrong).toMatchObject({ name: 'TielineError', code: 'bad_input', field: 'cwd', status: 400 })
    expect(wrong.message).toContain('/nowhere/at/all')
    expect(await refusalOf(client.sessions.get('ses_nope'))).toMatchObject({ code: 'session_unknown', status: 404, details: { session: 'ses_nope' } })
    expect(await refusalOf(client.calls.open({ agent: 'nobody', task: 'x' }))).toMatchObject({ code: 'agent_unknown', status: 404, details: { known: expect.arrayContaining(['helper']) as unknown, call_id: expect.stringMatching(/^call_/) as unknown } })
  })

  test('without a valid token is one, for requests and for events', async () => {
    const directory = scratch()
    writeFileSync(join(directory, 'on.json'), JSON.stringify({ server: { auth: 'on' } }))
    const { served } = await started({ config: join(directory, 'on.json') })
    const stranger = tielineClient({ url: served.url, token: 'wrong' })
    expect(await refusalOf(stranger.sessions.list())).toMatchObject({ code: 'not_authenticated', status: 401 })
    expect(await refusalOf(stranger.events().next())).toMatchObject({ code: 'not_authenticated' })
    expect((await tielineClient({ url: served.url, token: served.token }).sessions.list()).sessions).toEqual([])
  })

  test('what is not a Tieline server is told apart', async () => {
    const other = createServer((_request, response) => response.writeHead(200).end('<html>')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    expect(await refusalOf(tielineClient({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` }).agents())).toMatchObject({ code: 'not_tieline' })
  })
})

describe('a connection that breaks', () => {
  test('after the server has acted is tried again with the same key, and nothing happens twice', async () => {
    const { served, cwd } = await started()
    const keys: (string | undefined)[] = []
    const lossy: Fetch = async (url, init) => {
      const answer = await fetch(url, init)
      keys.push((init.headers as Record<string, string>)['idempotency-key'])
      if (init.method === 'POST' && keys.length % 2 === 1) {
        await answer.text()
        throw new TypeError('fetch failed')
      }
      return answer
    }
    const client = tielineClient({ url: served.url, fetch: lossy, surroundings: { ...surroundings, sleep: async () => undefined } })
    const { sessionId } = await client.sessions.create({ cwd, agent: 'helper' })
    await client.sessions.send(sessionId, { message: 'once' })
    expect(keys).toHaveLength(4)
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect([keys[1], keys[3]]).toEqual([keys[0], keys[2]])
    expect(keys[2]).not.toBe(keys[0])
    const plain = tielineClient({ url: served.url })
    await plain.sessions.wait(sessionId)
    expect((await plain.sessions.list()).sessions).toHaveLength(1)
    expect((await plain.sessions.history(sessionId)).messages).toHaveLength(2)
  })

  test('for good is told as such, after pauses that grow; without a key it is not tried again', async () => {
    const nobody = createTcp().listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const url = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`
    await new Promise((resolve) => nobody.close(resolve))
    const pauses: number[] = []
    const client = tielineClient({ url, surroundings: { ...surroundings, sleep: async (ms) => void pauses.push(ms) } })
    const error = await client.sessions.send('ses_1', { message: 'x' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ServerUnreachable)
    expect((error as Error).message).toContain(`no Tieline server answers at ${url}: `)
    expect(pauses).toEqual([100, 400, 1600])
    await expect(client.health()).rejects.toBeInstanceOf(ServerUnreachable)
    await expect(client.sessions.create({ cwd: '/' }, { key: null })).rejects.toBeInstanceOf(ServerUnreachable)
    expect(pauses).toHaveLength(3)
  })

  test('a server that is just stopping or starting is asked again', async () => {
    let asked = 0
    const busy = createServer((_request, response) => {
      asked += 1
      response.writeHead(asked < 3 ? 503 : 200, { 'content-type': 'application/json' }).end(asked < 3 ? '{"error":{"code":"unavailable","message":"later"}}' : '{"agents":[]}')
    }).listen(0, '127.0.0.1')
    await once(busy, 'listening')
    onTestFinished(() => void busy.close())
    const client = tielineClient({ url: `http://127.0.0.1:${(busy.address() as AddressInfo).port}`, surroundings: { ...surroundings, sleep: async () => undefined } })
    expect(await client.agents()).toEqual([])
    asked = -1000
    expect(await refusalOf(client.agents())).toMatchObject({ code: 'unavailable', status: 503 })
  })
})

describe('events', () => {
  test('reach a reader once and in order, through cut connections and a restart of the server', async () => {
    const directory = scratch()
    writeFileSync(join(directory, 'empty.json'), '{}')
    const options: ServeOptions = { agents, config: join(directory, 'empty.json'), dataDir: join(directory, 'data'), cwd: directory, port: 0, onWarning: () => undefined }
    let served = await serve(options)
    const sockets = new Set<LibrarySocket>()
    const openSocket = (url: string): WebSocket => {
      const socket = new LibrarySocket(url)
      sockets.add(socket)
      return socket as unknown as WebSocket
    }
    const client = tielineClient({ url: served.url })
    const read: string[] = []
    const stop = new AbortController()
    const reading = (async () => {
      for await (const { seq, sessionId, event, at } of tielineClient({ url: served.url, openSocket }).events({ after: '0', signal: stop.signal })) {
        expect(sessionId).toBe(event.session)
        expect(at).toBeGreaterThan(0)
        read.push(seq)
      }
    })()
    const { sessionId } = await client.sessions.create({ cwd: directory, agent: 'boss' })
    for (let round = 0; round < 12; round += 1) {
      await client.sessions.send(sessionId, { message: `round ${round}` })
      if (round % 4 === 0) {
        await expect.poll(() => [...sockets].at(-1)?.readyState, { timeout: 10_000 }).toBe(LibrarySocket.OPEN)
        sockets.forEach((socket) => socket.terminate())
      }
      await client.sessions.wait(sessionId)
    }
    const port = Number(new URL(served.url).port)
    await served.close()
    served = await serve({ ...options, port })
    onTestFinished(() => served.close())
    await client.sessions.send(sessionId, { message: 'after the restart' })
    await client.sessions.wait(sessionId)
    const last = served.line.exchange.lastSeq()
    await expect.poll(() => read.at(-1), { timeout: 15_000 }).toBe(String(last))
    stop.abort()
    await reading
    expect(read).toEqual(Array.from({ length: last }, (_, index) => String(index + 1)))
    expect(sockets.size).toBeGreaterThan(3)
  })

  test('of some sessions only, from now on, are those alone', async () => {
    const { client, cwd } = await started()
    const [one, two] = [await client.sessions.create({ cwd, agent: 'helper' }), await client.sessions.create({ cwd, agent: 'helper' })]
    const seen = new Set<string>()
    let text = ''
    const stop = new AbortController()
    const open = Promise.withResolvers<void>()
    const reading = (async () => {
      for await (const { sessionId } of client.events({ sessions: [two.sessionId], signal: stop.signal, onDelta: (delta) => (text += delta.text), onConnection: (state) => state.open && open.resolve() })) seen.add(sessionId)
    })()
    await open.promise
    for (const { sessionId } of [one, two]) {
      await client.sessions.send(sessionId, { message: 'x' })
      await client.sessions.wait(sessionId)
    }
    await expect.poll(() => [seen.size, text]).toEqual([1, 'done: x'])
    stop.abort()
    await reading
    expect([...seen]).toEqual([two.sessionId])
    expect(await refusalOf(client.events({ sessions: ['ses_nope'] }).next())).toMatchObject({ code: 'session_unknown' })
  })
})
