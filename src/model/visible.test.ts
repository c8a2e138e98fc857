import fc from 'fast-check'
import { expect, test } from 'vitest'
import { visible, visibleJson } from './visible.ts'

const acts = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u
const unit = fc.constantFrom(
  'a',
  '世',
  '😀',
  '\u001b',
  ']52;c;aGk=',
  '\u0007',
  '\u009b',
  '\u009d',
  '2J',
  '\r',
  '\n',
  '\t',
  '\u202e',
  '\u2066',
  '\u2028',
  '\u007f',
  '\u0000',
  '\ud83d',
  '"',
  '\\',
)
const text = fc.array(unit, { maxLength: 40, size: 'max' }).map((units) => units.join(''))

test('nothing acts in what is shown but tabs and line breaks, however it was split', () => {
  fc.assert(
    fc.property(text, fc.nat(40), (whole, at) => {
      const shown = visible(whole.slice(0, at)) + visible(whole.slice(at))
      expect(acts.test(shown.replaceAll(/\r\n|[\n\t]/g, ''))).toBe(false)
      expect(shown.replaceAll(/[^a世]/gu, '')).toBe(whole.replaceAll(/[^a世]/gu, ''))
    }),
    { numRuns: 2000 },
  )
})

test('what acted is seen', () => {
  expect(visible('a\u001b]52;c;aGk=\u0007\u009b2J\u007f\u202eb\rc\r\nd\te')).toBe(
    'a␛]52;c;aGk=␇<U+009B>2J␡<U+202E>b␍c\r\nd\te',
  )
})

test('a text of any script is the same', () => {
  for (const plain of ['', 'héllo', 'می‌خواهم', 'שלום\u200f', '👩‍👩‍👧', 'a\tb\n'])
    expect(visible(plain)).toBe(plain)
})

test('JSON in which nothing acts says exactly the same', () => {
  fc.assert(
    fc.property(text, (whole) => {
      const shown = visibleJson({ whole })
      expect(acts.test(shown)).toBe(false)
      expect(JSON.parse(shown)).toEqual({ whole })
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['\u0000', '\u2400'],
  ['\u001f', '\u241f'],
  ['\u007f', '\u2421'],
  ['\u0080', '<U+0080>'],
  ['\u2028', '<U+2028>'],
  ['\u2069', '<U+2069>'],
  ['\r', '\u240d'],
  ['\r\n', '\r\n'],
  ['\n\t', '\n\t'],
])('%j is shown as %j', (text, shown) => {
  expect(visible(text)).toBe(shown)
})

test('in JSON what acts is escaped with four digits, and nothing is null', () => {
  expect(visibleJson('\u007f\u009b\u202e')).toBe('"\\u007f\\u009b\\u202e"')
  expect(visibleJson(undefined)).toBe('null')
})
