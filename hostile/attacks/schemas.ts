/** Schemas and expressions that take for ever to compile or to match. */
import { deep, post, type Attack, type Family } from '../attack.ts'

const withSchema = (kind: string, schema: () => unknown, task = 'answer-json'): Attack => ({
  kind,
  try: (target) =>
    post(target, '/api/calls', { agent: 'echo', task, output_schema: schema(), timeout_seconds: 8 }),
})

const manyParts = (count: number): object => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      `p${n}`,
      { type: 'string', pattern: `^a{1,${(n % 50) + 1}}b?$`, minLength: n % 7 },
    ]),
  ),
})
const nested = (depth: number, key: string): unknown =>
  JSON.parse(deep(depth, `{"${key}":`, '}', '{"type":"object"}'))

export const schemas: Family = {
  name: 'schemas',
  attacks: [
    withSchema(
      'schema: nested repeats',
      () => ({ type: 'string', pattern: '^(a+)+$' }),
      `"${'a'.repeat(60)}!"`,
    ),
    withSchema(
      'schema: alternatives',
      () => ({ type: 'string', pattern: '^(a|a|aa)*$' }),
      `"${'a'.repeat(60)}!"`,
    ),
    withSchema(
      'schema: back references',
      () => ({ type: 'string', pattern: '^(a*)*\\1$' }),
      `"${'a'.repeat(50)}b"`,
    ),
    withSchema(
      'schema: counted repeats',
      () => ({ type: 'string', pattern: '^((a{1,1000}){1,1000}){1,1000}$' }),
      `"${'a'.repeat(60)}!"`,
    ),
    withSchema('schema: many properties', () => manyParts(8000)),
    withSchema('schema: deep', () => nested(400, 'items')),
    withSchema('schema: refers to itself', () => ({ $ref: '#', allOf: [{ $ref: '#' }] })),
    withSchema('schema: doubles at each step', () => ({
      $defs: Object.fromEntries(
        Array.from({ length: 30 }, (_, n) => [
          `d${n}`,
          n === 29
            ? { type: 'number' }
            : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
        ]),
      ),
      $ref: '#/$defs/d0',
    })),
    withSchema(
      'schema: unique items of a long list',
      () => ({ type: 'array', uniqueItems: true, items: { type: 'object' } }),
      `[${Array.from({ length: 6000 }, (_, n) => `{"n":${n}}`).join(',')}]`,
    ),
    withSchema('schema: names an address', () => ({ $ref: 'http://127.0.0.1:1/schema.json' })),
    withSchema('schema: is none', () => ({ type: 12, properties: [], required: 'x' })),
    withSchema('schema: asynchronous', () => ({ $async: true, type: 'object' })),
    withSchema('schema: code in a key', () => ({
      properties: { '"]);process.exit(1);//': { type: 'string', default: '${process.exit(1)}' } },
    })),
    {
      kind: 'schema: an expression for search',
      try: (target) =>
        post(target, `/api/sessions/${target.sessions[1] ?? ''}/messages`, { message: 'use-search-redos' }),
    },
  ],
}
