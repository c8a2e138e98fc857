import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Agents as AgentList } from '../../src/wire/agents.ts'
import { Health, Numbers, ServerView as Server } from '../../src/wire/server.ts'
import { Questions } from '../../src/wire/questions.ts'
import { mintSessionToken } from '../../src/server/identity.ts'
import { askRaw, expectNo, expectShape, serve, until } from '../kits/http.ts'

describe('questions and agents', () => {
  test('open questions are listed, and an unknown one cannot be answered', async () => {
    const { get, post } = await serve()
    expectShape(await get('/api/questions'), 200, Questions)
    expectNo(await post('/api/questions/q1', { answer: 'allow' }), 404, 'question_unknown')
    expectNo(await post('/api/questions/q1', { answer: 'maybe' }), 400, 'bad_input', 'answer')
  })

  test('agents are listed', async () => {
    const { get } = await serve()
    const agents = await get('/api/agents')
    expectShape(agents, 200, AgentList)
    expect(agents.body.agents.map((one: { name: string }) => one.name)).toContain('echo')
  })
})

describe('the rest', () => {
  test('the server says where it works, to the user alone', async () => {
    const { get, open, secret } = await serve({ auth: 'tokens', token: 'secret', cwd: '/srv/project' })
    const answer = await get('/api/server', { authorization: 'Bearer secret' })
    expectShape(answer, 200, Server)
    expect(answer.body).toMatchObject({ version: '9.9.9', cwd: '/srv/project', auth: 'tokens' })
    expectNo(await get('/api/server'), 401, 'not_authenticated')
    expectNo(
      await get('/api/server', {
        authorization: `Bearer ${mintSessionToken(secret, await open('external'))}`,
      }),
      403,
      'not_allowed',
    )
    expect(Object.keys((await get('/health')).body)).toEqual(['status', 'version', 'uptimeSeconds', 'store'])
  })

  test('the numbers are the user’s, and are not there where nothing counts', async () => {
    const { get } = await serve({
      auth: 'tokens',
      token: 'secret',
      numbers: async (since) => ({
        complete: true,
        upTo: '1',
        end: '1',
        from: since,
        requests: 1,
        turns: 1,
        calls: 0,
        refused: 0,
        tokens: {
          input: 0,
          output: 0,
          estimated: false,
          cost: { usd: 0, planUsd: 0, unpricedTokens: 0 },
        },
        agents: [],
        models: [],
        projects: [],
        days: [],
        prices: { table: 'none', version: '0', date: '2026-01-01' },
        context: { calls: 0, passed: 0, history: 0 },
        columns: [],
      }),
    })
    const asUser = { authorization: 'Bearer secret' }
    expectShape(await get('/api/numbers', asUser), 200, Numbers)
    expect((await get('/api/numbers?since=5', asUser)).body).toMatchObject({ from: 5, requests: 1 })
    expectNo(await get('/api/numbers?since=x', asUser), 400, 'bad_input', 'since')
    expectNo(await get('/api/numbers'), 401, 'not_authenticated')
    expectNo(await (await serve()).get('/api/numbers'), 404, 'not_found')
  })

  test('health needs nobody, metrics come as text or not at all', async () => {
    const { get } = await serve({ auth: 'tokens', token: 'secret', metrics: async () => 'tieline_up 1\n' })
    const health = await get('/health')
    expectShape(health, 200, Health)
    expect(health.body).toMatchObject({ status: 'ok', version: '9.9.9' })
    expectNo(await get('/metrics'), 401, 'not_authenticated')
    const metrics = await get('/metrics', { authorization: 'Bearer secret' })
    expect(metrics.text).toBe('tieline_up 1\n')
    expect(metrics.headers.get('content-type')).toContain('text/plain')
    const without = await serve()
    expectNo(await without.get('/metrics'), 404, 'not_found')
  })

  test('without a page, / says what runs and where the API is described', async () => {
    const { get } = await serve()
    const page = await get('/')
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.text).toContain('/docs/')
    expect(page.text).toContain('9.9.9')
  })

  test('a page is served with its types, its own policy, and nothing outside it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tieline-page-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    mkdirSync(join(directory, 'page', 'assets'), { recursive: true })
    writeFileSync(join(directory, 'secret.txt'), 'secret')
    writeFileSync(join(directory, 'page', 'index.html'), '<!doctype html><title>page</title>')
    writeFileSync(join(directory, 'page', 'assets', 'app-a1b2c3d4.js'), 'export {}')
    const { get, url } = await serve({ pageDir: join(directory, 'page') })
    const page = await get('/')
    expect(page.text).toContain('<title>page</title>')
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(page.headers.get('content-security-policy')).not.toContain('unsafe')
    const script = await get('/assets/app-a1b2c3d4.js')
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(script.headers.get('cache-control')).toContain('immutable')
    expect((await get('/', { 'if-none-match': page.headers.get('etag') ?? '' })).status).toBe(304)
    for (const path of [
      '/../secret.txt',
      '/assets/../../secret.txt',
      '/%2e%2e/secret.txt',
      '/assets/..%2f..%2fsecret.txt',
      '//secret.txt',
    ])
      expect((await askRaw(url, { path })).status).toBe(404)
  })

  test('the description names every route, its references resolve, and its page needs no other host', async () => {
    const { get } = await serve()
    const described = await get('/openapi.json')
    const { paths, components } = described.body as {
      paths: Record<string, object>
      components: { schemas: object }
    }
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/api/sessions',
        '/api/sessions/{id}/messages',
        '/api/calls',
        '/api/events',
        '/ws',
        '/health',
      ]),
    )
    for (const [, name = ''] of described.text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      expect(Object.keys(components.schemas)).toContain(name)
    const page = await get('/docs')
    for (const [, path = ''] of page.text.matchAll(/(?:src|href)="([^"]+)"/g))
      expect((await get(path)).status).toBe(200)
    expect(page.text).not.toMatch(/(?:src|href)="https?:/)
  })

  test('an unknown path is 404, a wrong method 405 with the right ones, a socket without upgrade 426', async () => {
    const { get, ask } = await serve()
    expectNo(await get('/api/nothing'), 404, 'not_found')
    expectNo(await ask('POST', '/api/nothing', { a: 1 }), 404, 'not_found')
    const wrong = await ask('PUT', '/api/sessions/ses_1', {})
    expectNo(wrong, 405, 'method_not_allowed')
    expect(wrong.headers.get('allow')).toBe('DELETE, GET, HEAD')
    expectNo(await get('/ws'), 426, 'upgrade_required')
    expect((await ask('HEAD', '/health')).status).toBe(200)
  })

  test('other doors mount in a scope of their own, and need a token unless they say that they do not', async () => {
    const { get } = await serve({
      auth: 'tokens',
      token: 'secret',
      doors: [
        async (app, identity) => {
          app.get('/door', async (request) => ({ who: identity.of(request) }))
          app.get('/open', { config: { public: true } }, async () => ({ open: true }))
          app.get('/broken', async () => {
            throw new Error('inside')
          })
        },
      ],
    })
    expectNo(await get('/door'), 401, 'not_authenticated')
    expect((await get('/door', { authorization: 'Bearer secret' })).body).toEqual({ who: { kind: 'user' } })
    expect((await get('/open')).body).toEqual({ open: true })
    expectNo(await get('/broken', { authorization: 'Bearer secret' }), 500, 'bug')
  })

  test('a server that stops lets go of whoever waits, and cancels nothing', async () => {
    const { post, get, open, gate, server } = await serve()
    const id = await open('held')
    const call = post('/api/calls', { agent: 'held', task: 'go' })
    await post(`/api/sessions/${id}/messages`, { message: 'go' })
    await until(() => gate.entered === 2)
    const wait = get(`/api/sessions/${id}/wait`)
    // The request has its way to make, and a new connection is looked up first.
    await new Promise((resolve) => setTimeout(resolve, 500))
    await server.close()
    expectNo(await call, 503, 'unavailable')
    expect((await wait).body).toMatchObject({ isActive: true })
    expect(gate.aborted).toBe(0)
    await expect(get('/health')).rejects.toThrow('fetch failed')
  })

  test('a bug says nothing of itself, and is logged with its stack', async () => {
    const { get, logged } = await serve({
      metrics: async () => {
        throw new Error('the password is 12345')
      },
    })
    const broken = await get('/metrics')
    expectNo(broken, 500, 'bug')
    expect(broken.text).not.toContain('12345')
    expect(logged.find((one) => one.level === 'error')?.fields['stack']).toContain('12345')
  })
})
