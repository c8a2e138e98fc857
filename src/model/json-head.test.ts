import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { exceededBound, jsonHead } from './json-head.ts'
import { readInput } from './read-input.ts'
import { badInput, explain, isRefusal } from './refusal.ts'

test('a small value reads as its JSON', () => {
  const text = fc
    .jsonValue({ maxDepth: 3 })
    .map((value) => JSON.stringify(value))
    .filter(({ length }) => length < 300)
  fc.assert(
    fc.property(text, (one) => {
      expect(jsonHead(JSON.parse(one))).toBe(one)
    }),
  )
})

const deep = JSON.parse('['.repeat(31_000) + ']'.repeat(31_000)) as unknown
const ring: Record<string, unknown> = {}
ring['again'] = ring
const thorny = Object.defineProperty({}, 'x', {
  enumerable: true,
  get: () => {
    throw new Error('no')
  },
})
const wide = Object.fromEntries(
  Array.from({ length: 100_000 }, (_, index) => [`key${index}`, 'x'.repeat(100)]),
)
const hostile: [string, unknown][] = [
  ['a list nested 31,000 deep', deep],
  ['a ring', ring],
  ['a getter that throws', thorny],
  ['100,000 fields', wide],
  ['a long text', 'x'.repeat(10_000_000)],
  ['a bigint', 10n ** 1000n],
  ['a symbol', Symbol('s')],
  ['a function', () => 1],
  ['a key of a megabyte', { ['k'.repeat(1_000_000)]: 1 }],
]

test.each(hostile)('the words for %s are short, and nothing throws', (_name, given) => {
  const refusal = badInput('field', given, 'something else')
  expect(explain(refusal).length).toBeLessThan(400)
  const Shape = z.strictObject({ sessionIds: z.array(z.string()).max(2).optional() })
  for (const input of [given, { sessionIds: given }, { sessionIds: [given] }]) {
    const read = readInput(Shape, input)
    expect(isRefusal(read) ? explain(read).length : 0).toBeLessThan(600)
  }
})

const nested = (levels: number, list: boolean): unknown =>
  levels === 0 ? 1 : list ? [nested(levels - 1, list)] : { a: nested(levels - 1, list) }

test.each<[string, unknown, string]>([
  ['a text', 'a"b', '"a\\"b"'],
  ['a text beyond 400 characters', 'x'.repeat(401), `"${'x'.repeat(400)}"`],
  ['a bigint', 12n, '12'],
  ['a long bigint', 10n ** 500n, `1${'0'.repeat(399)}`],
  ['nothing', undefined, 'undefined'],
  ['null', null, 'null'],
  ['a number', 1.5, '1.5'],
  ['a symbol', Symbol('s'), 'symbol'],
  ['a function', () => 1, 'function'],
  ['an empty list', [], '[]'],
  ['an empty object', {}, '{}'],
  ['a list with a gap', [1, undefined, 2], '[1,undefined,2]'],
  ['an object with a field of nothing', { a: undefined, b: 1 }, '{"b":1}'],
  ['eight levels of lists', nested(8, true), '[[[[[[[[1]]]]]]]]'],
  ['nine levels of lists', nested(9, true), '[[[[[[[[[…]]]]]]]]]'],
  ['nine levels of objects', nested(9, false), `${'{"a":'.repeat(8)}{…}${'}'.repeat(8)}`],
  ['a long list', ['x'.repeat(399), 'y', 'z'], `["${'x'.repeat(399)}",…`],
  ['a long object', { a: 'x'.repeat(399), b: 1 }, `{"a":"${'x'.repeat(399)}",…`],
  ['a list that just fits', ['x'.repeat(398), 'yyy'], `["${'x'.repeat(398)}",""]`],
  [
    'a list after a long text',
    ['x'.repeat(390), 'y'.repeat(20)],
    `["${'x'.repeat(390)}","${'y'.repeat(8)}"]`,
  ],
  ['a long key', { ['k'.repeat(500)]: 1 }, `{"${'k'.repeat(400)}":1}`],
])('the head of %s', (_what, value, head) => {
  expect(jsonHead(value)).toBe(head)
})

test('what cannot be looked at is named by its type', () => {
  expect(jsonHead(thorny)).toBe('a value of type object')
})

test.each<[string, unknown, number, number, string | null]>([
  ['a text of 3 takes 5', 'abc', 5, 0, null],
  ['a text of 3 takes more than 4', 'abc', 4, 0, 'bytesMax'],
  ['a number takes at least 1', 1, 1, 0, null],
  ['a number takes more than none', 1, 0, 0, 'bytesMax'],
  ['null takes at least 1 and is no level', null, 1, 0, null],
  ['an empty list is a level', [], 2, 0, 'depthMax'],
  ['an empty list takes 2', [], 2, 1, null],
  ['an empty list takes more than 1', [], 1, 1, 'bytesMax'],
  ['a list of two numbers takes 6', [1, 2], 6, 1, null],
  ['a list of two numbers takes more than 5', [1, 2], 5, 1, 'bytesMax'],
  ['a field takes its name, quotes, colon and comma', { ab: 1 }, 2 + 6 + 1, 1, null],
  ['a field takes no less', { ab: 1 }, 2 + 6, 1, 'bytesMax'],
  ['a list in a list is two levels', [[]], 100, 1, 'depthMax'],
  ['two levels are within two', [[1]], 100, 2, null],
  ['an object in a list is two levels', [{}], 100, 1, 'depthMax'],
])('bounds: %s', (_what, value, bytesMax, depthMax, exceeded) => {
  expect(exceededBound(value, { bytesMax, depthMax })).toBe(exceeded)
})

test('a list of a million items is not put aside before its bound is known', () => {
  expect(
    exceededBound(
      Array.from({ length: 1_000_000 }, () => []),
      { bytesMax: 100, depthMax: 1 },
    ),
  ).toBe('bytesMax')
})
