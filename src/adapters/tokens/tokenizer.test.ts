import fc from 'fast-check'
import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, expect, test, vi } from 'vitest'
import type { CountTokens } from '../../model/text.ts'
import { loadTokenizer } from './tokenizer.ts'

let count: CountTokens
beforeAll(async () => {
  count = await loadTokenizer()
})

const exact = (text: string): number => reference(text, { disallowedSpecial: new Set() })

test('known texts have their known counts', () => {
  expect(count('')).toBe(0)
  expect(count('hello world')).toBe(2)
  expect(count('The quick brown fox jumps over the lazy dog.')).toBe(10)
})

test('ordinary texts are counted exactly, however long', () => {
  const text = 'Größe matters: 你好, мир! 😀👩‍👩‍👧 isn\'t it?\n\n\tconst x = { a: [1, 22, 333] } // "…"\n'.repeat(400)
  expect(count(text)).toBe(exact(text))
})

test('texts with pieces of at most 256 units are counted exactly', () => {
  const piece = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.constantFrom('a', ' ', '\n', '-', '你', '😀', 'Z').chain((sign) => fc.integer({ min: 0, max: 60 }).map((times) => sign.repeat(times))))
  fc.assert(fc.property(fc.array(piece, { maxLength: 20 }), (parts) => {
    const text = parts.join(' 1 ')
    expect(count(text)).toBe(exact(text))
  }), { numRuns: 60 })
})

test('a text that looks like a special token is ordinary text', () => {
  for (const text of ['<|endoftext|>', 'a <|im_start|> b', `<|endofprompt|>${'word '.repeat(100)}`]) {
    expect(count(text)).toBe(exact(text))
    expect(count(text)).toBeGreaterThan(1)
  }
})

test('half a code point is counted and not thrown about', () => {
  expect(count('\ud83d')).toBeGreaterThan(0)
  expect(count(`${'\ud83d'.repeat(300)}\ude00`)).toBeGreaterThan(0)
})

test.each([
  ['one letter', 'a'.repeat(1_048_576), 131_072],
  ['spaces', ' '.repeat(1_048_576), 8192],
  ['newlines and slashes after a sign', `!${'\n/'.repeat(524_288)}`, 524_288],
  ['emoji', '😀'.repeat(262_144), 262_144],
])('a megabyte of %s is counted within bounds and in time', (_name, text, tokens) => {
  const start = performance.now()
  const counted = count(text)
  expect(performance.now() - start).toBeLessThan(2000)
  expect(counted).toBeGreaterThan(tokens * 0.5)
  expect(counted).toBeLessThan(tokens * 1.5)
})

test('a long piece within an ordinary text costs at most three tokens a cut', () => {
  const long = 'abcdefghij'.repeat(200)
  const text = `Before it. ${long} After it, 12345.`
  expect(count(text)).toBeGreaterThanOrEqual(exact(text))
  expect(count(text)).toBeLessThanOrEqual(exact(text) + 3 * Math.ceil(long.length / 256))
})

test('the tokenizer is loaded once', () => {
  expect(loadTokenizer()).toBe(loadTokenizer())
})

test('whoever counts before it was loaded gets the same count, at once', async () => {
  vi.resetModules()
  const fresh = await import('./tokenizer.ts')
  const text = 'The quick brown fox jumps over the lazy dog.'
  expect(fresh.countTokens(text)).toBe(count(text))
  expect((await fresh.loadTokenizer())(text)).toBe(count(text))
})
