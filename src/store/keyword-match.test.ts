import fc from 'fast-check'
import { expect, test } from 'vitest'
import { superlinear } from '../../test/kits/linear.ts'
import { keywordMatcher } from './keyword-match.ts'

function matches(keywords: readonly string[], text: string): boolean {
  const searching = keywordMatcher(keywords).search(text)
  for (;;) {
    const step = searching.next()
    if (step.done === true) return step.value
  }
}

/** Long enough for the automaton. */
const padding = 'z'.repeat(2000)
const many = (keywords: readonly string[]): string[] => [
  ...keywords,
  ...Array.from({ length: 99 }, (_, index) => `never-${index}-${'q'.repeat(20)}`),
]

test('a text with any of many keywords is found, wherever it stands, and one without is not', () => {
  const sign = fc.constantFrom('a', 'b', 'ab', 'é', '😀', '\ud83d')
  const word = fc.array(sign, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 6 }),
      fc.array(sign, { maxLength: 40 }),
      fc.nat(1),
      (keywords, parts, before) => {
        const text = before === 1 ? `${padding}${parts.join('')}` : `${parts.join('')}${padding}`
        expect(matches(many(keywords), text)).toBe(keywords.some((keyword) => text.includes(keyword)))
      },
    ),
    { numRuns: 300 },
  )
})

test('texts are compared in lower case, also across a pause', () => {
  expect(matches(['needle'], `${'x'.repeat(32_765)}NEEDLE${'x'.repeat(1000)}`)).toBe(true)
  expect(matches(many(['needle']), `${'x'.repeat(32_765)}NEEDLE${'x'.repeat(100_000)}`)).toBe(true)
  expect(matches(many(['needle']), `${'x'.repeat(32_765)}NEED LE${'x'.repeat(100_000)}`)).toBe(false)
})

/**
 * Each keyword nearly fits everywhere: looking for one after another compares the whole of each at every
 * place.
 */
const hostile = Array.from({ length: 100 }, (_, index) => `${'a'.repeat(150 + (index % 40))}b${index}`)

test('100 keywords made to be slow, over a text made for them, take time that grows with the text', () => {
  expect(
    superlinear(
      250_000,
      (size) => 'a'.repeat(size),
      (text) => matches(hostile, text),
    ),
  ).toBe('')
  const startedAt = process.cpuUsage()
  expect(matches(hostile, 'a'.repeat(1_000_000))).toBe(false)
  expect(process.cpuUsage(startedAt).user / 1000).toBeLessThan(2000)
})
