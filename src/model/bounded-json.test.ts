import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findExcess, inletLimits, notJson, ownLimits, parseJson, type JsonLimits } from './bounded-json.ts'
import { isJson, Json } from './json.ts'

const nested = (levels: number, inside = ''): string => '['.repeat(levels) + inside + ']'.repeat(levels)
const limits = (more: Partial<JsonLimits>): JsonLimits => ({ ...inletLimits, ...more })

function asParsed(text: string): object {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { code: 'bad_input', field: 'body', expected: 'JSON' }
  }
}

test('what is within the limits is parsed as JSON.parse would', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      expect(parseJson(text, 'body')).toEqual({ value: JSON.parse(text) })
    }),
  )
})

test('text that is no JSON is refused with its beginning, whatever it is', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', '1') }),
  )
  fc.assert(
    fc.property(text, (given) => {
      expect(parseJson(given, 'body')).toMatchObject(asParsed(given))
    }),
  )
})

test('the last level that is allowed passes, the next one is refused by the name of its key', () => {
  const { depthMax } = inletLimits
  expect(parseJson(nested(depthMax), 'body')).toHaveProperty('value')
  expect(parseJson(nested(depthMax + 1), 'body')).toMatchObject({
    code: 'bad_input',
    field: 'body',
    expected: `at most ${depthMax} levels of nesting`,
  })
  expect(parseJson(`{"type":"x","sessionIds":${nested(31_000)}}`, 'frame')).toMatchObject({
    code: 'bad_input',
    field: 'sessionIds',
  })
  expect(parseJson(`["a",${nested(31_000)}]`, 'frame')).toMatchObject({ field: 'frame' })
})

test('brackets and commas inside of texts are not counted', () => {
  const value = { a: '[{,'.repeat(1000), '"\\': `\\"${'['.repeat(500)}` }
  expect(parseJson(JSON.stringify(value), 'body', limits({ depthMax: 1, valuesMax: 4 }))).toEqual({ value })
})

test('more values than allowed are refused, in lists, objects and empty brackets alike', () => {
  for (const text of [
    `[${'1,'.repeat(10)}1]`,
    `{${Array.from({ length: 11 }, (_, index) => `"k${index}":1`).join()}}`,
    `[${'[],'.repeat(10)}1]`,
  ]) {
    expect(parseJson(text, 'body', limits({ valuesMax: 10 }))).toMatchObject({
      code: 'bad_input',
      expected: 'at most 10 values',
    })
  }
  expect(parseJson('[1,2,3]', 'body', limits({ valuesMax: 4 }))).toEqual({ value: [1, 2, 3] })
})

test('one object with more fields than allowed is refused by its name; many small ones are not', () => {
  const wide = (fields: number): string =>
    `{${Array.from({ length: fields }, (_, index) => `"k:${index}":1`).join()}}`
  const few = limits({ fieldsMax: 3 })
  expect(parseJson(wide(3), 'body', few)).toHaveProperty('value')
  expect(parseJson(wide(4), 'body', few)).toMatchObject({
    code: 'bad_input',
    field: 'body',
    given: 'an object with more than 3 fields',
    expected: 'at most 3 fields in one object',
  })
  expect(parseJson(`{"a":1,"input":[${wide(4)}]}`, 'body', few)).toMatchObject({ field: 'input' })
  expect(parseJson(`{"a":${wide(3)},"b":[${wide(3)},${wide(3)}],"c":1}`, 'body', few)).toHaveProperty('value')
  expect(parseJson(wide(inletLimits.fieldsMax), 'body')).toHaveProperty('value')
  expect(parseJson(wide(inletLimits.fieldsMax + 1), 'body')).toMatchObject({ code: 'bad_input' })
})

test('bytes are counted, not characters', () => {
  expect(parseJson('"ééééé"', 'body', limits({ bytesMax: 11 }))).toEqual({
    code: 'too_large',
    field: 'body',
    bytes: 12,
    bytesMax: 11,
  })
  expect(parseJson('"ééééé"', 'body', limits({ bytesMax: 12 }))).toEqual({ value: 'ééééé' })
})

test('a value that is deep, wide or a ring is checked without running out of stack', () => {
  const deep = JSON.parse(nested(140, '1')) as unknown
  const ring: unknown[] = []
  ring.push(ring)
  expect(Json.safeParse(deep).success).toBe(true)
  expect(Json.safeParse(JSON.parse(nested(100_000))).success).toBe(false)
  expect(isJson(ring)).toBe(false)
  expect(
    [undefined, Number.NaN, 1n, () => 1, Symbol('s'), new Map(), { a: undefined }].map(isJson),
  ).not.toContain(true)
  expect([null, 1, 'a', true, [], {}, { a: [{ b: null }] }, Object.create(null)].map(isJson)).not.toContain(
    false,
  )
})

