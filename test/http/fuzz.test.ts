import { connect } from 'node:net'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { expect, test } from 'vitest'
import { WireError } from '../../src/server/wire-error.ts'
import { listen, serve, until, type Frame, type Served } from '../kits/http.ts'

const runs = 10_000

/**
 * Text of every kind: plain, long, unprintable, halves of pairs, and what means something to a path, a shell
 * or a database.
 */
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\ud800',
    '..',
    '../../etc/passwd',
    '%',
    '%00',
    '%2e%2e',
    "' or 1=1 --",
    '__proto__',
    'constructor',
    'null',
    'ses_',
    'ses_1',
    'call_1',
    'flow_1',
    'x'.repeat(300),
    '😀',
    '/',
    '\\',
    '*',
    ':id',
  ),
)
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, true, [], {}, 1e308, -1, 2 ** 53),
)

/** Mostly right, with some fields wrong, so that what lies behind the first check is reached too. */
const nearly = (fields: Record<string, unknown>): fc.Arbitrary<unknown> =>
  fc
    .record({
      drop: fc.subarray(Object.keys(fields)),
      put: fc.dictionary(fc.oneof(fc.constantFrom(...Object.keys(fields)), text), json, { maxKeys: 2 }),
      keep: fc.boolean(),
    })
    .map(({ drop, put, keep }) => ({
      ...Object.fromEntries(Object.entries(fields).filter(([name]) => keep || !drop.includes(name))),
      ...put,
    }))

/** What each POST takes, nearly. */
const posts = (session: string): [string, fc.Arbitrary<unknown>][] => [
  [
    '/api/sessions',
    nearly({ cwd: '/tmp', agent: 'echo', title: 't', parent: session, initialMessage: 'hello' }),
  ],
  [
    `/api/sessions/${session}/messages`,
    nearly({ message: 'hello', source: 'user', delivery: 'auto', inReplyTo: 'msg_1' }),
  ],
  [
    `/api/sessions/${session}/messages`,
    nearly({ message: 'hello', source: 'agent', fromSession: session, applet: 'a' }),
  ],
  [
    '/api/calls',
    nearly({
      agent: 'echo',
      task: 'hello',
      context: { last_messages: 1, roles: ['user'] },
      input: {},
      max_context_tokens: 4000,
      allowed_tools: [],
      timeout_seconds: 1,
      output_schema: {},
      background: true,
    }),
  ],
  [`/api/sessions/${session}/cancel`, nearly({ all: true })],
  [`/api/sessions/${session}/adopt`, nearly({ parent: null })],
  ['/api/questions/q', nearly({ answer: 'allow' })],
]

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const

const paths = (session: string): fc.Arbitrary<string> => {
  const id = fc.oneof(
    fc.constantFrom(session, session.slice(6), 'ses_'),
    text.map((part) => encodeURIComponent(part.toWellFormed())),
    text.map((part) => part.replaceAll(/[^!-~]/g, '')),
  )
  const value = fc
    .oneof(text, fc.constantFrom('true', '1', '0', '-1', session))
    .map((part) => encodeURIComponent(part.toWellFormed()))
  const query = fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'dir',
          'active',
          'agent',
          'parent',
          'cursor',
          'limit',
          'before',
          'timeoutMs',
          'session',
          'archived',
          'token',
          'x',
        ),
        value,
      ),
      { maxLength: 3 },
    )
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`))
  const path = fc
    .tuple(
      fc.constantFrom(
        '/api/sessions',
        '/api/sessions/ID',
        '/api/sessions/ID/messages',
        '/api/sessions/ID/state',
        '/api/sessions/ID/wait',
        '/api/sessions/ID/cancel',
        '/api/sessions/ID/adopt',
        '/api/sessions/ID/calls',
        '/api/calls',
        '/api/calls/ID',
        '/api/flows/ID',
        '/api/flows/ID/events',
        '/api/drafts',
        '/api/numbers?since=ID',
        '/api/waits',
        '/api/questions',
        '/api/questions/ID',
        '/api/agents',
        '/health',
        '/metrics',
        '/',
        '/ID',
        '/ws',
        '/docs/ID',
        '/api/events?after=x',
      ),
      id,
    )
    .map(([template, part]) => template.replace('ID', part))
  return fc.tuple(path, query).map(([one, more]) => (one.includes('?') ? one : one + more))
}

const headers = (port: number, session: string): fc.Arbitrary<Record<string, string>> => {
  const value = fc.string({ maxLength: 30 }).map((part) => part.replaceAll(/[^ -~]/g, ''))
  return fc.record(
    {
      'content-type': fc.constantFrom(
        'application/json',
        'application/json',
        'text/plain',
        'application/x-www-form-urlencoded',
        'image/png',
        'application/json; charset=latin1',
        ';',
        '',
      ),
      'idempotency-key': fc.oneof(value, fc.constantFrom('k', '', 'x'.repeat(256))),
      authorization: fc.oneof(
        value,
        fc.constantFrom(`Bearer tls_${session}.x`, 'Bearer tlt_turn_1.y', 'Bearer'),
      ),
      'x-tieline-token': value,
      'x-tieline-session-token': value,
      origin: fc.constantFrom(`http://127.0.0.1:${port}`, 'null', 'http://evil'),
      'user-agent': value,
      traceparent: value,
      'last-event-id': value,
      'if-none-match': value,
      accept: value,
      'content-length': fc.constantFrom('0', '1', '-1', 'x', '99999999'),
      'transfer-encoding': fc.constantFrom('chunked', 'identity'),
      host: fc.constantFrom('evil', `localhost:${port}`),
    },
    { requiredKeys: [] },
  )
}

