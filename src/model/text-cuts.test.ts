/** What a cut keeps and what it costs, to the unit: how much is counted decides how long a cut takes. */
import { describe, expect, test } from 'vitest'
import {
  byteLength,
  countGently,
  countRoughly,
  cutBytes,
  cutTokens,
  cutTokensGently,
  headUnits,
  type CountTokens,
} from './text.ts'

const hint = '[cut]'
const alphabet = 'abcdefghijklmnopqrstuvwxyz'
/** No two of its characters are the same. */
const distinct = (length: number): string =>
  Array.from({ length }, (_, at) => String.fromCharCode(0x4e00 + at)).join('')
const perUnit: CountTokens = (of) => of.length

/** Counts, and remembers what it was asked to count. */
function watched(count: CountTokens): { count: CountTokens; asked: string[] } {
  const asked: string[] = []
  return { asked, count: (of) => (asked.push(of), count(of)) }
}

describe('a head in units', () => {
  test.each([
    ['abc', 0, ''],
    ['abc', 2, 'ab'],
    ['abc', 3, 'abc'],
    ['abc', 4, 'abc'],
    ['a😀b', 1, 'a'],
    ['a😀b', 2, 'a'],
    ['a😀b', 3, 'a😀'],
    ['a\ud83db', 2, 'a\ud83d'],
    ['a\ude00\ude00', 2, 'a\ude00'],
    ['\ud83d\ud83d\ude00', 2, '\ud83d'],
    ['\ud83d\ud83d', 1, '\ud83d'],
  ])('of %j within %i is %j', (text, units, head) => expect(headUnits(text, units)).toBe(head))
})

describe('a cut in bytes', () => {
  test.each([
    ['abcd', 4, 'abcd', false],
    ['abcd', 3, 'abc', true],
    ['é', 1, '', true],
    ['éa', 2, 'é', true],
    ['你好', 5, '你', true],
    ['你好', 6, '你好', false],
    ['a😀', 4, 'a', true],
    ['a😀', 5, 'a😀', false],
    ['éé', 3, 'é', true],
  ])('of %j within %i is %j', (text, bytes, left, truncated) => {
    expect(cutBytes(text, bytes)).toEqual({ text: left, truncated })
    expect(byteLength(left)).toBeLessThanOrEqual(bytes)
  })
})

describe('a cut in tokens', () => {
  test.each([
    [26, alphabet, false],
    [25, `${alphabet.slice(0, 14)}\n${hint}\nwxyz`, true],
    [19, 'abcdefghi\n[cut]\nxyz', true],
    [11, 'abc\n[cut]\nz', true],
    [8, 'a\n[cut]\n', true],
    [7, 'abcdefg', true],
    [1, 'a', true],
    [0, '', true],
  ])('of the alphabet within %i tokens, one for each letter', (tokensMax, text, truncated) => {
    expect(cutTokens(alphabet, tokensMax, perUnit, hint)).toEqual({ text, truncated })
  })

  test('three quarters of the room are head, over several parts', () => {
    const whole = distinct(2000)
    const cut = cutTokens(whole, 600, perUnit, hint)
    expect(cut).toEqual({ text: `${whole.slice(0, 445)}\n${hint}\n${whole.slice(-148)}`, truncated: true })
  })

  test('a token is taken for eight units at most', () => {
    const whole = distinct(10_000)
    const cut = cutTokens(whole, 100, (of) => Math.ceil(of.length / 10), hint)
    expect(cut).toEqual({ text: `${whole.slice(0, 584)}\n${hint}\n${whole.slice(-192)}`, truncated: true })
  })

  test('where the parts have more tokens together than alone, there is less room each time', () => {
    const joined: CountTokens = (of) => of.length + (of.includes(hint) && of.length > 15 ? 4 : 0)
    expect(cutTokens(alphabet, 19, joined, hint).text).toBe('abcdef\n[cut]\nyz')
    const never: CountTokens = (of) => of.length + (of.includes(`${hint}\n`) ? 100 : 0)
    expect(cutTokens(alphabet, 19, never, hint)).toEqual({ text: alphabet.slice(0, 19), truncated: true })
  })

  test('halves of pairs are not taken apart at either side', () => {
    const cut = cutTokens('😀'.repeat(13), 19, perUnit, hint)
    expect(cut.text).toBe(`${'😀'.repeat(4)}\n${hint}\n😀`)
  })
})