test('the limits for what others send, and for what one of us writes to another', () => {
  expect(inletLimits).toEqual({ bytesMax: 4_194_304, depthMax: 100, valuesMax: 50_000, fieldsMax: 5000 })
  expect(ownLimits).toEqual({
    bytesMax: 67_108_864,
    depthMax: 200,
    valuesMax: 2_000_000,
    fieldsMax: 200_000,
  })
})

test.each([
  ['', 'an empty text'],
  ['no', '"no"'],
  ['x'.repeat(80), `"${'x'.repeat(80)}"`],
  ['x'.repeat(81), `"${'x'.repeat(80)}…"`],
])('%j is no JSON, and is refused as %s', (text, given) => {
  const refusal = { code: 'bad_input', field: 'body', given, expected: 'JSON' }
  expect(notJson('body', text)).toEqual(refusal)
  expect(parseJson(text, 'body')).toEqual(refusal)
})

test.each<[string, Partial<JsonLimits>, string | null]>([
  ['[[]]', { depthMax: 2 }, null],
  ['[[]]', { depthMax: 1 }, 'JSON with more than 1 levels'],
  ['[{}]', { depthMax: 1 }, 'JSON with more than 1 levels'],
  ['[[],[],[]]', { depthMax: 2 }, null],
  ['[{},{},{}]', { depthMax: 2 }, null],
  ['[1,2]', { valuesMax: 3 }, null],
  ['[1,2]', { valuesMax: 2 }, 'JSON with more than 2 values'],
  ['"a,b,c"', { valuesMax: 1 }, null],
  [String.raw`"a\",b,c"`, { valuesMax: 1 }, null],
  [String.raw`["a\\",1]`, { valuesMax: 2 }, 'JSON with more than 2 values'],
  ['"not closed, [[[', { depthMax: 0, valuesMax: 1 }, null],
  ['{"a":1}', { fieldsMax: 1 }, null],
  ['{"a":1,"b":2}', { fieldsMax: 1 }, 'an object with more than 1 fields'],
  ['[{"a":1},{"b":2}]', { fieldsMax: 1 }, null],
  ['{"a":{"b":1}}', { fieldsMax: 1 }, null],
])('%s within %j: %s', (text, given, excess) => {
  const found = findExcess(text, 'body', limits(given))
  expect(found === null || found.code !== 'bad_input' ? null : found.given).toBe(excess)
})

test('a bound is named by the key at the top that holds what exceeds it, cut to a hundred characters', () => {
  const field = (text: string): string => {
    const found = findExcess(text, 'body', limits({ depthMax: 1 }))
    return found?.code === 'bad_input' ? found.field : ''
  }
  expect(field('{"a":1,"b":[1]}')).toBe('b')
  expect(field(' \n {"a":[1]}')).toBe('a')
  expect(field('["a",[1]]')).toBe('body')
  expect(field(`{"${'k'.repeat(100)}":[1]}`)).toBe('k'.repeat(100))
  expect(field(`{"${'k'.repeat(101)}":[1]}`)).toBe('k'.repeat(100))
  expect(field(`{"${'😀'.repeat(101)}":[1]}`)).toBe('😀'.repeat(100))
  const deep = findExcess('{"a":{"b":{"c":1}}}', 'body', limits({ depthMax: 2 }))
  expect(deep).toEqual({
    code: 'bad_input',
    field: 'a',
    given: 'JSON with more than 2 levels',
    expected: 'at most 2 levels of nesting',
  })
})

const deep = '['.repeat(101)
const tooDeep = { code: 'bad_input', given: 'JSON with more than 100 levels' }

test.each([
  ['after lists that have ended', `[${'[],'.repeat(200)}${deep}`],
  ['after an empty text', `["",${deep}`],
  ['after a quote in a text', `["\\"",${deep}`],
  ['after a backslash at the end of a text', `["\\\\",${deep}`],
])('a level too many is found %s', (_where, text) => {
  expect(parseJson(text, 'input')).toMatchObject({ ...tooDeep, field: 'input' })
})

test('a text in a list is not the name of what is too deep, also where there are objects in it', () => {
  expect(parseJson(`["first", {"a": 1}, ${deep}`, 'input')).toMatchObject({ ...tooDeep, field: 'input' })
})

test('digits and blanks are no fields', () => {
  const limits = { ...inletLimits, fieldsMax: 3 }
  expect(parseJson(`[${'1'.repeat(50)}, ${' '.repeat(50)} 2]`, 'input', limits)).toHaveProperty('value')
})

test('an object inside of another with too many fields is named by the key that it stands under', () => {
  const limits = { ...inletLimits, fieldsMax: 3 }
  expect(parseJson('{"outer": {"a": 1, "b": 2, "c": 3, "d": 4}}', 'input', limits)).toMatchObject({
    field: 'outer',
  })
  expect(parseJson('{"a": 1, "b": 2, "c": 3, "d": 4}', 'input', limits)).toMatchObject({ field: 'input' })
})
