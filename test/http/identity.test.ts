import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { mintSessionToken, mintTurnToken } from '../../src/server/identity.ts'
import { askRaw, declined, listen, serve, until, type Answer, type Served } from '../kits/http.ts'

const noOf = (answer: Pick<Answer, 'status' | 'body'>): [number, string] => [
  answer.status,
  answer.body?.error?.code,
]

const talkTo = (port: number, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })

describe('with tokens', () => {
  test('everything but what is public needs one', async () => {
    const { get, post, ask, url } = await serve({ auth: 'tokens', token: 'right' })
    for (const path of [
      '/api/sessions',
      '/api/sessions/ses_1',
      '/api/sessions/ses_1/state',
      '/api/calls',
      '/api/calls/call_1',
      '/api/flows/flow_1',
      '/api/flows/flow_1/events',
      '/api/drafts',
      '/api/numbers',
      '/api/waits',
      '/api/questions',
      '/api/agents',
      '/api/events',
      '/metrics',
    ])
      expect([path, ...noOf(await get(path))]).toEqual([path, 401, 'not_authenticated'])
    for (const path of [
      '/api/sessions',
      '/api/sessions/ses_1/messages',
      '/api/sessions/ses_1/cancel',
      '/api/sessions/ses_1/adopt',
      '/api/calls',
      '/api/questions/q',
    ])
      expect([path, ...noOf(await post(path))]).toEqual([path, 401, 'not_authenticated'])
    expect(noOf(await ask('DELETE', '/api/sessions/ses_1'))).toEqual([401, 'not_authenticated'])
    expect(noOf(await declined(url))).toEqual([401, 'not_authenticated'])
    for (const path of ['/', '/health', '/docs', '/openapi.json']) expect((await get(path)).status).toBe(200)
    expect((await get('/api/agents')).headers.get('www-authenticate')).toContain('Bearer')
  })

  test('the token comes as a bearer, in its own header, or for sockets in the query, and nowhere else', async () => {
    const { get, url } = await serve({ auth: 'tokens', token: 'right' })
    expect((await get('/api/agents', { authorization: 'Bearer right' })).status).toBe(200)
    expect((await get('/api/agents', { authorization: 'bearer right' })).status).toBe(200)
    expect((await get('/api/agents', { 'x-tieline-token': 'right' })).status).toBe(200)
    for (const authorization of [
      'Bearer wrong',
      'Bearer right2',
      'Bearer',
      'Bearer ',
      'right',
      'Basic right',
    ])
      expect((await get('/api/agents', { authorization })).status).toBe(401)
    expect((await get('/api/agents?token=right')).status).toBe(401)
    await (await listen(url, '?token=right')).close()
    expect((await declined(url, '?token=wrong')).status).toBe(401)
  })

  test("the server's own token does not let one speak for a session", async () => {
    const { post, open } = await serve({ auth: 'tokens', token: 'right' })
    const [one, other] = [await open('external'), await open('echo')]
    const answer = await post(
      `/api/sessions/${other}/messages`,
      { message: 'x', fromSession: one },
      { authorization: 'Bearer right' },
    )
    expect(noOf(answer)).toEqual([403, 'not_allowed'])
  })
})