/** Exactly one shape for every no, and never a fault of ours. */
function expectTidy(status: number, type: string, body: string, what: unknown): void {
  if (status < 400) return
  if (
    status >= 500 ||
    !type.startsWith('application/json') ||
    !(body === '' || WireError.safeParse(JSON.parse(body)).success)
  )
    throw new Error(`${status} ${type} ${body.slice(0, 300)} for ${JSON.stringify(what)}`)
}

async function inject(
  { server }: Served,
  options: InjectOptions,
): Promise<{ status: number; type: string; body: string }> {
  const answer = await server.app.inject({
    ...options,
    headers: { host: `127.0.0.1:${server.port}`, ...options.headers },
    remoteAddress: '127.0.0.1',
  })
  return { status: answer.statusCode, type: String(answer.headers['content-type']), body: answer.body }
}

test(`${runs} requests that make no sense are answered in one shape, and nothing breaks`, async () => {
  const served = await serve()
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

test(`${runs} frames that make no sense are answered or end the socket, and nothing breaks`, async () => {
  const served = await serve()
  const session = await served.open('echo')
  const frame = fc.oneof(
    fc.string({ maxLength: 40 }),
    json.map((value) => JSON.stringify(value) ?? ''),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    nearly({ type: 'subscribe', sessionIds: [session], after: '0' }).map((value) => JSON.stringify(value)),
    nearly({ type: 'subscribe', sessionIds: [session, 'nobody'], after: 1 }).map((value) =>
      JSON.stringify(value),
    ),
  )
  const answers = new Set<string>()
  const codes = new Set<number>()
  let sent = 0
  for (const frames of fc.sample(fc.array(frame, { minLength: 100, maxLength: 100 }), runs / 100)) {
    for (let rest = frames; rest.length > 0;) {
      const socket = await listen(served.url)
      await until(() => socket.frames.length > 0)
      // A socket lives until its tenth bad frame; each frame has its answer, and they are waited for, so that
      // none is one too many at once.
      const replies = (): Frame[] =>
        socket.frames.filter(({ type }) => type === 'error' || type === 'subscribed')
      let used = 0
      while (used < rest.length && socket.ws.readyState === socket.ws.OPEN) {
        const batch = rest.slice(used, used + 8)
        const before = replies().length
        for (const one of batch) socket.ws.send(one)
        used += batch.length
        sent += batch.length
        await until(
          () => replies().length >= before + batch.length || socket.ws.readyState !== socket.ws.OPEN,
        )
      }
      for (const { type, error } of replies()) answers.add(error?.code ?? type)
      if (socket.ws.readyState !== socket.ws.OPEN) codes.add((await socket.closed).code)
      socket.ws.terminate()
      rest = rest.slice(used)
    }
  }
  expect(sent).toBeGreaterThanOrEqual(runs)
  expect([...codes]).toEqual([1008])
  expect([...answers].toSorted()).toEqual(['bad_input', 'session_unknown', 'subscribed'])
  expect(served.logged.filter(({ level }) => level === 'error')).toEqual([])
  expect((await served.get('/health')).status).toBe(200)
}, 120_000)

/** Deep, wide and huge bodies: where each comes from is named, and none is a fault of ours. */
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const wide = (count: number): string => Array.from({ length: count }, (_, index) => `"k${index}":0`).join()
const oversized: [string, string, number, string | undefined][] = [
  ['deep JSON under a field', `{"agent":"echo","task":"x","input":${nested(200_000)}}`, 400, 'input'],
  ['deep JSON under a field that does not exist', `{"nothing":${nested(3000)}}`, 400, 'nothing'],
  ['deep JSON', nested(500_000), 400, 'body'],
  ['deep JSON that is never closed', '['.repeat(900_000), 400, 'body'],
  ['deep objects', `{"message":${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}}`, 400, 'message'],
  ['more values than are taken', `{"input":[${'1,'.repeat(400_000)}1]}`, 400, 'input'],
  ['many fields', `{${wide(40_000)}}`, 400, undefined],
  ['a long name', `{"${'x'.repeat(900_000)}":1}`, 400, undefined],
  ['a body that is too large', `"${'x'.repeat(1_100_000)}"`, 413, 'body'],
]

test.each(oversized)(
  '%s: every route says so with the field, and never with a 500 or an empty id',
  async (_name, body, status, field) => {
    const served = await serve()
    const session = await served.open('echo')
    for (const path of [
      '/api/calls',
      '/api/sessions',
      `/api/sessions/${session}/messages`,
      '/api/messages',
      '/api/questions/q',
    ]) {
      const answer = await served.post(path, body)
      expect({ path, status: answer.status }).toEqual({ path, status })
      expect(answer.body.error).toMatchObject({
        code: status === 413 ? 'too_large' : 'bad_input',
        ...(field === undefined ? {} : { field }),
      })
      expect(answer.text.length).toBeLessThan(3000)
    }
    expect(served.logged.filter(({ level }) => level === 'error')).toEqual([])
    expect((await served.get('/health')).status).toBe(200)
  },
)
