import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mintSessionToken } from '../../src/server/identity.ts'
import { serve, until } from '../kits/http.ts'

test('a message with the same key twice is one message in the log, and both answers say so', async () => {
  const { post, get, open, line } = await serve()
  const id = await open('echo')
  const key = { 'idempotency-key': 'order 66' }
  const [first, second] = await Promise.all([
    post(`/api/sessions/${id}/messages`, { message: 'once' }, key),
    post(`/api/sessions/${id}/messages`, { message: 'once' }, key),
  ])
  const third = await post(`/api/sessions/${id}/messages`, { message: 'once' }, key)
  expect([first.status, second.status, third.status]).toEqual([202, 202, 202])
  expect(new Set([first, second, third].map((answer) => answer.body.messageId as string)).size).toBe(1)
  await get(`/api/sessions/${id}/wait`)
  const { events } = await line.store.read(0, { types: ['message.sent'] }, 100)
  expect(events).toHaveLength(1)
})

test('the same key with another text or another target is told that it was used', async () => {
  const { post, open } = await serve()
  const [id, other] = [await open('echo'), await open('echo')]
  const key = { 'idempotency-key': 'k' }
  await post(`/api/sessions/${id}/messages`, { message: 'one' }, key)
  for (const [to, message] of [
    [id, 'two'],
    [other, 'one'],
  ] as const) {
    const answer = await post(`/api/sessions/${to}/messages`, { message }, key)
    expect([answer.status, answer.body.error?.code]).toEqual([409, 'message_already_sent'])
  }
})

test('a key belongs to who uses it and for what: others may use the same', async () => {
  const { post, open, secret } = await serve()
  const [target, one, two] = [await open('echo'), await open('external'), await open('external')]
  const ids = new Set<string>()
  for (const session of [one, two]) {
    const answer = await post(
      `/api/sessions/${target}/messages`,
      { message: 'x' },
      { 'idempotency-key': 'k', authorization: `Bearer ${mintSessionToken(secret, session)}` },
    )
    expect(answer.status).toBe(202)
    ids.add(answer.body.messageId as string)
  }
  ids.add(
    (await post(`/api/sessions/${target}/messages`, { message: 'x' }, { 'idempotency-key': 'k' })).body
      .messageId as string,
  )
  expect(
    (await post('/api/sessions', { cwd: '/tmp', agent: 'echo' }, { 'idempotency-key': 'k' })).status,
  ).toBe(201)
  expect(ids.size).toBe(3)
})

test('a session is opened once', async () => {
  const { post, get } = await serve()
  const key = { 'idempotency-key': 'k' }
  const first = await post('/api/sessions', { cwd: '/tmp', agent: 'echo', initialMessage: 'hello' }, key)
  const second = await post('/api/sessions', { cwd: '/tmp', agent: 'echo', initialMessage: 'hello' }, key)
  expect([first.status, second.status]).toEqual([201, 201])
  expect(second.body.sessionId).toBe(first.body.sessionId)
  const bare = { 'idempotency-key': 'bare' }
  expect((await post('/api/sessions', { cwd: '/tmp', agent: 'echo' }, bare)).body.sessionId).toBe(
    (await post('/api/sessions', { cwd: '/tmp', agent: 'echo' }, bare)).body.sessionId,
  )
  expect((await get('/api/sessions')).body.sessions).toHaveLength(2)
})

test('a key that made something else is refused: another session, another fork', async () => {
  const { post, open } = await serve()
  const session = { cwd: '/tmp', agent: 'echo' }
  const from = await open('echo')
  const asks: [path: string, first: Record<string, unknown>, others: Record<string, unknown>[]][] = [
    [
      '/api/sessions',
      session,
      [
        { ...session, title: 'Other' },
        { ...session, cwd: '/' },
        { ...session, parent: from },
        { ...session, initialMessage: 'hello' },
      ],
    ],
    [
      '/api/sessions',
      { ...session, initialMessage: 'hello' },
      [{ ...session, title: 'Other', initialMessage: 'hello' }, session],
    ],
    ['/api/sessions', { ...session, agent: 'external' }, [{ ...session, agent: 'external', title: 'Other' }]],
    [`/api/sessions/${from}/fork`, { back: 0 }, [{ back: 1 }]],
  ]
  for (const [index, [path, first, others]] of asks.entries()) {
    const key = { 'idempotency-key': `k${index}` }
    const made = await post(path, first, key)
    expect([index, made.status]).toEqual([index, 201])
    for (const other of others) {
      const refused = await post(path, other, key)
      expect([other, refused.status, refused.body.error?.field]).toEqual([other, 400, 'Idempotency-Key'])
    }
    expect((await post(path, first, key)).body).toEqual(made.body)
  }
})

