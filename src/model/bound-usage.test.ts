import { expect, test } from 'vitest'
import { boundUsage, tokensPerRequestMax } from './bound-usage.ts'

test('what was used is whole and bounded, whatever somebody says', () => {
  const said = { input: 1e308, output: 12.5, estimated: false }
  expect(boundUsage(said)).toEqual({ input: tokensPerRequestMax, output: 13, estimated: false })
  expect(
    boundUsage({
      input: -1,
      output: Number.NaN,
      estimated: true,
      cached: 1e300,
      cacheWrite: 0.5,
      reasoning: Infinity,
      model: 'a/b',
      cost: { nanoUsd: 9e15, by: 'reported', plan: true },
    }),
  ).toEqual({
    input: 0,
    output: 0,
    estimated: true,
    cached: tokensPerRequestMax,
    cacheWrite: 1,
    reasoning: 0,
    model: 'a/b',
    cost: { nanoUsd: 1e15, by: 'reported', plan: true },
  })
  const usual = { input: 7, output: 0, estimated: false, cost: { nanoUsd: 5, by: 'table' as const } }
  expect(boundUsage(usual)).toEqual(usual)
})
