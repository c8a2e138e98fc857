/** Bodies that are hard to parse, to check or to name in an answer. */
import { ask, deep, post, type Attack, type Family, type Target } from '../attack.ts'

const routes = [
  '/api/sessions',
  '/api/calls',
  '/api/messages',
  '/v1/agents',
  '/mcp',
  '/api/tools/sub_agent',
  '/api/questions/x',
] as const
const route = ({ random }: Target): string => random.pick(routes)

const at = (
  kind: string,
  body: (target: Target) => string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Attack => ({ kind, try: (target) => ask(target, 'POST', route(target), body(target), headers) })

const depths = [64, 3000, 31_000, 250_000]
const kilobyte = 1024

export const json: Family = {
  name: 'json',
  attacks: [
    at('json: deep arrays', ({ random }) => deep(random.pick(depths))),
    at('json: deep objects', ({ random }) => deep(random.pick(depths), '{"a":', '}', '1')),
    at(
      'json: deep under a known field',
      ({ random }) => `{"agent":"clerk","task":"x","input":${deep(random.pick(depths))}}`,
    ),
    at(
      'json: deep in a text field',
      ({ random }) => `{"agent":${deep(random.pick(depths))},"task":"x","name":${deep(64)}}`,
    ),
    at('json: many keys', () =>
      JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, n]))),
    ),
    at('json: one long string', () => JSON.stringify({ agent: 'x'.repeat(900 * kilobyte), task: 'x' })),
    at('json: one long key', () => `{"${'k'.repeat(900 * kilobyte)}":1}`),
    at('json: larger than allowed', () => JSON.stringify({ task: 'x'.repeat(3 * 1024 * kilobyte) })),
    at('json: many escapes', () => `{"agent":"clerk","task":"${'\\u0000'.repeat(150_000)}"}`),
    at(
      'json: prototype',
      () => '{"__proto__":{"agent":"clerk"},"constructor":{"prototype":{"x":1}},"agent":"clerk","task":"x"}',
    ),
    at(
      'json: numbers that are none',
      () =>
        '{"agent":"clerk","task":"x","timeout_seconds":1e999,"max_tokens":-0,' +
        '"max_context_tokens":99999999999999999999}',
    ),
    at('json: long digits', () => `{"agent":"clerk","task":"x","max_tokens":${'9'.repeat(500_000)}}`),
    at('json: not UTF-8', () => Uint8Array.from([0x7b, 0x22, 0xc3, 0x28, 0xff, 0xfe, 0x22, 0x7d])),
    at('json: halves of pairs', () =>
      JSON.stringify({ agent: '\ud83d', task: '\ude00'.repeat(1000), name: '\ud800' }),
    ),
    at('json: says it is compressed', () => '{"agent":"clerk","task":"x"}', { 'content-encoding': 'gzip' }),
    at('json: another content type', () => '<x/>', { 'content-type': 'application/xml' }),
    {
      kind: 'json: ids in the path',
      try: (target) =>
        ask(target, 'GET', `/api/sessions/${encodeURIComponent('../\u0000\u202e%'.repeat(60))}`),
    },
    {
      kind: 'json: long query',
      try: (target) => ask(target, 'GET', `/api/sessions?dir=${'%2e%2e%2f'.repeat(1500)}`),
    },
    {
      kind: 'json: a query of a thousand fields',
      try: (target) =>
        ask(target, 'GET', `/api/sessions?${Array.from({ length: 1000 }, (_, n) => `a[${n}]=b`).join('&')}`),
    },
    {
      kind: 'json: many headers',
      try: (target) =>
        post(
          target,
          '/api/calls',
          '{}',
          Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`x-${n}`, 'v'.repeat(200)])),
        ),
    },
    {
      kind: 'json: odd key of a retry',
      try: (target) =>
        post(
          target,
          '/api/calls',
          { agent: 'clerk', task: 'x' },
          { 'idempotency-key': `${'k'.repeat(5000)}` },
        ),
    },
  ],
}
