/** What the token of a session may do, and what it may not. */
import { describe, expect, test } from 'vitest'
import { mintSessionToken } from '../../src/server/identity.ts'
import { serve } from '../kits/http.ts'
import { readRefusal } from '../kits/refused.ts'

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
      readRefusal(
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
      expect(readRefusal(await get('/api/agents', { authorization: `Bearer ${broken}` }))).toEqual([
        401,
        'not_authenticated',
      ])
      expect(readRefusal(await get('/api/agents', { 'x-tieline-session-token': broken }))).toEqual([
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
      readRefusal(
        await get('/api/questions', { authorization: 'Bearer right', 'x-tieline-session-token': token }),
      ),
    ).toEqual([403, 'not_allowed'])
  })

  test('posts only as itself', async () => {
    const served = await serve()
    const { post, get, open, secret } = served
    const [own, other, target] = [await open('external'), await open('external'), await open('echo')]
    const headers = withToken(secret, own)
    expect(
      readRefusal(
        await post(`/api/sessions/${target}/messages`, { message: 'x', fromSession: other }, headers),
      ),
    ).toEqual([403, 'not_allowed'])
    expect(
      readRefusal(await post(`/api/sessions/${target}/messages`, { message: 'x', source: 'user' }, headers)),
    ).toEqual([403, 'not_allowed'])
    expect(
      readRefusal(
        await post(
          `/api/sessions/${target}/messages`,
          { message: 'x', source: 'applet', applet: 'a' },
          headers,
        ),
      ),
    ).toEqual([403, 'not_allowed'])
    expect(readRefusal(await post(`/api/sessions/${own}/messages`, { message: 'x' }, headers))).toEqual([
      400,
      'self_call',
    ])
    expect(readRefusal(await post(`/api/calls`, { agent: 'echo', task: 'x', from: other }, headers))).toEqual(
      [403, 'not_allowed'],
    )
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
      expect([path, ...readRefusal(await get(`/api/sessions/${other}${path}`, headers))]).toEqual([
        path,
        403,
        'not_allowed',
      ])
    expect((await get('/api/sessions', headers)).body.sessions.map((one: { id: string }) => one.id)).toEqual([
      child,
    ])
    expect(readRefusal(await get(`/api/sessions?parent=${other}`, headers))).toEqual([403, 'not_allowed'])
    const call = (await post('/api/calls', { agent: 'echo', task: 'x' }, { 'user-agent': 'someone/1' })).body
      .call_id as string
    expect(readRefusal(await get(`/api/calls/${call}`, headers))).toEqual([404, 'call_unknown'])
    expect(
      readRefusal(await get(`/api/flows/${(await get(`/api/calls/${call}`)).body.flow}`, headers)),
    ).toEqual([404, 'not_found'])
    expect((await get('/api/calls', headers)).body.calls).toEqual([])
    for (const path of ['/api/questions', '/api/waits', '/api/drafts', '/api/numbers', '/metrics'])
      expect(readRefusal(await get(path, headers))).toEqual([403, 'not_allowed'])
    expect(readRefusal(await post('/api/questions/q', { answer: 'allow' }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(readRefusal(await post(`/api/sessions/${other}/cancel`, {}, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(readRefusal(await post(`/api/sessions/${other}/adopt`, { parent: own }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(readRefusal(await post(`/api/sessions/${grandchild}/adopt`, { parent: own }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(readRefusal(await ask('DELETE', `/api/sessions/${other}`, undefined, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(readRefusal(await ask('DELETE', `/api/sessions/${own}`, undefined, headers))).toEqual([
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
    // What acts as another session is given to the user alone.
    const external = await post('/api/sessions', { cwd: '/tmp', agent: 'external' }, withToken(secret, own))
    expect([made.body.token, external.body.token ?? null]).toEqual([null, null])
  })

  test('of one that does not exist does nothing', async () => {
    const { post, secret } = await serve()
    expect(
      readRefusal(await post('/api/calls', { agent: 'echo', task: 'x' }, withToken(secret, 'ses_nobody'))),
    ).toEqual([404, 'session_unknown'])
  })
})
