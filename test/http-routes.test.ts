import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Archived, Call, CallAnswer, Calls, Cancelled, CreatedSession, Flow, FlowEvents, History, Sent, Session, Sessions, State, Waits } from '../src/server/answer-shapes.ts'
import { mintSessionToken } from '../src/server/identity.ts'
import { expectNo, expectShape, serve, until } from './http-kit.ts'

test('a call by a tool that the configuration turned off is refused with its own status, and on record', async () => {
  const config = join(mkdtempSync(join(tmpdir(), 'tieline-off-')), 'tieline.toml')
  writeFileSync(config, '[tools]\nenable = ["list-session"]\n')
  const { post, get } = await serve({}, { config, dataDir: ':memory:' })
  const refused = await post('/api/calls', { agent: 'echo', task: 'x' })
  expect([refused.status, refused.body.error]).toMatchObject([403, { code: 'tool_disabled', details: { tool: 'sub_agent', call_id: expect.stringMatching(/^call_/) as string } }])
  expect((await get(`/api/calls/${refused.body.error.details.call_id}`)).body).toMatchObject({ outcome: 'refused', refusal: { code: 'tool_disabled' } })
  expect((await post('/api/tools/call_agent', { input: { agent_id: 'echo', message: 'x' } })).body).toMatchObject({ ok: false, value: { outcome: 'refused', error: expect.stringContaining('not enabled in the configuration') as string } })
  expect((await get('/api/calls')).body.calls).toHaveLength(2)
})

