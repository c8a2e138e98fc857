import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { loadTokenizer } from '../adapters/tokens/tokenizer.ts'
import { byteLength, countRoughly, cutBytes, cutTokens, preview, type CountTokens } from './text.ts'

/** Texts of letters, pairs and halves of pairs, in any order. */
const unit = fc.constantFrom('a', 'é', '你', '😀', '\ud83d', '\ude00', '\n', '👩‍👩‍👧')
const text = fc.array(unit, { maxLength: 30, size: 'max' }).map((units) => units.join(''))
const wellFormed = fc.string({ unit: 'grapheme', maxLength: 60, size: 'max' })

const points = (of: string): string[] => Array.from(of)
/**
 * Whether `part` is the first so many code points of `whole`: a half pair at its end would be another code
 * point.
 */
const isHead = (part: string, whole: string): boolean =>
  points(whole)
    .slice(0, points(part).length)
    .every((point, index) => point === points(part)[index]) && whole.startsWith(part)
const isTail = (part: string, whole: string): boolean =>
  part === '' || points(whole).slice(-points(part).length).join('') === part

let tokens: CountTokens
beforeAll(async () => {
  tokens = await loadTokenizer()
})

test('a preview is the first so many code points, for every text', () => {
  fc.assert(
    fc.property(text, fc.nat(40), (whole, count) => {
      expect(preview(whole, count)).toBe(points(whole).slice(0, count).join(''))
    }),
    { numRuns: 3000 },
  )
})

test('a pair is not cut where half of another follows it', () => {
  expect(preview('😀\ude00', 1)).toBe('😀')
  expect(preview('😀\ude00\ude00', 1)).toBe('😀')
})

test('a preview of a megabyte looks at its beginning only', () => {
  expect(preview('😀'.repeat(300_000), 200)).toBe('😀'.repeat(200))
})

test('a cut in bytes keeps the longest start of whole code points that fits', () => {
  fc.assert(
    fc.property(wellFormed, fc.nat(120), (whole, bytes) => {
      const cut = cutBytes(whole, bytes)
      expect(byteLength(cut.text)).toBeLessThanOrEqual(bytes)
      expect(isHead(cut.text, whole)).toBe(true)
      expect(cut.truncated).toBe(cut.text !== whole)
      expect(
        !cut.truncated ||
          byteLength(
            points(whole)
              .slice(0, points(cut.text).length + 1)
              .join(''),
          ) > bytes,
      ).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('a cut in bytes of a text with halves of pairs stays within its bytes and cuts no code point', () => {
  fc.assert(
    fc.property(text, fc.nat(60), (whole, bytes) => {
      const cut = cutBytes(whole, bytes)
      expect(byteLength(cut.text)).toBeLessThanOrEqual(bytes)
      expect(isHead(cut.text.toWellFormed(), whole.toWellFormed())).toBe(true)
      expect(cut.truncated).toBe(byteLength(whole) > bytes)
    }),
    { numRuns: 2000 },
  )
})

test('zero bytes hold nothing, and a text that fits is not touched', () => {
  expect(cutBytes('é', 0)).toEqual({ text: '', truncated: true })
  expect(cutBytes('é', 1)).toEqual({ text: '', truncated: true })
  expect(cutBytes('é', 2)).toEqual({ text: 'é', truncated: false })
  expect(cutBytes('', 0)).toEqual({ text: '', truncated: false })
})

const hint = '[cut]'
const oneEach: CountTokens = (of) => points(of).length
const perWord: CountTokens = (of) => of.split(/\s+/).filter((word) => word !== '').length

/** Head, hint and tail; the hint is on a line of its own. */
function splitCut(cut: string): { head: string; tail: string } {
  const at = cut.indexOf(`\n${hint}\n`)
  expect(at).toBeGreaterThanOrEqual(0)
  return { head: cut.slice(0, at), tail: cut.slice(at + hint.length + 2) }
}

test('R8: a cut in tokens stays within its budget, whatever the budget and the text', () => {
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 200, size: 'max' }).map((units) => units.join('')),
      fc.nat(80),
      (whole, tokensMax) => {
        const cut = cutTokens(whole, tokensMax, oneEach, hint)
        expect(oneEach(cut.text)).toBeLessThanOrEqual(tokensMax)
      },
    ),
    { numRuns: 2000 },
  )
})

test('a cut in tokens keeps head and tail of whole code points, and says what is missing between them', () => {
  fc.assert(
    fc.property(
      fc.array(unit, { minLength: 60, maxLength: 200, size: 'max' }).map((units) => units.join('')),
      fc.integer({ min: 12, max: 50 }),
      (whole, tokensMax) => {
        const cut = cutTokens(whole, tokensMax, oneEach, hint)
        fc.pre(cut.truncated)
        const { head, tail } = splitCut(cut.text)
        expect([isHead(head, whole), isTail(tail, whole)]).toEqual([true, true])
        expect(head.length + tail.length).toBeLessThan(whole.length)
      },
    ),
    { numRuns: 2000 },
  )
})

test('R8: a cut in real tokens stays within its budget', () => {
  const long = '[… cut: read the rest with read_output]'
  const words = fc.array(
    fc.oneof(
      fc.lorem({ maxCount: 20 }),
      fc.constantFrom(
        '\n\n',
        '    ',
        '{"a":[1,22,333]}',
        '你好世界',
        '😀😀',
        'aaaaaaaaaaaaaaaa',
        '\ud83d',
        '====',
      ),
    ),
    { maxLength: 60, size: 'max' },
  )
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 400 }), (some, tokensMax) => {
      const whole = some.join('')
      const cut = cutTokens(whole, tokensMax, tokens, long)
      expect(tokens(cut.text)).toBeLessThanOrEqual(tokensMax)
      expect(cut.truncated).toBe(cut.text !== whole)
    }),
    { numRuns: 300 },
  )
})

