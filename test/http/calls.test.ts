import { mkdtempSync, writeFileSync } from 'node:fs'
import { exchangeOf } from '../kits/askers.ts'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CallRecord as Call, CallAnswer, Calls } from '../../src/wire/calls.ts'
import { Explanation } from '../../src/wire/explain.ts'
import { Flow, FlowEvents, Waits } from '../../src/wire/log.ts'
import { mintSessionToken } from '../../src/server/identity.ts'
import { expectNo, expectShape, serve, until } from '../kits/http.ts'

test('a call by a tool that the configuration turned off is refused with its own status, and on record', async () => {
  const config = join(mkdtempSync(join(tmpdir(), 'tieline-off-')), 'tieline.toml')
  writeFileSync(config, '[tools]\nenable = ["list-session"]\n')
  const { post, get } = await serve({}, { config, dataDir: ':memory:' })
  const refused = await post('/api/calls', { agent: 'echo', task: 'x' })
  expect([refused.status, refused.body.error]).toMatchObject([
    403,
    {
      code: 'tool_disabled',
      details: { tool: 'sub_agent', call_id: expect.stringMatching(/^call_/) as string },
    },
  ])
  expect((await get(`/api/calls/${refused.body.error.details.call_id}`)).body).toMatchObject({
    outcome: 'refused',
    refusal: { code: 'tool_disabled' },
  })
  expect(
    (await post('/api/tools/call_agent', { input: { agent_id: 'echo', message: 'x' } })).body,
  ).toMatchObject({
    ok: false,
    value: {
      outcome: 'refused',
      error: expect.stringContaining('not enabled in the configuration') as string,
    },
  })
  expect((await get('/api/calls')).body.calls).toHaveLength(2)
})

test('the trace that a request belongs to is on record with what it began; a malformed one is none', async () => {
  const { post, line } = await serve()
  const trace = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
  for (const traceparent of [trace, `${trace}-more`, 'x'])
    expect((await post('/api/calls', { agent: 'echo', task: 'x' }, { traceparent })).status).toBe(200)
  const { events } = await line.store.read(0, { types: ['message.sent'] }, 100)
  expect(events.map(({ event }) => (event as { trace: string | null }).trace)).toEqual([trace, null, null])
})

