import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { jsonHead } from './json-head.ts'
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
