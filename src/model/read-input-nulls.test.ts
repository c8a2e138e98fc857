import { expect, test } from 'vitest'
import { z } from 'zod'
import { readInput, readInputAsync, valueAt } from './read-input.ts'

const Item = z.strictObject({ a: z.string().optional(), b: z.number().nullable().optional() })
const Shape = z.strictObject({
  name: z.string(),
  note: z.string().optional(),
  list: z.array(Item).optional(),
})

test.each<[string, unknown, unknown]>([
  ['nothing is null', { name: 'x', note: 'y' }, { name: 'x', note: 'y' }],
  ['a field that may be left out is null', { name: 'x', note: null }, { name: 'x' }],
  [
    'a field in an item is null',
    { name: 'x', list: [{ a: 'y' }, { a: null }] },
    { name: 'x', list: [{ a: 'y' }, {}] },
  ],
  ['a field that takes it is null', { name: 'x', list: [{ b: null }] }, { name: 'x', list: [{ b: null }] }],
  ['several are null', { name: 'x', note: null, list: null }, { name: 'x' }],
])('where %s, it was left out or stays', async (_what, given, data) => {
  expect(readInput(Shape, given)).toEqual({ data })
  expect(await readInputAsync(Shape, given)).toEqual({ data })
})

test.each<[string, unknown, string, string, string]>([
  ['a field that must be there is null', { name: null }, 'name', 'nothing', 'a text'],
  ['an item is null', { name: 'x', list: [null] }, 'list.0', 'null', 'an object'],
  ['a field is wrong', { name: 7 }, 'name', '7', 'a text'],
  ['an item is wrong', { name: 'x', list: [{}, { a: 7 }] }, 'list.1.a', '7', 'a text'],
  ['there is nothing at all', null, 'input', 'null', 'an object'],
  ['it is no object', 'x', 'input', '"x"', 'an object'],
])('where %s, the refusal names it', async (_what, given, field, said, expected) => {
  const refusal = { code: 'bad_input', field, given: said, expected }
  expect(readInput(Shape, given)).toEqual(refusal)
  expect(await readInputAsync(Shape, given)).toEqual(refusal)
})

test('a field that is not known is refused with the nearest, or because there are none', () => {
  const unknown = { code: 'bad_input', given: 'a field that does not exist' }
  expect(readInput(Shape, { name: 'x', nte: 1 })).toEqual({
    ...unknown,
    field: 'nte',
    expected: 'the nearest known one is "note"',
  })
  expect(readInput(z.strictObject({}), { x: 1 }, 'body')).toEqual({
    ...unknown,
    field: 'body.x',
    expected: 'there are no fields here',
  })
  expect(readInput(Shape, { nmae: 'x' })).toMatchObject({ field: 'nmae' })
  expect(readInput(Shape, { other: 'x' })).toMatchObject({ field: 'name', given: 'nothing' })
})

test('a schema that waits is waited for', async () => {
  const Slow = z.strictObject({ name: z.string().refine((name) => Promise.resolve(name === 'x'), 'an x') })
  expect(await readInputAsync(Slow, { name: 'x' })).toEqual({ data: { name: 'x' } })
  expect(await readInputAsync(Slow, { name: 'y' })).toMatchObject({ field: 'name', expected: 'an x' })
})

test('the name of a field is short, however deep it is and however long its parts are', () => {
  const deep = Array.from({ length: 25 }).reduce<z.ZodType>((inner) => z.array(inner), z.string())
  const value = Array.from({ length: 25 }).reduce<unknown>((inner) => [inner], 7)
  expect(readInput(deep, value)).toMatchObject({ field: Array.from({ length: 20 }, () => '0').join('.') })
  const names = z.record(z.string(), z.string())
  expect(readInput(names, { ['k'.repeat(80)]: 7 })).toMatchObject({ field: 'k'.repeat(80) })
  expect(readInput(names, { ['k'.repeat(81)]: 7 })).toMatchObject({ field: `${'k'.repeat(80)}…` })
  expect(readInput(names, { ['😀'.repeat(101)]: 7 })).toMatchObject({ field: `${'😀'.repeat(80)}…` })
})

test('the value at a path is nothing where the path leads nowhere', () => {
  expect(valueAt({ a: [{ b: 1 }] }, ['a', 0, 'b'])).toBe(1)
  expect(valueAt('abc', ['length'])).toBeUndefined()
  expect(valueAt({ a: null }, ['a', 'b'])).toBeUndefined()
  expect(valueAt(7, [])).toBe(7)
})