test('R8: a small budget is kept too, down to none', () => {
  for (const tokensMax of [0, 1, 2, 5, 8])
    expect([
      tokensMax,
      tokens(cutTokens('word '.repeat(100), tokensMax, tokens, hint).text) <= tokensMax,
    ]).toEqual([tokensMax, true])
})

test('most of a cut is its head, and the end of the text is kept', () => {
  const whole = Array.from({ length: 1000 }, (_, n) => `word${n}`).join(' ')
  const cut = cutTokens(whole, 100, perWord, hint)
  const { head, tail } = splitCut(cut.text)
  expect(cut.truncated).toBe(true)
  expect(whole.endsWith(tail)).toBe(true)
  expect(tail.length).toBeGreaterThan(0)
  expect(head.length).toBeGreaterThan(tail.length * 2)
})

test('a text within its tokens is not touched, however it is counted', () => {
  expect(cutTokens('one two', 2, perWord, hint)).toEqual({ text: 'one two', truncated: false })
  expect(cutTokens('', 0, tokens, hint)).toEqual({ text: '', truncated: false })
})

test('a rough count of a short text is the exact one', () => {
  const short = 'Seven words stand here, and some more. '.repeat(100)
  expect(countRoughly(tokens, short)).toBe(tokens(short))
})

test('a rough count is near the exact one where the kind of text changes on the way', () => {
  const mixed = `${'plain words '.repeat(20_000)}${'{"k":[1,22,333]}'.repeat(10_000)}`
  const ratio = countRoughly(tokens, mixed) / tokens(mixed)
  expect(ratio).toBeGreaterThan(0.8)
  expect(ratio).toBeLessThan(1.25)
})

test('a rough count looks at as much of a text of eight megabytes as of one megabyte', () => {
  const looked = (text: string): number => {
    let units = 0
    countRoughly((part) => (units += part.length), text)
    return units
  }
  expect(looked('x'.repeat(8_000_000))).toBe(looked('x'.repeat(1_000_000)))
})
