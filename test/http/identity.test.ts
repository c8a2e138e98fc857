import { describe, expect, test } from 'vitest'
import { mintTurnToken } from '../../src/server/identity.ts'
import { declined, listen, serve, until, type Served } from '../kits/http.ts'
import { readRefusal } from '../kits/refused.ts'

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
      expect([path, ...readRefusal(await get(path))]).toEqual([path, 401, 'not_authenticated'])
    for (const path of [
      '/api/sessions',
      '/api/sessions/ses_1/messages',
      '/api/sessions/ses_1/cancel',
      '/api/sessions/ses_1/adopt',
      '/api/calls',
      '/api/questions/q',
    ])
      expect([path, ...readRefusal(await post(path))]).toEqual([path, 401, 'not_authenticated'])
    expect(readRefusal(await ask('DELETE', '/api/sessions/ses_1'))).toEqual([401, 'not_authenticated'])
    expect(readRefusal(await declined(url))).toEqual([401, 'not_authenticated'])
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
    expect(readRefusal(answer)).toEqual([403, 'not_allowed'])
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
      expect([path, ...readRefusal(await get(path, headers))]).toEqual([path, 403, 'not_allowed'])
    expect(readRefusal(await post(`/api/sessions/${boss}/messages`, { message: 'x' }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(readRefusal(await post('/api/calls', { agent: 'echo', task: 'x', from: boss }, headers))).toEqual([
      403,
      'not_allowed',
    ])
    expect(readRefusal(await declined(url, '', headers))).toEqual([403, 'not_allowed'])
    await post(`/api/sessions/${boss}/cancel`)
    await until(async () => (await get(`/api/sessions/${boss}/state`)).body.isActive === false)
    const later = [
      await post('/api/calls', { agent: 'echo', task: 'later' }, headers),
      await get('/api/agents', headers),
      await get(`/api/sessions/${boss}`, headers),
    ]
    for (const answer of later) expect(readRefusal(answer)).toEqual([409, 'call_ended'])
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
    expect(readRefusal(spoofed)).toEqual([403, 'not_allowed'])
    expect(spoofed.body.error.message).toContain('no live turn')
    expect(readRefusal(await from(served, target, 'ses_nobody'))).toEqual([404, 'session_unknown'])
    expect((await from(served, target, outside)).status).toBe(202)
    await served.post(`/api/sessions/${busy}/messages`, { message: 'go' })
    await until(() => served.gate.entered === 1)
    // It lives, so it is believed; whether it may write is the runtime's to say.
    expect((await from(served, target, busy)).body.error?.message ?? '').not.toContain('no live turn')
    expect(readRefusal(await from(served, outside, outside))).toEqual([400, 'self_call'])
    expect(readRefusal(await served.post('/api/calls', { agent: 'echo', task: 'x', from: idle }))).toEqual([
      403,
      'not_allowed',
    ])
    served.gate.release()
  })
})
