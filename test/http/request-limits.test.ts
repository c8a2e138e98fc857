/** Requests that are too many, too large or broken, and what every answer carries. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mintSessionToken } from '../../src/server/identity.ts'
import { listen, serve, until } from '../kits/http.ts'
import { readRefusal, talkTo } from '../kits/refused.ts'

describe('limits', () => {
  test('too many requests of one client are refused with when to come back, and others are not', async () => {
    const { get, secret, open } = await serve({ limits: { requestsPerMinute: 5 } })
    const headers = { authorization: `Bearer ${mintSessionToken(secret, await open('external'))}` }
    for (let n = 0; n < 5; n += 1) expect((await get('/health')).status).toBe(200)
    const refused = await get('/health')
    expect(readRefusal(refused)).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await get('/api/agents', headers)).status).toBe(200)
  })

  test('a body that is too large, broken or of another length is refused in the one shape', async () => {
    const { url, post } = await serve({ limits: { bodyBytesMax: 1000 } })
    expect(readRefusal(await post('/api/sessions', { cwd: 'x'.repeat(2000) }))).toEqual([413, 'too_large'])
    expect(readRefusal(await post('/api/sessions', '{"cwd":'))).toEqual([400, 'bad_input'])
    expect(readRefusal(await post('/api/sessions', '[]'))).toEqual([400, 'bad_input'])
    expect(readRefusal(await post('/api/sessions', '{"cwd":"/tmp","__proto__":{"agent":"echo"}}'))).toEqual([
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

  test('a body that is too deep, or has too many values, is refused before anything is built of it', async () => {
    const { post } = await serve()
    const ask = async (input: string): Promise<unknown[]> =>
      readRefusal(await post('/api/calls', `{"agent":"echo","task":"x","input":${input}}`))
    expect(await ask(`${'['.repeat(200)}${']'.repeat(200)}`)).toEqual([400, 'bad_input'])
    expect(await ask(`[${'1,'.repeat(300_000)}1]`)).toEqual([400, 'bad_input'])
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

  test('a thousand requests in one write held everybody else up: a connection has 64 without an answer', async () => {
    const { server, get } = await serve()
    const ask = (more = ''): string => `GET /health HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n${more}\r\n`
    const countAnswers = async (text: string): Promise<number> =>
      (await talkTo(server.port, text)).split('HTTP/1.1 200 OK').length - 1
    expect(await countAnswers(ask().repeat(63) + ask('connection: close\r\n'))).toBe(64)
    expect(await countAnswers(ask().repeat(1000))).toBeLessThanOrEqual(64)
    expect((await get('/health')).status).toBe(200)
  })

  test('a connection that reads its answers has as many requests as it likes, one after the other', async () => {
    const { url } = await serve()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const ask = (): Promise<[number | undefined, boolean]> =>
      new Promise((resolve, reject) => {
        const asked = request(`${url}/health`, { agent }, (response) => {
          response.resume()
          response.on('end', () => resolve([response.statusCode, asked.reusedSocket]))
        })
        asked.on('error', reject).end()
      })
    expect(await ask()).toEqual([200, false])
    for (let n = 0; n < 100; n += 1) expect(await ask()).toEqual([200, true])
  })

  test('one connection more than allowed is closed, and those that are there go on', async () => {
    const { server, get } = await serve({ limits: { connectionsMax: 2 } })
    const sockets = [1, 2, 3].map(() => connect(server.port, '127.0.0.1'))
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
    for (const socket of sockets) socket.on('error', () => undefined)
    const [first, second, third] = sockets
    await once(third as Socket, 'close')
    expect([first?.destroyed, second?.destroyed]).toEqual([false, false])
    second?.destroy()
    await until(async () => (await get('/health').catch(() => null))?.status === 200)
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