describe('the token of a session', () => {
  test('is given to the user who opens an external one, and acts as that session alone', async () => {
    const { post } = await serve({ auth: 'tokens', token: 'right' })
    const user = { authorization: 'Bearer right' }
    const {
      body: { sessionId, token },
    } = (await post('/api/sessions', { cwd: '/tmp', agent: 'external' }, user)) as {
      body: { sessionId: string; token: string }
    }
    expect((await post('/api/sessions', { cwd: '/tmp', agent: 'echo' }, user)).body).toMatchObject({
      token: null,
    })
    // Whoever is a session itself gets no other's.
    expect(
      (await post('/api/sessions', { cwd: '/tmp', agent: 'external' }, { authorization: `Bearer ${token}` }))
        .body?.token ?? null,
    ).toBeNull()
    expect(
      (await post('/api/calls', { agent: 'echo', task: 'x' }, { authorization: `Bearer ${token}` })).status,
    ).toBe(200)
    expect(
      noOf(
        await post(
          '/api/calls',
          { from: `${sessionId}0`, agent: 'echo', task: 'x' },
          { authorization: `Bearer ${token}` },
        ),
      )[0],
    ).not.toBe(200)
  })

  const withToken = (secret: Uint8Array, session: `ses_${string}`): Record<string, string> => ({
    authorization: `Bearer ${mintSessionToken(secret, session)}`,
  })

  test("that was changed, or signed by another server, is nobody's, also where no token is needed", async () => {
    const { get, secret, open } = await serve()
    const token = mintSessionToken(secret, await open('external'))
    const other = token.at(-1) === 'A' ? 'B' : 'A'
    for (const broken of [
      token.slice(0, -1) + other,
      token.replace('ses_', 'ses_9'),
      mintSessionToken(Buffer.from('other'), 'ses_1'),
      token.replace('tls_', 'tlt_'),
      'tls_',
      'tls_.',
      `tls_ses_1.`,
      'tlt_turn_1.x',
    ]) {
      expect(noOf(await get('/api/agents', { authorization: `Bearer ${broken}` }))).toEqual([
        401,
        'not_authenticated',
      ])
      expect(noOf(await get('/api/agents', { 'x-tieline-session-token': broken }))).toEqual([
        401,
        'not_authenticated',
      ])
    }
    expect((await get('/api/agents', { 'x-tieline-session-token': token })).status).toBe(200)
  })

  test("wins over the user's when both are there", async () => {
    const { get, secret, open } = await serve({ auth: 'tokens', token: 'right' })
    const token = mintSessionToken(secret, await open('external'))
    expect(
      noOf(await get('/api/questions', { authorization: 'Bearer right', 'x-tieline-session-token': token })),
    ).toEqual([403, 'not_allowed'])
  })

  test('posts only as itself', async () => {
    const served = await serve()
    const { post, get, open, secret } = served
    const [own, other, target] = [await open('external'), await open('external'), await open('echo')]
    const headers = withToken(secret, own)
    expect(
      noOf(await post(`/api/sessions/${target}/messages`, { message: 'x', fromSession: other }, headers)),
    ).toEqual([403, 'not_allowed'])
    expect(
      noOf(await post(`/api/sessions/${target}/messages`, { message: 'x', source: 'user' }, headers)),
    ).toEqual([403, 'not_allowed'])
    expect(
      noOf(
        await post(
          `/api/sessions/${target}/messages`,
          { message: 'x', source: 'applet', applet: 'a' },
          headers,
        ),
      ),
    ).toEqual([403, 'not_allowed'])
    expect(noOf(await post(`/api/sessions/${own}/messages`, { message: 'x' }, headers))).toEqual([
      400,
      'self_call',
    ])
    expect(noOf(await post(`/api/calls`, { agent: 'echo', task: 'x', from: other }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(
      (await post(`/api/sessions/${target}/messages`, { message: 'x', fromSession: own }, headers)).status,
    ).toBe(202)
    expect((await post(`/api/sessions/${target}/messages`, { message: 'y' }, headers)).status).toBe(202)
    await get(`/api/sessions/${target}/wait`)
    const history = await get(`/api/sessions/${target}/messages`)
    expect(history.body.messages.filter((one: { role: string }) => one.role === 'user')).toMatchObject([
      { text: 'x', source: 'agent', from: own },
      { text: 'y', source: 'agent', from: own },
    ])
    const called = await post('/api/calls', { agent: 'echo', task: 'z' }, headers)
    expect((await get(`/api/calls/${called.body.call_id}`, headers)).body.callerSession).toBe(own)
  })

  test('sees itself and what is below it, and nothing else', async () => {
    const { get, post, ask, open, secret } = await serve()
    const own = await open('external')
    const child = await open('echo', { parent: own })
    const grandchild = await open('echo', { parent: child })
    const other = await open('echo')
    const headers = withToken(secret, own)
    for (const id of [own, child, grandchild]) {
      for (const path of ['', '/state', '/messages', '/calls', '/wait?timeoutMs=1'])
        expect([path, (await get(`/api/sessions/${id}${path}`, headers)).status]).toEqual([path, 200])
    }
    for (const path of ['', '/state', '/messages', '/calls', '/wait'])
      expect([path, ...noOf(await get(`/api/sessions/${other}${path}`, headers))]).toEqual([
        path,
        403,
        'not_allowed',
      ])
    expect((await get('/api/sessions', headers)).body.sessions.map((one: { id: string }) => one.id)).toEqual([
      child,
    ])
    expect(noOf(await get(`/api/sessions?parent=${other}`, headers))).toEqual([403, 'not_allowed'])
    const call = (await post('/api/calls', { agent: 'echo', task: 'x' }, { 'user-agent': 'someone/1' })).body
      .call_id as string
    expect(noOf(await get(`/api/calls/${call}`, headers))).toEqual([404, 'call_unknown'])
    expect(noOf(await get(`/api/flows/${(await get(`/api/calls/${call}`)).body.flow}`, headers))).toEqual([
      404,
      'not_found',
    ])
    expect((await get('/api/calls', headers)).body.calls).toEqual([])
    for (const path of ['/api/questions', '/api/waits', '/api/drafts', '/api/numbers', '/metrics'])
      expect(noOf(await get(path, headers))).toEqual([403, 'not_allowed'])
    expect(noOf(await post('/api/questions/q', { answer: 'allow' }, headers))).toEqual([403, 'not_allowed'])
    expect(noOf(await post(`/api/sessions/${other}/cancel`, {}, headers))).toEqual([403, 'not_allowed'])
    expect(noOf(await post(`/api/sessions/${other}/adopt`, { parent: own }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(noOf(await post(`/api/sessions/${grandchild}/adopt`, { parent: own }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(noOf(await ask('DELETE', `/api/sessions/${other}`, undefined, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(noOf(await ask('DELETE', `/api/sessions/${own}`, undefined, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect((await ask('DELETE', `/api/sessions/${child}`, undefined, headers)).status).toBe(200)
  })

  test('does not read how other agents were told to behave', async () => {
    const { get, open, secret } = await serve(
      {},
      { agents: { echo: { prompt: 'a private prompt', script: () => 'x' } } },
    )
    const headers = withToken(secret, await open('external'))
    expect((await get('/api/agents')).text).toContain('a private prompt')
    expect((await get('/api/agents', headers)).text).not.toContain('a private prompt')
  })

  test('opens sessions below itself', async () => {
    const { post, get, open, secret } = await serve()
    const own = await open('external')
    const made = await post('/api/sessions', { cwd: '/tmp', agent: 'echo' }, withToken(secret, own))
    expect(made.status).toBe(201)
    expect((await get(`/api/sessions/${made.body.sessionId}`)).body.parent).toBe(own)
  })

  test('of one that does not exist does nothing', async () => {
    const { post, secret } = await serve()
    expect(
      noOf(await post('/api/calls', { agent: 'echo', task: 'x' }, withToken(secret, 'ses_nobody'))),
    ).toEqual([404, 'session_unknown'])
  })
})

describe('the token of a turn', () => {
  test('calls from inside that turn while it lives, and does nothing else', async () => {
    const served = await serve(
      {},
      {
        agents: {
          boss: {
            allowSubAgentCalls: true,
            tools: ['sub_agent'],
            script: () => new Promise(() => undefined),
          },
        },
      },
    )
    const { post, get, open, secret, url } = served
    const boss = await open('boss')
    const sent = await post(`/api/sessions/${boss}/messages`, { message: 'go' })
    const headers = { authorization: `Bearer ${mintTurnToken(secret, sent.body.turn)}` }
    const called = await post('/api/calls', { agent: 'echo', task: 'from inside' }, headers)
    expect(called.body).toMatchObject({ outcome: 'completed' })
    expect((await get(`/api/calls/${called.body.call_id}`)).body).toMatchObject({
      callerSession: boss,
      depth: 1,
    })
    for (const path of [
      `/api/sessions/${boss}`,
      '/api/sessions',
      '/api/calls',
      '/api/questions',
      '/api/waits',
      '/api/events',
    ])
      expect([path, ...noOf(await get(path, headers))]).toEqual([path, 403, 'not_allowed'])
    expect(noOf(await post(`/api/sessions/${boss}/messages`, { message: 'x' }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(noOf(await post('/api/calls', { agent: 'echo', task: 'x', from: boss }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(noOf(await declined(url, '', headers))).toEqual([403, 'not_allowed'])
    await post(`/api/sessions/${boss}/cancel`)
    await until(async () => (await get(`/api/sessions/${boss}/state`)).body.isActive === false)
    expect(noOf(await post('/api/calls', { agent: 'echo', task: 'later' }, headers))).toEqual([
      409,
      'call_ended',
    ])
  })
})

describe('without tokens', () => {
  const from = (served: Served, target: string, fromSession: string) =>
    served.post(`/api/sessions/${target}/messages`, { message: 'x', fromSession })

  test('a sender is believed only where somebody can be behind it', async () => {
    const served = await serve()
    const [idle, busy, outside, target] = [
      await served.open('echo'),
      await served.open('held'),
      await served.open('external'),
      await served.open('echo'),
    ]
    const spoofed = await from(served, target, idle)
    expect(noOf(spoofed)).toEqual([403, 'not_allowed'])
    expect(spoofed.body.error.message).toContain('no live turn')
    expect(noOf(await from(served, target, 'ses_nobody'))).toEqual([404, 'session_unknown'])
    expect((await from(served, target, outside)).status).toBe(202)
    await served.post(`/api/sessions/${busy}/messages`, { message: 'go' })
    await until(() => served.gate.entered === 1)
    // It lives, so it is believed; whether it may write is the runtime's to say.
    expect((await from(served, target, busy)).body.error?.message ?? '').not.toContain('no live turn')
    expect(noOf(await from(served, outside, outside))).toEqual([400, 'self_call'])
    expect(noOf(await served.post('/api/calls', { agent: 'echo', task: 'x', from: idle }))).toEqual([
      403,
      'not_allowed',
    ])
    served.gate.release()
  })
})

describe('Host and Origin', () => {
  test('only our own names are answered, also for upgrades and before anything is parsed', async () => {
    const { url, server } = await serve()
    const { port } = server
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
      expect([host, (await askRaw(url, { path: '/health', headers: { host } })).status]).toEqual([host, 200])
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      'localhost',
      `localhost:${port + 1}`,
      `127.0.0.1:${port}.evil.example`,
    ]) {
      expect([host, ...noOf(await askRaw(url, { path: '/health', headers: { host } }))]).toEqual([
        host,
        403,
        'not_allowed',
      ])
      expect([host, ...noOf(await askRaw(url, { path: '/nothing', headers: { host } }))]).toEqual([
        host,
        403,
        'not_allowed',
      ])
      expect([
        host,
        ...noOf(
          await askRaw(url, {
            method: 'POST',
            path: '/api/calls',
            headers: { host, 'content-length': '1' },
            body: '{',
          }),
        ),
      ]).toEqual([host, 403, 'not_allowed'])
      expect([host, ...noOf(await declined(url, '', { host }))]).toEqual([host, 403, 'not_allowed'])
    }
  })

  test('no Host at all is not ours either', async () => {
    const { server } = await serve()
    expect(await talkTo(server.port, 'GET /api/agents HTTP/1.0\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*"code":"not_allowed"/,
    )
    expect(
      await talkTo(server.port, 'GET /api/agents HTTP/1.1\r\nhost: \r\nconnection: close\r\n\r\n'),
    ).toMatch(/^HTTP\/1\.1 403 [\s\S]*"code":"not_allowed"/)
  })

  test('names that are allowed are answered too', async () => {
    const { url, server } = await serve({ allowedHosts: ['agents.example'] })
    for (const host of ['agents.example', `agents.example:${server.port}`])
      expect((await askRaw(url, { path: '/health', headers: { host } })).status).toBe(200)
  })

  test('another site is refused, also for upgrades; a page of ours and programs are not', async () => {
    const { url, get, server } = await serve()
    for (const origin of [
      'https://evil.example',
      'null',
      `http://127.0.0.1:${server.port + 1}`,
      `http://localhost:${server.port}`,
      `http://127.0.0.1:${server.port}.evil.example`,
      '',
    ]) {
      expect([origin, ...noOf(await get('/api/agents', { origin }))]).toEqual([origin, 403, 'not_allowed'])
      expect([origin, ...noOf(await declined(url, '', { origin }))]).toEqual([origin, 403, 'not_allowed'])
    }
    expect((await get('/api/agents', { origin: url })).status).toBe(200)
    await (await listen(url, '', { origin: url })).close()
    expect((await get('/api/agents', { origin: url })).headers.get('access-control-allow-origin')).toBeNull()
    expect(
      noOf(await askRaw(url, { path: '/api/agents', headers: { 'sec-fetch-site': 'cross-site' } })),
    ).toEqual([403, 'not_allowed'])
    expect((await askRaw(url, { path: '/', headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(200)
  })

  test('a browser must say that it sends JSON; a program need not', async () => {
    const { url } = await serve()
    const body = JSON.stringify({ cwd: '/tmp', agent: 'echo' })
    for (const type of ['application/x-www-form-urlencoded', 'text/plain']) {
      expect(
        (
          await askRaw(url, {
            method: 'POST',
            path: '/api/sessions',
            headers: { 'content-type': type },
            body,
          })
        ).status,
      ).toBe(201)
      expect(
        noOf(
          await askRaw(url, {
            method: 'POST',
            path: '/api/sessions',
            headers: { 'content-type': type, origin: url },
            body,
          }),
        ),
      ).toEqual([415, 'unsupported_media_type'])
    }
    expect((await askRaw(url, { method: 'POST', path: '/api/sessions', body })).status).toBe(201)
    expect(
      noOf(await askRaw(url, { method: 'POST', path: '/api/sessions', headers: { origin: url }, body })),
    ).toEqual([415, 'unsupported_media_type'])
    expect(
      (
        await askRaw(url, {
          method: 'POST',
          path: '/api/sessions',
          headers: { 'content-type': 'Application/JSON; charset=utf-8', origin: url },
          body,
        })
      ).status,
    ).toBe(201)
    expect(
      noOf(
        await askRaw(url, {
          method: 'POST',
          path: '/api/sessions',
          headers: { 'content-type': 'image/png' },
          body,
        }),
      ),
    ).toEqual([415, 'unsupported_media_type'])
  })
})

test('a server that other machines can reach does not start without tokens', async () => {
  await expect(serve({ host: '0.0.0.0' })).rejects.toThrow('needs tokens')
})

describe('limits', () => {
  test('too many requests of one client are refused with when to come back, and others are not', async () => {
    const { get, secret, open } = await serve({ limits: { requestsPerMinute: 5 } })
    const headers = { authorization: `Bearer ${mintSessionToken(secret, await open('external'))}` }
    for (let n = 0; n < 5; n += 1) expect((await get('/health')).status).toBe(200)
    const refused = await get('/health')
    expect(noOf(refused)).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await get('/api/agents', headers)).status).toBe(200)
  })

  test('a body that is too large, broken or of another length is refused in the one shape', async () => {
    const { url, post } = await serve({ limits: { bodyBytesMax: 1000 } })
    expect(noOf(await post('/api/sessions', { cwd: 'x'.repeat(2000) }))).toEqual([413, 'too_large'])
    expect(noOf(await post('/api/sessions', '{"cwd":'))).toEqual([400, 'bad_input'])
    expect(noOf(await post('/api/sessions', '[]'))).toEqual([400, 'bad_input'])
    expect(noOf(await post('/api/sessions', '{"cwd":"/tmp","__proto__":{"agent":"echo"}}'))).toEqual([
      400,
      'bad_input',
    ])
    expect(
      (
        await post(
          '/api/calls',
          '{"agent":"echo","task":"x","input":{"deep":{"__proto__":{"isAdmin":true}}}}',
        )
      ).body.error,
    ).toMatchObject({ code: 'bad_input', field: 'body' })
    const latin1 = await fetch(`${url}/api/calls`, {
      method: 'POST',
      body: Buffer.from('{"agent":"echo","task":"caf\xe9"}', 'latin1'),
    })
    expect([latin1.status, ((await latin1.json()) as { error: { message: string } }).error.message]).toEqual([
      400,
      expect.stringContaining('not UTF-8'),
    ])
    const chunked = await fetch(`${url}/api/sessions`, {
      method: 'POST',
      body: new Blob(['"', 'x'.repeat(5000), '"']).stream(),
      duplex: 'half',
    } as RequestInit)
    expect([chunked.status, ((await chunked.json()) as { error: { code: string } }).error.code]).toEqual([
      413,
      'too_large',
    ])
  })

  test('what is not HTTP, comes too slowly, or has too much in its headers is answered in the one shape', async () => {
    const { server } = await serve({ limits: { headersMsMax: 50 } })
    const talk = (text: string): Promise<string> => talkTo(server.port, text)
    expect(await talk('nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/)
    expect(
      await talk(`GET / HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/)
    expect(await talk('GET / HTTP/1.1\r\nhost: ')).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/)
  })

  test('every answer has the headers that keep it in its place', async () => {
    const { get } = await serve()
    for (const path of ['/api/agents', '/api/nothing', '/', '/docs', '/health']) {
      const { headers } = await get(path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(headers.get('permissions-policy')).toContain('camera=()')
      expect(headers.get('x-powered-by')).toBeNull()
      expect(headers.get('server')).toBeNull()
    }
    expect((await get('/api/agents')).headers.get('cache-control')).toBe('no-store')
  })

  test('no token is ever logged', async () => {
    const { get, url, logged, secret, open } = await serve({ auth: 'tokens', token: 'hunter2hunter2' })
    const session = mintSessionToken(secret, await open('external'))
    await get('/api/agents?token=hunter2hunter2', { authorization: 'Bearer hunter2hunter2' })
    await get('/api/agents', { 'x-tieline-session-token': session })
    await get('/nothing;token=hunter2hunter2?token=hunter2hunter2')
    await get('/api/agents', { origin: 'http://evil.example', authorization: 'Bearer hunter2hunter2' })
    await (await listen(url, '?token=hunter2hunter2')).close()
    expect(logged.length).toBeGreaterThan(3)
    expect(JSON.stringify(logged)).not.toContain('hunter2')
    expect(JSON.stringify(logged)).not.toContain(session)
  })
})
