import { expect, test } from 'vitest'
import { z } from 'zod'
import { readInput } from './read-input.ts'
import { explain, isRefusal, type Refusal } from './refusal.ts'

const Input = z.strictObject({
  task: z.string().min(1),
  count: z.number().int().min(0).max(10).optional(),
  kind: z.enum(['a', 'b']).optional(),
  names: z.array(z.string()).max(2).optional(),
  either: z.union([z.boolean(), z.number().int()]).optional(),
  deep: z
    .strictObject({ files: z.array(z.string().min(1)), last_messages: z.number().optional() })
    .optional(),
})
function refusalFor(input: unknown, prefix?: string): Extract<Refusal, { code: 'bad_input' }> {
  const read = readInput(Input, input, prefix)
  if (!isRefusal(read)) throw new Error('it is good')
  if (read.code !== 'bad_input') throw new Error(read.code)
  return read
}

/** What no validator's phrase may be left of. */
const jargon =
  /expected|received|invalid|too (small|big)|string|array|boolean|integer|>=|<=|documented fields|is needed/i

test.each([
  ['a missing field', {}, 'task is missing: it must be a text. Add it and try again.'],
  [
    'an empty text',
    { task: '' },
    'task: an empty text was given, but it must be a text that is not empty. Correct it and try again.',
  ],
  ['a wrong type', { task: 5 }, 'task: 5 was given, but it must be a text. Correct it and try again.'],
  [
    'a number too small',
    { task: 'x', count: -1 },
    'count: -1 was given, but it must be at least 0. Correct it and try again.',
  ],
  [
    'a number too large',
    { task: 'x', count: 11 },
    'count: 11 was given, but it must be at most 10. Correct it and try again.',
  ],
  [
    'a number that is not whole',
    { task: 'x', count: 1.5 },
    'count: 1.5 was given, but it must be a whole number. Correct it and try again.',
  ],
  [
    'another word',
    { task: 'x', kind: 'c' },
    'kind: "c" was given, but it must be one of "a", "b". Correct it and try again.',
  ],
  [
    'too many of them',
    { task: 'x', names: ['a', 'b', 'c'] },
    'names: ["a","b","c"] was given, but it must be a list of at most 2 items. Correct it and try again.',
  ],
  [
    'none of two kinds',
    { task: 'x', either: 'maybe' },
    'either: "maybe" was given, but it must be true or false or a number. Correct it and try again.',
  ],
  [
    'a wrong item of a list',
    { task: 'x', deep: { files: ['ok', 7] } },
    'deep.files.1: 7 was given, but it must be a text. Correct it and try again.',
  ],
  [
    'an unknown field',
    { task: 'x', tsak: 1 },
    'There is no field "tsak"; the nearest known one is "task". Correct it and try again.',
  ],
  [
    'an unknown field inside',
    { task: 'x', deep: { files: [], last_mesages: 1 } },
    'There is no field "deep.last_mesages"; the nearest known one is "last_messages". Correct it and try again.',
  ],
  [
    'no object at all',
    'hello',
    'input: "hello" was given, but it must be an object. Correct it and try again.',
  ],
])(
  '%s is refused in plain words, with the name of the field and what would be right',
  (_name, input, words) => {
    expect(explain(refusalFor(input))).toBe(words)
    expect(words).not.toMatch(jargon)
  },
)

test('null for an optional field means that it was left out, at every level', () => {
  expect(
    readInput(Input, { task: 'x', count: null, kind: null, deep: { files: [], last_messages: null } }),
  ).toEqual({
    data: { task: 'x', deep: { files: [] } },
  })
  expect(readInput(Input, { task: 'x', deep: null })).toEqual({ data: { task: 'x' } })
})

test('null for a field that is needed is a field that is missing', () => {
  expect(explain(refusalFor({ task: null }))).toMatch(/^task is missing: it must be a text\./)
})

test('null for everything, and null in a list, are what they are', () => {
  expect(readInput(z.nullable(z.number()), null)).toEqual({ data: null })
  expect(readInput(Input, null)).toMatchObject({ code: 'bad_input', field: 'input' })
  const List = z.array(z.strictObject({ a: z.number().optional(), b: z.number() }))
  expect(readInput(List, [{ a: null, b: 1 }, { b: 2 }])).toEqual({ data: [{ b: 1 }, { b: 2 }] })
  expect(readInput(List, [null])).toMatchObject({ code: 'bad_input', field: '0' })
})

test('null where the schema takes it stays', () => {
  const Nullable = z.strictObject({ parent: z.string().nullish() })
  expect(readInput(Nullable, { parent: null })).toEqual({ data: { parent: null } })
})

test('the name of the field says where it is inside a larger input', () => {
  expect(refusalFor({ task: 1 }, 'context').field).toBe('context.task')
  expect(refusalFor({ task: 'x', y: 1 }, 'context').field).toBe('context.y')
  expect(refusalFor(3, 'context').field).toBe('context')
})

test('a field that is missing because it was misspelt is answered with what was written instead', () => {
  const schema = z.strictObject({ agent_name: z.string(), task: z.string() })
  expect(readInput(schema, { agent: 'coder', task: 'x' })).toMatchObject({
    code: 'bad_input',
    field: 'agent',
    expected: 'the nearest known one is "agent_name"',
  })
  expect(readInput(schema, { colour: 'red', task: 'x' })).toMatchObject({
    field: 'agent_name',
    given: 'nothing',
  })
})

test('a field that is there and wrong is not taken for one that was misspelt', () => {
  const schema = z.strictObject({ timeout: z.number(), name: z.string().optional() })
  expect(readInput(schema, { timeout: 'x', timeot: 1 })).toMatchObject({ field: 'timeout', given: '"x"' })
})

test('a field that is missing is not told by what was misspelt at another level', () => {
  const schema = z.strictObject({ name: z.string().optional(), inner: z.strictObject({ name: z.string() }) })
  expect(readInput(schema, { nam: 'x', inner: {} })).toMatchObject({ field: 'inner.name', given: 'nothing' })
})
