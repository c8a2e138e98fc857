/** Requests that make no sense, as fast-check draws them, and what every answer to them must be. */
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { WireError } from '../../src/server/wire-error.ts'
import { type Served } from './http.ts'

export const runs = 10_000

/**
 * Text of every kind: plain, long, unprintable, halves of pairs, and what means something to a path, a shell
 * or a database.
 */
export const text = fc.oneof(
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

export const json = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, true, [], {}, 1e308, -1, 2 ** 53),
)

/** Mostly right, with some fields wrong, so that what lies behind the first check is reached too. */
export const nearly = (fields: Record<string, unknown>): fc.Arbitrary<unknown> =>
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
export const posts = (session: string): [string, fc.Arbitrary<unknown>][] => [
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

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const

export const paths = (session: string): fc.Arbitrary<string> => {
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

export const headers = (port: number, session: string): fc.Arbitrary<Record<string, string>> => {
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
export function expectTidy(status: number, type: string, body: string, what: unknown): void {
  if (status < 400) return
  if (
    status >= 500 ||
    !type.startsWith('application/json') ||
    !(body === '' || WireError.safeParse(JSON.parse(body)).success)
  )
    throw new Error(`${status} ${type} ${body.slice(0, 300)} for ${JSON.stringify(what)}`)
}

/** Nobody holds the other end of an injected request, so it brings the token of `serve({ token: usersToken })`. */
export const usersToken = 'open-sesame'

export async function inject(
  { server }: Served,
  options: InjectOptions,
): Promise<{ status: number; type: string; body: string }> {
  const answer = await server.app.inject({
    ...options,
    headers: {
      host: `127.0.0.1:${server.port}`,
      authorization: `Bearer ${usersToken}`,
      ...options.headers,
    },
    remoteAddress: '127.0.0.1',
  })
  return { status: answer.statusCode, type: String(answer.headers['content-type']), body: answer.body }
}