test('calls are read page by page, newest first, each once, with the names of agents; nobody reads the log for it', async () => {
  const served = await serve()
  const { post, get, line } = served
  const made = await line.exchange.createAgent({ name: 'helper', system: '', description: '', model: null, tools: null, id: null })
  const id = 'id' in made ? made.id : ''
  for (let n = 0; n < 3; n += 1) await post('/api/calls', { agent: n === 1 ? 'nobody' : n === 2 ? id : 'echo', task: `task ${n}` })
  const boss = await served.open('boss', { initialMessage: 'go' })
  await until(async () => (await get(`/api/sessions/${boss}/state`)).body.isActive === false, 'boss rests')
  const read = line.store.read.bind(line.store)
  line.store.read = () => Promise.reject(new Error('the log was read'))
  const tasks: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await get(`/api/calls?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expectShape(page, 200, Calls)
    expect(page.body.calls.length).toBeLessThanOrEqual(1)
    tasks.push(...page.body.calls.map((call: { task: string; outcome: string; callerName: string; agentName: string }) => `${call.task} ${call.outcome} ${call.callerName} ${call.agentName}`))
    cursor = page.body.next
  }
  expect(tasks).toEqual(['a part completed boss echo', 'task 2 completed external helper', 'task 1 refused external nobody', 'task 0 completed external echo'])
  expect((await get(`/api/sessions/${boss}/calls`)).body).toMatchObject({ calls: [{ task: 'a part' }], next: null })
  expectNo(await get('/api/calls?cursor=x'), 400, 'bad_input')
  line.store.read = read
})

describe('sessions', () => {
  test('are created, listed, read and archived', async () => {
    const { post, get, ask } = await serve()
    const made = await post('/api/sessions', { cwd: '/tmp', agent: 'echo', title: 'mine' })
    expectShape(made, 201, CreatedSession)
    expect(made.body).toMatchObject({ cwd: '/tmp', agent: 'echo', model: null, messageId: null })
    const id = made.body.sessionId as string
    const list = await get('/api/sessions?agent=echo&active=false&dir=/tmp&limit=10')
    expectShape(list, 200, Sessions)
    expect(list.body.sessions.map((one: { id: string }) => one.id)).toEqual([id])
    const one = await get(`/api/sessions/${id.slice(8)}`)
    expectShape(one, 200, Session)
    expect(one.body).toMatchObject({ id, title: 'mine', archived: false })
    const gone = await ask('DELETE', `/api/sessions/${id}`)
    expectShape(gone, 200, Archived)
    expect(gone.body.archived).toEqual([id])
    expect((await get('/api/sessions')).body.sessions).toEqual([])
    expect((await get('/api/sessions?archived=true')).body.sessions).toHaveLength(1)
  })

  test('pages of a list meet without a gap', async () => {
    const { get, open } = await serve()
    for (let n = 0; n < 5; n += 1) await open('echo')
    const first = await get('/api/sessions?limit=3')
    const second = await get(`/api/sessions?limit=3&cursor=${encodeURIComponent(first.body.next as string)}`)
    const ids = [...first.body.sessions, ...second.body.sessions].map((one: { id: string }) => one.id)
    expect(new Set(ids).size).toBe(5)
    expect(second.body.next).toBeNull()
  })

  test('a directory that does not exist, an unknown agent, parent or field is refused by name', async () => {
    const { post } = await serve()
    expectNo(await post('/api/sessions', { cwd: '/nowhere/at/all' }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: '/etc/hostname' }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: `/${'x'.repeat(300)}` }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: '/tmp\0' }), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', {}), 400, 'bad_input', 'cwd')
    expectNo(await post('/api/sessions', { cwd: '/tmp', agent: 'nobody' }), 404, 'agent_unknown')
    expectNo(await post('/api/sessions', { cwd: '/tmp', parent: 'ses_nobody' }), 404, 'session_unknown')
    expectNo(await post('/api/sessions', { cwd: '/tmp', colour: 'red' }), 400, 'bad_input', 'colour')
  })

  test('a part of an id that several have is refused with the candidates, one that none has as unknown', async () => {
    const { get, open } = await serve()
    const ids = [await open('echo'), await open('echo')]
    const ambiguous = await get('/api/sessions/ses_')
    expectNo(ambiguous, 409, 'session_ambiguous')
    expect(ambiguous.body.error.details.candidates.toSorted()).toEqual(ids.toSorted())
    expectNo(await get('/api/sessions/nothing-like-it'), 404, 'session_unknown')
    for (const path of ['state', 'wait', 'messages', 'calls']) expectNo(await get(`/api/sessions/nothing-like-it/${path}`), 404, 'session_unknown')
  })

  test('an initial message starts it, and an orphan is adopted', async () => {
    const { post, get, ask, open } = await serve()
    const parent = await open('echo')
    const made = await post('/api/sessions', { cwd: '/tmp', agent: 'echo', parent, initialMessage: 'hello' })
    expect(made.body).toMatchObject({ status: 'dispatched' })
    expect(made.body.messageId).toMatch(/^msg_/)
    const id = made.body.sessionId as string
    expect((await get(`/api/sessions?parent=${parent}`)).body.sessions).toHaveLength(1)
    const adopted = await post(`/api/sessions/${id}/adopt`, { parent: null })
    expectShape(adopted, 200, Session)
    expect(adopted.body.parent).toBeNull()
    await ask('DELETE', `/api/sessions/${parent}`)
    expect((await get(`/api/sessions/${id}`)).body.archived).toBe(false)
    expectNo(await post(`/api/sessions/${id}/adopt`, { parent: id }), 400, 'bad_input')
    expectNo(await post(`/api/sessions/${id}/adopt`, {}), 400, 'bad_input', 'parent')
  })
})

describe('messages', () => {
  test('are answered with 202, run, and stand in the history with where they came from', async () => {
    const { post, get, open } = await serve()
    const id = await open('echo')
    const sent = await post(`/api/sessions/${id}/messages`, { message: 'hello' })
    expectShape(sent, 202, Sent)
    expect(sent.body).toMatchObject({ status: 'dispatched', sessionId: id })
    const state = await get(`/api/sessions/${id}/wait?timeoutMs=5000`)
    expectShape(state, 200, State)
    expect(state.body).toMatchObject({ status: 'idle', isActive: false, lastMessage: { role: 'assistant', content: 'echo: hello' } })
    await post(`/api/sessions/${id}/messages`, { message: 'from an applet', source: 'applet', applet: 'calendar' })
    await get(`/api/sessions/${id}/wait`)
    const history = await get(`/api/sessions/${id}/messages?limit=2`)
    expectShape(history, 200, History)
    expect(history.body.messages[0]).toMatchObject({ role: 'user', text: 'from an applet', source: 'applet', applet: 'calendar' })
    const older = await get(`/api/sessions/${id}/messages?limit=2&before=${history.body.next}`)
    expect(older.body.messages.map((one: { text: string }) => one.text)).toEqual(['hello', 'echo: hello'])
  })

  test('queue behind a turn that runs, and "now" is refused while it does', async () => {
    const { post, get, open, gate } = await serve()
    const id = await open('held')
    await post(`/api/sessions/${id}/messages`, { message: 'first' })
    expect((await post(`/api/sessions/${id}/messages`, { message: 'second' })).body.status).toBe('queued')
    expectNo(await post(`/api/sessions/${id}/messages`, { message: 'third', delivery: 'now' }), 409, 'session_busy')
    const busy = await get(`/api/sessions/${id}/wait?timeoutMs=10`)
    expect(busy.body).toMatchObject({ status: 'streaming', isActive: true, queued: 1 })
    await until(() => gate.entered === 1)
    gate.release()
    await until(() => gate.entered === 2)
    gate.release()
    expect((await get(`/api/sessions/${id}/wait`)).body.isActive).toBe(false)
  })

  test('source, applet and sender must fit together', async () => {
    const { post, open } = await serve()
    const id = await open('echo')
    const to = `/api/sessions/${id}/messages`
    expectNo(await post(to, {}), 400, 'bad_input', 'message')
    expectNo(await post(to, { message: '' }), 400, 'bad_input', 'message')
    expectNo(await post(to, { message: 'a\ud800b' }), 400, 'bad_input', 'message')
    expectNo(await post(to, { message: 'x', source: 'applet' }), 400, 'bad_input', 'applet')
    expectNo(await post(to, { message: 'x', source: 'applet', applet: 'n'.repeat(65) }), 400, 'bad_input', 'applet')
    expectNo(await post(to, { message: 'x', applet: 'calendar' }), 400, 'bad_input', 'applet')
    expectNo(await post(to, { message: 'x', source: 'agent' }), 400, 'bad_input', 'fromSession')
    expectNo(await post(to, { message: 'x', source: 'god' }), 400, 'bad_input', 'source')
    expectNo(await post(to, { message: 'x', delivery: 'later' }), 400, 'bad_input', 'delivery')
    expectNo(await post(to, { message: 'x', messageId: 'a b' }), 400, 'bad_input', 'messageId')
    expectNo(await post(to, { message: 'x'.repeat(200_000) }), 413, 'too_large')
    expectNo(await post('/api/sessions/ses_nobody/messages', { message: 'x' }), 404, 'session_unknown')
  })
})

describe('cancel', () => {
  test('ends the turn and what is below it, and with "all" what is queued', async () => {
    const { post, get, open, gate } = await serve()
    const id = await open('boss')
    await post(`/api/sessions/${id}/messages`, { message: 'wait' })
    await post(`/api/sessions/${id}/messages`, { message: 'wait' })
    await until(() => gate.entered === 1)
    const cancelled = await post(`/api/sessions/${id}/cancel`, { all: true })
    expectShape(cancelled, 200, Cancelled)
    expect(cancelled.body.cancelled).toBeGreaterThan(0)
    await until(() => gate.aborted === 1)
    expect((await get(`/api/sessions/${id}/wait`)).body.isActive).toBe(false)
    expect(gate.entered).toBe(1)
    expect((await post(`/api/sessions/${id}/cancel`)).body.cancelled).toBe(0)
    expectNo(await post(`/api/sessions/${id}/cancel`, { all: 'yes' }), 400, 'bad_input', 'all')
    expectNo(await post('/api/sessions/ses_nobody/cancel'), 404, 'session_unknown')
  })
})

describe('calls', () => {
  test('block, answer in the shape of sub_agent, and are recorded', async () => {
    const { post, get } = await serve()
    const answer = await post('/api/calls', { agent: 'echo', task: 'hello', input: { a: [1] } }, { 'user-agent': 'curl/8.5.0' })
    expectShape(answer, 200, CallAnswer)
    expect(answer.body).toMatchObject({ agent_name: 'echo', success: true, output: 'echo: hello', outcome: 'completed' })
    const record = await get(`/api/calls/${answer.body.call_id}`)
    expectShape(record, 200, Call)
    expect(record.body).toMatchObject({ task: 'hello', success: true, callerSession: 'ses_client-curl', output_preview: 'echo: hello' })
    const list = await get('/api/calls?limit=5')
    expectShape(list, 200, Calls)
    expect(list.body.calls).toHaveLength(1)
    expect((await get('/api/sessions/ses_client-curl/calls')).body.calls).toHaveLength(1)
    const flow = await get(`/api/flows/${record.body.flow}`)
    expectShape(flow, 200, Flow)
    expect(flow.body.calls).toHaveLength(1)
  })

  test('a flow’s events come in pages, as on the stream, to whoever may see its session', async () => {
    const served = await serve()
    const { post, get, open } = served
    const id = await open('boss')
    const { body: { flow } } = await post(`/api/sessions/${id}/messages`, { message: 'go' })
    await get(`/api/sessions/${id}/wait`)
    const whole = await get(`/api/flows/${flow}/events`)
    expectShape(whole, 200, FlowEvents)
    expect(whole.body).toMatchObject({ next: null, upTo: String(served.line.exchange.lastSeq()) })
    expect(whole.body.events[0]).toMatchObject({ seq: expect.stringMatching(/^\d+$/) as string, sessionId: id, at: expect.any(Number) as number, event: { type: 'message.sent', flow } })
    const paged: unknown[] = []
    for (let after = '0'; ; ) {
      const { body } = await get(`/api/flows/${flow}/events?limit=3&after=${after}`)
      expect(body.events.length).toBeLessThanOrEqual(3)
      paged.push(...body.events)
      if (body.next === null) break
      after = body.next
    }
    expect(paged).toEqual(whole.body.events)
    const own = { authorization: `Bearer ${mintSessionToken(served.secret, id)}` }
    const stranger = { authorization: `Bearer ${mintSessionToken(served.secret, await open('external'))}` }
    expect((await get(`/api/flows/${flow}/events`, own)).body.events).toEqual(whole.body.events)
    expectNo(await get(`/api/flows/${flow}/events`, stranger), 404, 'not_found')
    expectNo(await get('/api/flows/flow_1/events'), 404, 'not_found')
    expectNo(await get(`/api/flows/${flow}/events?after=x`), 400, 'bad_input', 'after')
    expectNo(await get(`/api/flows/${flow}/events?limit=0`), 400, 'bad_input', 'limit')
  })

  test('that are not allowed have the status of their refusal, and are recorded too', async () => {
    const { post, get } = await serve()
    const refused = await post('/api/calls', { agent: 'nobody', task: 'hello' })
    expectNo(refused, 404, 'agent_unknown')
    const record = await get(`/api/calls/${refused.body.error.details.call_id}`)
    expect(record.body).toMatchObject({ outcome: 'refused', refusal: { code: 'agent_unknown' } })
    expectNo(await post('/api/calls', { agent: 'echo', task: 'x'.repeat(200_000) }), 413, 'too_large')
    expectNo(await post('/api/calls', { agent: 'echo' }), 400, 'bad_input', 'task')
    expectNo(await post('/api/calls', { task: 'x' }), 400, 'bad_input', 'agent')
    expectNo(await post('/api/calls', { agent: 'echo', task: 'x', timeout_seconds: 'soon' }), 400, 'bad_input', 'timeout_seconds')
    expectNo(await post('/api/calls', { agent: 'echo', task: 'x', context: { roles: ['god'] } }), 400, 'bad_input', 'context.roles.0')
    expectNo(await post('/api/calls', { agent: 'echo', task: 'x', output_schema: { type: 'nonsense' } }), 400, 'bad_input', 'output_schema')
  })

  test('whatever their outcome, an opened call is 200', async () => {
    const { post } = await serve({}, { agents: { broken: { script: () => { throw new Error('boom') } }, held: { script: () => new Promise(() => undefined) } } })
    const failed = await post('/api/calls', { agent: 'broken', task: 'go' })
    expectShape(failed, 200, CallAnswer)
    expect(failed.body).toMatchObject({ success: false, outcome: 'failed' })
    const late = await post('/api/calls', { agent: 'held', task: 'go', timeout_seconds: 0.05 })
    expectShape(late, 200, CallAnswer)
    expect(late.body).toMatchObject({ success: false, outcome: 'timed_out' })
  })

  test('in the background are answered with 202 and end by themselves', async () => {
    const { post, get, gate } = await serve()
    const started = await post('/api/calls', { agent: 'held', task: 'go', background: true })
    expectShape(started, 202, CallAnswer)
    expect(started.body).toMatchObject({ outcome: null, success: false })
    expectShape(await get('/api/waits'), 200, Waits)
    await until(() => gate.entered === 1)
    gate.release()
    await until(async () => (await get(`/api/calls/${started.body.call_id}`)).body.outcome === 'completed')
  })

  test('a client that disconnects has cancelled its call', async () => {
    const { url, gate, get } = await serve()
    const leaving = new AbortController()
    const call = fetch(`${url}/api/calls`, { method: 'POST', signal: leaving.signal, body: JSON.stringify({ agent: 'held', task: 'go' }), headers: { 'content-type': 'application/json' } })
    await until(() => gate.entered === 1)
    leaving.abort()
    await expect(call).rejects.toThrow('aborted')
    await until(() => gate.aborted === 1)
    await until(async () => (await get('/api/calls')).body.calls[0].outcome === 'cancelled')
  })

  test('a session that is cancelled while it calls from outside gets the same keys', async () => {
    const { post, gate } = await serve()
    const call = post('/api/calls', { agent: 'held', task: 'go' }, { 'user-agent': 'tool/1' })
    await until(() => gate.entered === 1)
    await post('/api/sessions/ses_client-tool/cancel', { all: true })
    const answer = await call
    expectShape(answer, 200, CallAnswer)
    expect(answer.body).toMatchObject({ outcome: 'cancelled', success: false })
  })

  test('who waits for whom can be seen while it lasts', async () => {
    const { post, get, open, gate } = await serve()
    const id = await open('boss')
    await post(`/api/sessions/${id}/messages`, { message: 'wait' })
    await until(() => gate.entered === 1)
    const waits = await get('/api/waits')
    expectShape(waits, 200, Waits)
    expect(waits.body.waits).toMatchObject([{ waiter: id, waiterAgent: 'boss', targetAgent: 'held', kind: 'call' }])
    gate.release()
    await get(`/api/sessions/${id}/wait`)
  })

  test('an unknown call and flow are 404', async () => {
    const { get } = await serve()
    expectNo(await get('/api/calls/call_1'), 404, 'call_unknown')
    expectNo(await get('/api/calls/nonsense'), 404, 'call_unknown')
    expectNo(await get('/api/flows/flow_1'), 404, 'not_found')
    expectNo(await get('/api/calls?limit=0'), 400, 'bad_input', 'limit')
    expectNo(await get('/api/calls?limit=x'), 400, 'bad_input', 'limit')
  })
})
