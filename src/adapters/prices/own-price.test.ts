import { expect, test } from 'vitest'
import { tablePrices } from './price-table.ts'

test('a price of your own that says nothing of writing to a cache takes that for plain input', () => {
  const prices = tablePrices({ 'local/qwen3': { input: 0.2, output: 0.6, cachedInput: 0.05 } })
  const of = { name: 'local/qwen3', model: 'qwen3', provider: null }
  const usage = { input: 1000, output: 0, estimated: false, cached: 100, cacheWrite: 500 }
  expect(prices.price(of, usage, 0)).toEqual({ nanoUsd: 900 * 200 + 100 * 50, by: 'configuration' })
})