test('calls are read page by page, newest first, each once, without reading the log', async () => {
  const served = await serve()
  const { post, get, line } = served
  const made = await exchangeOf(line.desks).createAgent({
    name: 'helper',
    system: '',
    description: '',
    model: null,
    tools: null,
    id: null,
  })
  const id = 'id' in made ? made.id : ''
  for (let n = 0; n < 3; n += 1)
    await post('/api/calls', { agent: n === 1 ? 'nobody' : n === 2 ? id : 'echo', task: `task ${n}` })
  const boss = await served.open('boss', { initialMessage: 'go' })
  await until(async () => (await get(`/api/sessions/${boss}/state`)).body.isActive === false, 'boss rests')
  const read = line.store.read.bind(line.store)
  line.store.read = () => Promise.reject(new Error('the log was read'))
  const tasks: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await get(`/api/calls?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expectShape(page, 200, Calls)
    expect(page.body.calls.length).toBeLessThanOrEqual(1)
    tasks.push(
      ...page.body.calls.map(
        (call: { task: string; outcome: string; callerName: string; agentName: string }) =>
          `${call.task} ${call.outcome} ${call.callerName} ${call.agentName}`,
      ),
    )
    cursor = page.body.next
  }
  expect(tasks).toEqual([
    'a part completed boss echo',
    'task 2 completed node helper',
    'task 1 refused node nobody',
    'task 0 completed node echo',
  ])
  expect((await get(`/api/sessions/${boss}/calls`)).body).toMatchObject({
    calls: [{ task: 'a part' }],
    next: null,
  })
  expectNo(await get('/api/calls?cursor=x'), 400, 'bad_input')
  line.store.read = read
})

describe('calls', () => {
  test('block, answer in the shape of sub_agent, and are recorded', async () => {
    const { post, get } = await serve()
    const answer = await post(
      '/api/calls',
      { agent: 'echo', task: 'hello', input: { a: [1] } },
      { 'user-agent': 'curl/8.5.0' },
    )
    expectShape(answer, 200, CallAnswer)
    expect(answer.body).toMatchObject({
      agent_name: 'echo',
      success: true,
      output: 'echo: hello',
      outcome: 'completed',
    })
    const record = await get(`/api/calls/${answer.body.call_id}`)
    expectShape(record, 200, Call)
    expect(record.body).toMatchObject({
      task: 'hello',
      success: true,
      callerSession: 'ses_client-curl',
      output_preview: 'echo: hello',
    })
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
    const {
      body: { flow },
    } = await post(`/api/sessions/${id}/messages`, { message: 'go' })
    await get(`/api/sessions/${id}/wait`)
    const whole = await get(`/api/flows/${flow}/events`)
    expectShape(whole, 200, FlowEvents)
    expect(whole.body).toMatchObject({ next: null, upTo: String(exchangeOf(served.line.desks).lastSeq()) })
    expect(whole.body.events[0]).toMatchObject({
      seq: expect.stringMatching(/^\d+$/) as string,
      sessionId: id,
      at: expect.any(Number) as number,
      event: { type: 'message.sent', flow },
    })
    const paged: unknown[] = []
    for (let after = '0'; ;) {
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
    expectNo(
      await post('/api/calls', { agent: 'echo', task: 'x', timeout_seconds: 'soon' }),
      400,
      'bad_input',
      'timeout_seconds',
    )
    expectNo(
      await post('/api/calls', { agent: 'echo', task: 'x', context: { roles: ['god'] } }),
      400,
      'bad_input',
      'context.roles.0',
    )
    expectNo(
      await post('/api/calls', { agent: 'echo', task: 'x', output_schema: { type: 'nonsense' } }),
      400,
      'bad_input',
      'output_schema',
    )
  })

  test('whatever their outcome, an opened call is 200', async () => {
    const { post } = await serve(
      {},
      {
        agents: {
          broken: {
            script: () => {
              throw new Error('boom')
            },
          },
          held: { script: () => new Promise(() => undefined) },
        },
      },
    )
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
    const call = fetch(`${url}/api/calls`, {
      method: 'POST',
      signal: leaving.signal,
      body: JSON.stringify({ agent: 'held', task: 'go' }),
      headers: { 'content-type': 'application/json' },
    })
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
    expect(waits.body.waits).toMatchObject([
      { waiter: id, waiterAgent: 'boss', targetAgent: 'held', kind: 'call' },
    ])
    gate.release()
    await get(`/api/sessions/${id}/wait`)
  })

  test('explain beside a running server omits no refusal, and shows no other call', async () => {
    const { post, get, gate } = await serve()
    const refused = await post('/api/calls', { agent: 'hold', task: 'go' })
    const held = post('/api/calls', { agent: 'held', task: 'go' })
    await until(() => gate.entered === 1)
    const no = await get(`/api/explain/${refused.body.error.details.call_id}`)
    expectShape(no, 200, Explanation)
    expect(no.body).toMatchObject({
      over: true,
      waits: [],
      refused: [{ agent: 'hold', code: 'agent_unknown' }],
    })
    const [running] = (await get('/api/calls')).body.calls
    const why = await get(`/api/explain/${running.call}`)
    expectShape(why, 200, Explanation)
    expect(why.body).toMatchObject({ id: running.call, refused: [], busy: [{ agent: 'held' }] })
    expect(why.body.roots).toMatchObject([{ agent: 'held', state: 'works' }])
    expectNo(await get('/api/explain/nothing-like-it'), 404, 'not_found')
    expectNo(await get('/api/explain/nobody@nowhere'), 404, 'session_unknown')
    gate.release()
    await held
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