test('the answer of a call that has ended comes again, and one that runs is joined', async () => {
  const { post, get, gate } = await serve()
  const key = { 'idempotency-key': 'k', 'user-agent': 'tool/1' }
  const first = post('/api/calls', { agent: 'held', task: 'go' }, key)
  await until(() => gate.entered === 1)
  const second = post('/api/calls', { agent: 'held', task: 'go' }, key)
  await new Promise((resolve) => setTimeout(resolve, 30))
  gate.release()
  const answers = [await first, await second, await post('/api/calls', { agent: 'held', task: 'go' }, key)]
  expect(answers.map((answer) => [answer.status, answer.body.output])).toEqual(
    Array(3).fill([200, 'let go: go']),
  )
  expect(new Set(answers.map((answer) => answer.body.call_id as string)).size).toBe(1)
  expect(gate.entered).toBe(1)
  expect((await get('/api/calls')).body.calls).toHaveLength(1)
  const differs = await post('/api/calls', { agent: 'held', task: 'something else' }, key)
  expect([differs.status, differs.body.error?.code]).toEqual([409, 'message_already_sent'])
})

test('a refused call is refused again with the same call, not called again', async () => {
  const { post, get } = await serve()
  const key = { 'idempotency-key': 'k' }
  const first = await post('/api/calls', { agent: 'nobody', task: 'go' }, key)
  const second = await post('/api/calls', { agent: 'nobody', task: 'go' }, key)
  expect([first.status, second.status]).toEqual([404, 404])
  expect(second.body.error.details.call_id).toBe(first.body.error.details.call_id)
  expect((await get('/api/calls')).body.calls).toHaveLength(1)
})

test('a message may have an id of its own', async () => {
  const { post, open } = await serve()
  const id = await open('echo')
  const sent = await post(`/api/sessions/${id}/messages`, { message: 'x', messageId: 'my-own_1' })
  expect(sent.body.messageId).toBe('my-own_1')
  expect(
    (await post(`/api/sessions/${id}/messages`, { message: 'x', messageId: 'my-own_1' })).body.messageId,
  ).toBe('my-own_1')
})

test('a key that is empty, too long or has control characters is refused on every POST', async () => {
  const { post } = await serve()
  for (const key of ['', 'x'.repeat(256), 'a\tb']) {
    for (const [path, body] of [
      ['/api/sessions', { cwd: '/tmp' }],
      ['/api/sessions/ses_1/messages', { message: 'x' }],
      ['/api/sessions/ses_1/cancel', {}],
      ['/api/sessions/ses_1/adopt', { parent: null }],
      ['/api/calls', { agent: 'echo', task: 'x' }],
      ['/api/questions/q', { answer: 'deny' }],
    ] as const) {
      const answer = await post(path, body, { 'idempotency-key': key })
      expect([path, key.length, answer.status, answer.body.error?.field]).toEqual([
        path,
        key.length,
        400,
        'Idempotency-Key',
      ])
    }
  }
})

test('a cancel that is tried again after a restart does not end the turn that came later', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-cancel-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const [key, nothing] = [{ 'idempotency-key': 'stop it' }, { 'idempotency-key': 'stop nothing' }]
  const first = await serve({}, { dataDir })
  const id = await first.open('held')
  expect((await first.post(`/api/sessions/${id}/cancel`, {}, nothing)).body).toEqual({ cancelled: 0 })
  await first.post(`/api/sessions/${id}/messages`, { message: 'one' })
  await until(() => first.gate.entered === 1)
  expect((await first.post(`/api/sessions/${id}/cancel`, {}, key)).body).toEqual({ cancelled: 1 })
  await first.get(`/api/sessions/${id}/wait`)
  await first.server.close()
  await first.line.close()

  const second = await serve({}, { dataDir })
  await second.post(`/api/sessions/${id}/messages`, { message: 'two' })
  await until(() => second.gate.entered === 1)
  expect((await second.post(`/api/sessions/${id}/cancel`, {}, key)).body).toEqual({ cancelled: 1 })
  expect((await second.post(`/api/sessions/${id}/cancel`, {}, nothing)).body).toEqual({ cancelled: 0 })
  second.gate.release()
  await second.get(`/api/sessions/${id}/wait`)
  const { events } = await second.line.store.read(0, { types: ['turn.ended'] }, 10)
  expect(events.map(({ event }) => (event.type === 'turn.ended' ? event.outcome : ''))).toEqual([
    'cancelled',
    'completed',
  ])
})

test.each([
  ['/api/calls', { agent: 'held', task: 'x' }, ''],
  ['/api/tools/sub_agent', { input: { agent_name: 'held', task: 'x' } }, 'value'],
])(
  'the server stops while a client waits at %s: the call goes on later, and a retry gets its outcome',
  async (path, body, field) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tieline-stopped-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
    const key = { 'idempotency-key': 'k' }
    const first = await serve({}, { dataDir })
    const waiting = first.post(path, body, key)
    await until(() => first.gate.entered === 1)
    await first.server.close()
    await first.line.close()
    const stopped = await waiting
    expect([stopped.status, stopped.body.error?.message]).toEqual([
      503,
      expect.stringContaining('goes on when it runs again'),
    ])

    const second = await serve({}, { dataDir })
    await until(() => second.gate.entered === 1)
    second.gate.release()
    const answer = await second.post(path, body, key)
    expect(answer.status).toBe(200)
    const value = field === '' ? answer.body : answer.body[field]
    expect(value).toMatchObject({
      outcome: 'completed',
      output: 'let go: x',
      call_id: expect.stringMatching(/^call_/),
    })
  },
)