describe('what is counted for a cut', () => {
  test('nothing of a text that fits whatever its tokens are', () => {
    const { count, asked } = watched(perUnit)
    expect(cutTokens('abc', 9, count, hint)).toEqual({ text: 'abc', truncated: false })
    expect(cutTokens('', 0, count, hint)).toEqual({ text: '', truncated: false })
    expect(asked).toEqual([])
    expect(cutTokens('abc', 8, count, hint).truncated).toBe(false)
    expect(asked).toEqual(['abc', 'abc'])
  })

  test('parts of 256 units first, then the whole, unless the parts are too many already', () => {
    const whole = distinct(600)
    const parts = [whole.slice(0, 256), whole.slice(256, 512), whole.slice(512)]
    const within = watched(perUnit)
    expect(cutTokens(whole, 600, within.count, hint).truncated).toBe(false)
    expect(within.asked).toEqual([...parts, whole])
    const nearly = watched(perUnit)
    cutTokens(whole, 591, nearly.count, hint)
    expect(nearly.asked.slice(0, 5)).toEqual([...parts, whole, hint])
    const over = watched(perUnit)
    cutTokens(whole, 590, over.count, hint)
    expect(over.asked.slice(0, 4)).toEqual([...parts, hint])
    const early = watched(perUnit)
    cutTokens(whole, 252, early.count, hint)
    expect(early.asked.slice(0, 2)).toEqual([parts[0], hint])
  })

  test('nothing whole of a text with more than 64 units a token', () => {
    const one: CountTokens = () => 1
    expect(cutTokens('x'.repeat(64), 1, one, hint).truncated).toBe(false)
    const { count, asked } = watched(one)
    expect(cutTokens('x'.repeat(65), 1, count, hint)).toEqual({ text: 'x'.repeat(8), truncated: true })
    expect(asked).not.toContain('x'.repeat(65))
  })

  test('of a head only what was not counted yet, and of a tail too', () => {
    const whole = distinct(2000)
    const { count, asked } = watched(perUnit)
    cutTokens(whole, 900, count, hint)
    const at = asked.indexOf(hint)
    expect(asked.slice(at + 1, at + 4)).toEqual([
      whole.slice(0, 256),
      whole.slice(256, 512),
      whole.slice(512, 768),
    ])
    expect(asked).toContain(whole.slice(-256))
    expect(asked.filter((part) => part.length > 256 && part !== whole && !part.includes(hint))).toEqual([])
  })
})

describe('counting gently', () => {
  const gentle: CountTokens = Object.assign((): number => 1, { gently: () => Promise.resolve(2) })

  test('is for long texts, where it can be done', async () => {
    expect(countGently(gentle, 'x'.repeat(2048))).toBe(1)
    expect(await countGently(gentle, 'x'.repeat(2049))).toBe(2)
    expect(countGently(perUnit, 'x'.repeat(2049))).toBe(2049)
  })

  test('cuts in the same places', async () => {
    for (const tokensMax of [0, 8, 19, 26])
      expect(await cutTokensGently(alphabet, tokensMax, perUnit, hint)).toEqual(
        cutTokens(alphabet, tokensMax, perUnit, hint),
      )
    const slow: CountTokens = Object.assign((of: string) => of.length, {
      gently: (of: string) => Promise.resolve(of.length * 2),
    })
    expect((await cutTokensGently('x'.repeat(3000), 3000, slow, hint)).truncated).toBe(true)
  })
})

describe('a rough count', () => {
  test('is exact up to 4096 units', () => {
    const { count, asked } = watched(perUnit)
    const whole = distinct(4096)
    expect(countRoughly(count, whole)).toBe(4096)
    expect(asked).toEqual([whole])
  })

  test('looks at eight parts of 512 units from the first to the last', () => {
    const { count, asked } = watched(perUnit)
    const whole = distinct(5000)
    expect(countRoughly(count, whole)).toBe(5000)
    expect(asked).toEqual(
      [0, 641, 1282, 1923, 2565, 3206, 3847, 4488].map((from) => whole.slice(from, from + 512)),
    )
  })

  test('is rounded up', () => {
    expect(countRoughly(() => 1, 'x'.repeat(4097))).toBe(9)
  })
})
