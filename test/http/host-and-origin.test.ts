/** Which names and sites the server answers, before anything is parsed. */
import { describe, expect, test } from 'vitest'
import { askRaw, declined, listen, serve } from '../kits/http.ts'
import { readRefusal, talkTo } from '../kits/refused.ts'

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
      expect([host, ...readRefusal(await askRaw(url, { path: '/health', headers: { host } }))]).toEqual([
        host,
        403,
        'not_allowed',
      ])
      expect([host, ...readRefusal(await askRaw(url, { path: '/nothing', headers: { host } }))]).toEqual([
        host,
        403,
        'not_allowed',
      ])
      expect([
        host,
        ...readRefusal(
          await askRaw(url, {
            method: 'POST',
            path: '/api/calls',
            headers: { host, 'content-length': '1' },
            body: '{',
          }),
        ),
      ]).toEqual([host, 403, 'not_allowed'])
      expect([host, ...readRefusal(await declined(url, '', { host }))]).toEqual([host, 403, 'not_allowed'])
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

  test('who was turned away is in the log of the server, with the path and without its query', async () => {
    const { url, logged } = await serve()
    await askRaw(url, { path: '/health?token=x', headers: { host: 'evil.example' } })
    await askRaw(url, { path: '/nothing' })
    expect(logged.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: 'a request was turned away',
        fields: { method: 'GET', path: '/health', why: expect.stringContaining('evil.example') as string },
      },
    ])
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
      expect([origin, ...readRefusal(await get('/api/agents', { origin }))]).toEqual([
        origin,
        403,
        'not_allowed',
      ])
      expect([origin, ...readRefusal(await declined(url, '', { origin }))]).toEqual([
        origin,
        403,
        'not_allowed',
      ])
    }
    expect((await get('/api/agents', { origin: url })).status).toBe(200)
    await (await listen(url, '', { origin: url })).close()
    expect((await get('/api/agents', { origin: url })).headers.get('access-control-allow-origin')).toBeNull()
    expect(
      readRefusal(await askRaw(url, { path: '/api/agents', headers: { 'sec-fetch-site': 'cross-site' } })),
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
        readRefusal(
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
      readRefusal(
        await askRaw(url, { method: 'POST', path: '/api/sessions', headers: { origin: url }, body }),
      ),
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
      readRefusal(
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
