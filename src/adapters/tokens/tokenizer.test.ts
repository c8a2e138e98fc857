import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, expect, test, vi } from 'vitest'
import { longestStall, superlinear } from '../../../test/kits/linear.ts'
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
  const text = 'Größe matters: 你好, мир! 😀👩‍👩‍👧 isn\'t it?\n\n\tconst x = { a: [1, 22, 333] } // "…"\n'.repeat(
    400,
  )
  expect(count(text)).toBe(exact(text))
})

test('texts with pieces of at most 256 units are counted exactly', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc
      .constantFrom('a', ' ', '\n', '-', '你', '😀', 'Z')
      .chain((sign) => fc.integer({ min: 0, max: 60 }).map((times) => sign.repeat(times))),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (parts) => {
      const text = parts.join(' 1 ')
      expect(count(text)).toBe(exact(text))
    }),
    { numRuns: 60 },
  )
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

test('a long piece is never cut within a code point, so that both parts of the cut count as they do alone', () => {
  const [whole, first] = ['😀'.repeat(128), '😀'.repeat(127)]
  for (const length of [200, 10_000]) {
    // The sign before them puts the end of a part between two halves.
    const parts = [`!${first}`, ...Array.from({ length }, () => whole), '😀']
    const sum = exact(`!${first}`) + length * exact(whole) + exact('😀')
    expect(count(parts.join(''))).toBe(sum)
  }
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

const letters = (size: number): string => {
  let state = 12_345
  let text = ''
  for (let at = 0; at < size; at += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += String.fromCharCode(97 + ((state >> 8) % 26))
  }
  return text
}

test('the time to count random letters grows with their number, not with its square', () => {
  expect(superlinear(8000, letters, (text) => count(text))).toBe('')
  // Pieces as long as are merged as a whole.
  const pieces = (size: number): string => (letters(size).match(/.{250}/g) ?? []).join(' ')
  expect(superlinear(8000, pieces, (text) => count(text))).toBe('')
})

test('900 KB of random letters let the process answer while they are counted, and the count is the same', async () => {
  const text = letters(900_000)
  let counted = 0
  const stall = await longestStall(async () => {
    counted = (await count.gently?.(text)) ?? 0
  })
  expect(stall).toBeLessThan(100)
  expect(counted).toBeGreaterThan(400_000)
  // It is at hand then.
  const from = process.cpuUsage()
  expect(count(text)).toBe(counted)
  expect(process.cpuUsage(from).user / 1000).toBeLessThan(200)
})

test('what is counted in slices has the count that it has at once', async () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc
      .constantFrom('a', ' ', '\n', '-', '你', '😀', 'Z', ' word', "'s", '12')
      .chain((sign) => fc.integer({ min: 0, max: 400 }).map((times) => sign.repeat(times))),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 10, maxLength: 40 }), async (parts) => {
      const text = parts.join('')
      expect(await count.gently?.(text)).toBe(count(text))
    }),
    { numRuns: 60 },
  )
})

test('the tokenizer is loaded once', async () => {
  expect(await loadTokenizer()).toBe(await loadTokenizer())
})

test('a count while the table is being loaded does not fail', async () => {
  const file = new URL('./tokenizer.ts', import.meta.url).href
  const program = `
    const { countTokens, loadTokenizer } = await import(${JSON.stringify(file)})
    const loading = loadTokenizer()
    for (let round = 0; round < 200; round += 1) {
      countTokens('one two')
      await new Promise((resolve) => setImmediate(resolve))
    }
    await loading
    console.log('counted')
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(stdout.trim()).toBe('counted')
}, 30_000)

test('whoever counts before it was loaded gets the same count, at once', async () => {
  vi.resetModules()
  const fresh = await import('./tokenizer.ts')
  const text = 'The quick brown fox jumps over the lazy dog.'
  expect(fresh.countTokens(text)).toBe(count(text))
  expect((await fresh.loadTokenizer())(text)).toBe(count(text))
})
