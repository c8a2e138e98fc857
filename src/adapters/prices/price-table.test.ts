import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { priceTable } from '../../runtime/kernel/prices-port.ts'
import { tablePrices } from './price-table.ts'

const own = {
  'local/qwen3': { input: 0.2, output: 0.6, cachedInput: 0.05 },
  'anthropic/claude-sonnet-4-5': { input: 1, output: 2 },
}
const [table, configured] = [tablePrices(), tablePrices(own)]
const at = Date.parse('2026-11-17T12:00:00Z')
const anthropic = {
  name: 'anthropic/claude-sonnet-4-5',
  model: 'claude-sonnet-4-5',
  provider: { kind: 'anthropic' },
}
const compatible = (baseURL: string, model: string) => ({
  name: `local/${model}`,
  model,
  provider: { kind: 'openai-compatible', baseURL },
})
const used = (input: number, output: number, more: object = {}) => ({
  input,
  output,
  estimated: false,
  ...more,
})

beforeAll(async () => {
  await table.load()
  await configured.load()
})

test('the date of the table is that of the version that is installed', () => {
  const entry = createRequire(import.meta.url).resolve('@pydantic/genai-prices')
  const manifest = JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8')) as object
  expect(manifest).toMatchObject({ name: priceTable.name, version: priceTable.version })
})

test('what is cached and what writes a cache has a price of its own', () => {
  // $3 in, $0.30 cached, $3.75 cache-writing, $15 out, for a million.
  const usage = used(1000, 100, { cached: 500, cacheWrite: 200 })
  expect(table.price(anthropic, usage, at)).toEqual({
    nanoUsd: 300 * 3000 + 500 * 300 + 200 * 3750 + 100 * 15_000,
    by: 'table',
  })
})

test('a long context costs more for each request, which a sum of requests would not tell', () => {
  const long = table.price(anthropic, used(300_000, 100), at)?.nanoUsd ?? 0
  const half = table.price(anthropic, used(150_000, 50), at)?.nanoUsd ?? 0
  expect(long).toBe(300_000 * 6000 + 100 * 22_500)
  expect(half).toBe(150_000 * 3000 + 50 * 15_000)
  expect(long).toBeGreaterThan(2 * half)
})

test('a model on this machine never has the price of the same name in a cloud', () => {
  expect(table.price(compatible('http://127.0.0.1:11434/v1', 'gpt-5'), used(1000, 1), at)).toBeNull()
  expect(table.price(compatible('https://openrouter.ai/api/v1', 'openai/gpt-5'), used(1000, 1), at)).toEqual({
    nanoUsd: 1000 * 1250 + 10_000,
    by: 'table',
  })
})

test('what the table does not have, and what nobody knows the provider of, has no price', () => {
  expect(table.price({ ...anthropic, model: 'nonsense-7' }, used(10, 10), at)).toBeNull()
  expect(table.price({ ...anthropic, provider: null }, used(10, 10), at)).toBeNull()
  expect(tablePrices().price(anthropic, used(10, 10), at)).toBeNull()
})

test('a provider that says more cached tokens than there are is not believed', () => {
  expect(table.price(anthropic, used(100, 0, { cached: 500, cacheWrite: 7 }), at)?.nanoUsd).toBe(100 * 300)
})

test('a price in the configuration wins over the table, and prices what the table does not have', () => {
  const local = compatible('http://127.0.0.1:11434/v1', 'qwen3')
  expect(configured.price(local, used(1000, 100, { cached: 400 }), at)).toEqual({
    nanoUsd: 600 * 200 + 400 * 50 + 100 * 600,
    by: 'configuration',
  })
  expect(configured.price(anthropic, used(1000, 100), at)).toEqual({
    nanoUsd: 1000 * 1000 + 100 * 2000,
    by: 'configuration',
  })
})
