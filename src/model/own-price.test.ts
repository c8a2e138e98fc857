import { expect, test } from 'vitest'
import { OwnPrice, OwnPrices } from './own-price.ts'

test('a price is dollars for a million tokens, from 0 to a million', () => {
  const whole = { input: 0, output: 1_000_000, cachedInput: 0.5, cacheWrite: 1 }
  expect(OwnPrice.parse(whole)).toEqual(whole)
  for (const wrong of [
    { input: 1 },
    { input: -1, output: 1 },
    { input: 1, output: 1_000_001 },
    { ...whole, more: 1 },
  ])
    expect([wrong, OwnPrice.safeParse(wrong).success]).toEqual([wrong, false])
})

test.each([
  ['openai/gpt', true],
  ['a/b/c', true],
  ['gpt', false],
  ['/gpt', false],
  ['openai/', false],
  ['open ai/gpt', false],
  ['openai/g pt', false],
  [' openai/gpt', false],
])('a price for %j is taken: %s', (name, taken) => {
  const parsed = OwnPrices.safeParse({ [name]: { input: 1, output: 1 } })
  expect(parsed.success).toBe(taken)
  expect(JSON.stringify(parsed.error?.issues ?? []).includes('between them')).toBe(!taken)
})
