import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { describeRight, keysAt } from './validator-words.ts'

const right = (schema: z.ZodType, given: unknown): string => {
  const [issue] = schema.safeParse(given).error?.issues ?? []
  return issue === undefined ? 'it was right' : describeRight(issue)
}

describe('what would be right is said in plain words', () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ['a text', z.string(), 1, 'a text'],
    ['a number', z.number(), 'x', 'a number'],
    ['a whole number', z.number().int(), 1.5, 'a whole number'],
    ['a yes or no', z.boolean(), 'x', 'true or false'],
    ['a list', z.array(z.string()), 'x', 'a list'],
    ['an object', z.strictObject({}), 'x', 'an object'],
    ['a record', z.record(z.string(), z.string()), 'x', 'an object'],
    ['null', z.null(), 'x', 'null'],
    ['anything rarer', z.date(), 'x', 'a value of type date'],
    ['one value', z.literal('a'), 'x', '"a"'],
    ['one of some', z.enum(['a', 'b']), 'x', 'one of "a", "b"'],
    ['a text of one', z.string().min(1), '', 'a text that is not empty'],
    ['a text of two', z.string().min(2), '', 'a text of at least 2 characters'],
    ['a short text', z.string().max(2), 'xyz', 'a text of at most 2 characters'],
    ['a list of one', z.array(z.string()).min(1), [], 'a list that is not empty'],
    ['a list of two', z.array(z.string()).min(2), [], 'a list of at least 2 items'],
    ['a short list', z.array(z.string()).max(1), ['a', 'b'], 'a list of at most 1 items'],
    ['a set of one', z.set(z.string()).min(1), new Set(), 'a list that is not empty'],
    ['a small set', z.set(z.string()).max(1), new Set(['a', 'b']), 'a list of at most 1 items'],
    ['a least number', z.number().min(1), 0, 'at least 1'],
    ['a number above', z.number().gt(1), 1, 'more than 1'],
    ['a most number', z.number().max(1), 2, 'at most 1'],
    ['a number below', z.number().lt(1), 1, 'less than 1'],
    ['an address', z.url(), 'x', 'a URL such as "http://127.0.0.1:11434/v1"'],
    ['a pattern', z.string().regex(/^a$/), 'x', 'a text that fits /^a$/'],
    ['another format', z.uuid(), 'x', 'a text that is a valid uuid'],
    ['a multiple', z.number().multipleOf(3), 4, 'a multiple of 3'],
    ['one of several shapes', z.union([z.string(), z.number(), z.string()]), null, 'a text or a number'],
    [
      'a key of a record',
      z.record(z.string().min(2), z.string()),
      { a: 'x' },
      'a text of at least 2 characters',
    ],
    ['a key of a map', z.map(z.string(), z.string()), new Map([[1, 'x']]), 'a text'],
    ['a value of a map', z.map(z.string(), z.number()), new Map([[{}, 1]]), 'a text'],
    ['nothing more', z.strictObject({}), { a: 1 }, 'something else'],
    ['what a schema says itself', z.string().regex(/^a$/, 'an a, and no more'), 'x', 'an a, and no more'],
    ['what a check says itself', z.string().refine(() => false, 'a better text'), 'x', 'a better text'],
    ['what a check does not say', z.string().refine(() => false), 'x', 'something else'],
  ])('%s', (_what, schema, given, words) => expect(right(schema, given)).toBe(words))

  test('a union without a shape, and an element without a problem, are right with something else', () => {
    const issue = { message: 'Invalid input', path: [], input: 1 }
    expect(describeRight({ ...issue, code: 'invalid_union', errors: [] })).toBe('something else')
    expect(describeRight({ ...issue, code: 'invalid_element', origin: 'map', key: 1, issues: [] })).toBe(
      'something else',
    )
    const inner = z.string().safeParse(1).error?.issues ?? []
    expect(describeRight({ ...issue, code: 'invalid_element', origin: 'map', key: 1, issues: inner })).toBe(
      'a text',
    )
  })
})

const inner = z.strictObject({ c: z.string(), d: z.string() })
const schema = z.strictObject({
  a: inner,
  list: z.array(inner),
  record: z.record(z.string(), inner),
  optional: inner.optional(),
  nullable: inner.nullable(),
  standing: inner.default({ c: '', d: '' }),
  before: z.prefault(inner, { c: '', d: '' }),
  piped: inner.transform((value) => value),
  either: z.union([inner, z.strictObject({ d: z.string(), e: z.string() })]),
  text: z.string(),
})

test.each<[string, (string | number)[], string[]]>([
  [
    'the top',
    [],
    ['a', 'list', 'record', 'optional', 'nullable', 'standing', 'before', 'piped', 'either', 'text'],
  ],
  ['an object', ['a'], ['c', 'd']],
  ['an item of a list', ['list', 0], ['c', 'd']],
  ['a value of a record', ['record', 'any'], ['c', 'd']],
  ['what may be left out', ['optional'], ['c', 'd']],
  ['what may be null', ['nullable'], ['c', 'd']],
  ['what has a default', ['standing'], ['c', 'd']],
  ['what has one before it is read', ['before'], ['c', 'd']],
  ['what is changed once it is read', ['piped'], ['c', 'd']],
  ['one of several shapes', ['either'], ['c', 'd', 'e']],
  ['a text', ['text'], []],
  ['a place inside of a text', ['text', 'x'], []],
  ['a list itself', ['list'], []],
  ['a field that is not there', ['x', 'y'], []],
])('the fields that are known at %s', (_where, path, keys) => {
  expect(keysAt(schema, path)).toEqual(keys)
})
