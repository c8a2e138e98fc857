import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonical, isJson, isRecord, Json, textAt } from './json.ts'

const json = fc.jsonValue({ maxDepth: 4, noUnicodeString: false })

/** The same value with the fields of every object in another order. */
function reversed(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(reversed)
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, field]) => [name, reversed(field)]),
  )
}

test('the canonical text says the same as the value', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('equal values have equal text, in whatever order their fields were written', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonical(reversed(value))).toBe(canonical(value))
    }),
  )
})

test('different values have different texts', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const [one, other] = [
        JSON.parse(JSON.stringify(a)) as unknown,
        JSON.parse(JSON.stringify(b)) as unknown,
      ]
      expect(canonical(one) === canonical(other)).toBe(
        JSON.stringify(JSON.parse(canonical(one))) === JSON.stringify(JSON.parse(canonical(other))),
      )
    }),
  )
  expect(
    new Set(
      [1, '1', [1], ['1'], { 1: 1 }, null, 'null', true, 'true', {}, []].map((value) => canonical(value)),
    ).size,
  ).toBe(11)
})

test('fields are sorted by their code units and have no spaces between them, lists keep their order', () => {
  expect(canonical({ b: 1, a: [3, 1, 2], B: { z: null, y: 'ü' }, 10: 0, 9: 0 })).toBe(
    '{"10":0,"9":0,"B":{"y":"ü","z":null},"a":[3,1,2],"b":1}',
  )
})

test('what JSON cannot say is left out or null, as JSON.stringify does it', () => {
  expect(canonical({ a: undefined, b: 1 })).toBe('{"b":1}')
  expect(canonical([undefined, Number.NaN])).toBe('[null,null]')
  expect(canonical(undefined)).toBe('null')
  expect(canonical(-0)).toBe('0')
})

/** As many lists around a value as were asked for. */
const nested = (levels: number, inner: unknown): unknown =>
  Array.from({ length: levels }).reduce(
    (value: unknown, _, level) => (level % 2 === 0 ? [value] : { a: value }),
    inner,
  )

test('a value is JSON up to a number of levels, and nothing that JSON cannot say is', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(isJson(value)).toBe(true)
    }),
  )
  expect([isJson(nested(150, 1)), isJson(nested(151, 1))]).toEqual([true, false])
  expect([isJson(nested(150, [])), isJson(nested(151, []))]).toEqual([true, false])
  for (const none of [undefined, Number.NaN, Infinity, 1n, () => 1, new Map(), new Date(0), Symbol('x')]) {
    expect(isJson(none)).toBe(false)
    expect(isJson([{ a: [1, none] }])).toBe(false)
  }
  const circle: { self?: object } = {}
  circle.self = circle
  expect(isJson(circle)).toBe(false)
})

test('a value that is no JSON is refused with how deep it may be', () => {
  expect(Json.safeParse(nested(151, 1)).error?.issues[0]?.message).toBe('JSON with at most 150 levels')
})

test('an object of a class is no JSON, and one without a prototype is', () => {
  class Own {
    a = 1
  }
  expect([isJson(new Own()), isJson([new Own()]), isJson(Object.create(null)), isJson({ a: null })]).toEqual([
    false,
    false,
    true,
    true,
  ])
})

test('a record has named fields, and a text is read only from a field of its own', () => {
  expect([{}, { a: 1 }, [], null, 'x', 1, undefined].map(isRecord)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ])
  expect(textAt({ a: 'x' }, 'a')).toBe('x')
  expect([textAt({ a: 1 }, 'a'), textAt({}, 'a'), textAt(null, 'a'), textAt(['x'], '0')]).toEqual([
    '',
    '',
    '',
    '',
  ])
  expect(textAt(Object.create({ a: 'x' }), 'a')).toBe('')
})
