import { connect } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { serve } from '../kits/http.ts'
import {
  runs,
  json,
  posts,
  methods,
  paths,
  headers,
  expectTidy,
  inject,
  usersToken,
} from '../kits/nonsense.ts'

test(`${runs} requests that make no sense are answered in one shape, and nothing breaks`, async () => {
  const served = await serve({ token: usersToken })
  const session = await served.open('echo')
  await served.open('echo')
  const raw = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(
      '{',
      '[',
      '{"a":}',
      '{"__proto__":{}}',
      '{"constructor":{"prototype":{}}}',
      '"'.repeat(100),
      '{"a":1}{"b":2}',
      '\ufeff{}',
    ),
  )
  const payload = fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .oneof(json, ...posts(session).map(([, body]) => body))
        .map((body) => JSON.stringify(body) ?? 'null'),
    },
    { weight: 1, arbitrary: raw },
  )
  const head = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ 'content-type': 'application/json' }) },
    { weight: 2, arbitrary: headers(served.server.port, session) },
  )
  const anything = fc.tuple(fc.constantFrom(...methods), paths(session), payload)
  const likely = fc.oneof(
    ...posts(session).map(([url, body]) =>
      body.map((value): [(typeof methods)[number], string, string] => ['POST', url, JSON.stringify(value)]),
    ),
  )
  const statuses = new Set<number>()
  const property = fc.asyncProperty(fc.oneof(anything, likely), head, async ([method, url, body], given) => {
    fc.pre(URL.canParse(url, 'http://localhost'))
    // `/api/flows/../events` is `/api/events`, and a stream has no end that could be waited for.
    fc.pre(url.includes('after=x') || new URL(url, 'http://localhost').pathname !== '/api/events')
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const {
      status,
      type,
      body: said,
    } = await inject(served, { method, url, headers: given, ...(hasBody ? { payload: body } : {}) })
    statuses.add(status)
    if (method !== 'HEAD') expectTidy(status, type, said, { method, url, given, body: String(body) })
  })
  await fc.assert(property, { numRuns: runs, endOnFailure: true })
  // The luck of the draw reached what it should: every kind of answer was seen.
  for (const status of [200, 201, 202, 400, 401, 403, 404, 405, 409, 415])
    expect([...statuses]).toContain(status)
  expect(served.logged.filter(({ level }) => level === 'error')).toEqual([])
  expect((await served.get('/health')).status).toBe(200)
}, 120_000)

/** Straight onto the wire: a client library would tidy up what makes these worth sending. */
test('requests that no library would send are answered in one shape, and nothing breaks', async () => {
  const { server, get, logged } = await serve()
  const line = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.constantFrom(
      'GET',
      'GET /',
      'GET / HTTP/9.9',
      'GET /api/sessions/%zz HTTP/1.1',
      'GET /api/sessions/% HTTP/1.1',
      'GET //evil/api HTTP/1.1',
      'GET http://evil/api/agents HTTP/1.1',
      'OPTIONS * HTTP/1.1',
      'TRACE / HTTP/1.1',
      'PROPFIND /api/sessions HTTP/1.1',
      'QUERY /api/sessions HTTP/1.1',
      'CONNECT evil:80 HTTP/1.1',
      'POST /api/calls HTTP/1.1',
      `GET /api/sessions/${'x'.repeat(5000)} HTTP/1.1`,
      'GET /\\..\\x HTTP/1.1',
    ),
  )
  const header = fc.oneof(
    fc.string({ unit: 'binary-ascii', maxLength: 30 }),
    fc.constantFrom(
      'content-length: 5',
      'content-length: -1',
      'content-length: 1, 2',
      'transfer-encoding: chunked',
      'transfer-encoding: gzip',
      'expect: 100-continue',
      'expect: nonsense',
      'connection: upgrade',
      'upgrade: websocket',
      'host: evil',
      'content-type: application/json',
      `x: ${'y'.repeat(20_000)}`,
    ),
  )
  const statuses = new Set<string>()
  const property = fc.asyncProperty(
    line,
    fc.array(header, { maxLength: 3 }),
    fc.string({ maxLength: 20 }),
    async (first, more, body) => {
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(server.port, '127.0.0.1', () =>
          socket.end(
            [first, `host: 127.0.0.1:${server.port}`, 'connection: close', ...more, '', body].join('\r\n'),
          ),
        )
        let said = ''
        socket.on('data', (chunk) => (said += chunk.toString()))
        socket.on('close', () => resolve(said))
        socket.on('error', () => undefined)
      })
      for (const one of answer.split(/(?=HTTP\/1\.1 \d)/)) {
        const status = /^HTTP\/1\.1 (\d+)/.exec(one)?.[1] ?? '0'
        const type = /^content-type: ([^\r]*)/im.exec(one)?.[1] ?? ''
        statuses.add(status)
        if (Number(status) >= 400)
          expectTidy(Number(status), type, one.slice(one.indexOf('\r\n\r\n') + 4), { first, more, body })
      }
    },
  )
  await fc.assert(property, { numRuns: 2000, endOnFailure: true })
  expect([...statuses]).toEqual(expect.arrayContaining(['400', '404', '431']))
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  expect((await get('/health')).status).toBe(200)
}, 120_000)
