/** Ten runs on three providers, against what a person would compute from the price table with a pencil. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { serve } from '../../src/server/index.ts'
import { fakeModel } from '../kits/fake-model.ts'
import type { FakeUsage } from '../kits/fake-wires/wire.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Dollars for a million tokens, as the table had them on 2026-09-23: input, cached, cache-writing, output. */
type Price = readonly [input: number, cached: number, writing: number, output: number]
const sonnet: Price = [3, 0.3, 3.75, 15]
const sonnetLong: Price = [6, 0.6, 7.5, 22.5]
const gpt: Price = [1.25, 0.125, 0, 10]
const gemini: Price = [1.25, 0.125, 0, 10]
const geminiLong: Price = [2.5, 0.25, 0, 15]

const runs: readonly (readonly [agent: string, usage: FakeUsage, price: Price])[] = [
  ['claude', { input: 1000, output: 200 }, sonnet],
  ['claude', { input: 12_000, output: 350, cached: 10_000 }, sonnet],
  ['claude', { input: 9000, output: 10, cacheWrite: 8500 }, sonnet],
  ['claude', { input: 260_000, output: 900, cached: 100_000, cacheWrite: 20_000 }, sonnetLong],
  ['gpt', { input: 777, output: 33 }, gpt],
  ['gpt', { input: 40_000, output: 1200, cached: 39_000, reasoning: 1000 }, gpt],
  ['gpt', { input: 320_000, output: 5 }, gpt],
  ['gemini', { input: 150, output: 80, reasoning: 60 }, gemini],
  ['gemini', { input: 90_000, output: 400, cached: 64_000 }, gemini],
  ['gemini', { input: 250_001, output: 1000, cached: 1 }, geminiLong],
]

const byHand = ({ input, output, cached = 0, cacheWrite = 0 }: FakeUsage, price: Price): number => {
  const [plain, reading, writing, out] = price
  const usd = (input - cached - cacheWrite) * plain + cached * reading + cacheWrite * writing + output * out
  return usd / 1_000_000
}

async function open() {
  const fake = await fakeModel(
    runs.map(([, usage], index) => ({ when: { user: new RegExp(`run ${index}\\b`) }, text: 'done', usage })),
  )
  const directory = mkdtempSync(join(tmpdir(), 'tieline-money-'))
  const config = join(directory, 'tieline.json')
  const provider = (kind: string) => ({ kind, baseURL: fake.url, apiKeyEnv: 'FAKE_MODEL_KEY' })
  const agent = (model: string) => ({ driver: 'model', model })
  writeFileSync(
    config,
    JSON.stringify({
      providers: {
        anthropic: provider('anthropic'),
        openai: provider('openai'),
        google: provider('google'),
        local: provider('openai-compatible'),
      },
      agents: {
        claude: agent('anthropic/claude-sonnet-4-5'),
        gpt: agent('openai/gpt-5'),
        gemini: agent('google/gemini-2.5-pro'),
        local: agent('local/qwen3'),
      },
    }),
  )
  vi.stubEnv('FAKE_MODEL_KEY', 'sk-test-0123456789abcdef')
  const dataDir = join(directory, 'data')
  const start = async () => {
    const served = await serve({ config, dataDir, port: 0, cwd: directory })
    return { served, client: tielineClient({ url: served.url }) }
  }
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await fake.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return { start, directory }
}

test('the cost of ten runs of three providers is what a person computes from the table', async () => {
  const { start, directory } = await open()
  const first = await start()
  for (const [index, [agent, usage, price]] of runs.entries()) {
    const answer = await first.client.calls.open({ agent, task: `run ${index}` })
    expect([answer.output, answer.tokens_used]).toEqual(['done', usage.input + usage.output])
    expect(answer.cost_usd).toBeCloseTo(byHand(usage, price), 9)
    const { cost } = await first.client.calls.get(answer.call_id)
    expect(cost.usd).toBeCloseTo(byHand(usage, price), 9)
    expect(cost.unpricedTokens).toBe(0)
  }
  const unpriced = await first.client.calls.open({ agent: 'local', task: 'something else' })
  expect(unpriced.cost_usd).toBeUndefined()
  expect((await first.client.calls.get(unpriced.call_id)).cost).toMatchObject({ usd: null })

  const whole = runs.reduce((sum, [, usage, price]) => sum + byHand(usage, price), 0)
  const numbers = await first.client.numbers()
  expect(numbers.tokens.cost.usd).toBeCloseTo(whole, 8)
  expect(numbers.tokens.cost.unpricedTokens).toBe(unpriced.tokens_used)
  expect(numbers.models.map(({ name }) => name).toSorted()).toEqual([
    'anthropic/claude-sonnet-4-5',
    'google/gemini-2.5-pro',
    'local/qwen3',
    'openai/gpt-5',
  ])
  expect(numbers.days).toMatchObject([{ cost: { usd: numbers.tokens.cost.usd } }])
  expect(numbers.projects).toMatchObject([{ name: directory }])
  expect(numbers.prices).toMatchObject({ table: '@pydantic/genai-prices' })
  const metrics = await (await fetch(`${first.served.url}/metrics`)).text()
  expect(metrics).toMatch(/tieline_cost_usd_total\{agent="claude",by="table",plan="false"\} 0?\.?\d/)
  await first.served.close()

  // From the log alone, after a restart: nothing is priced again.
  const second = await start()
  const { flows } = await second.client.flows({ limit: 50 })
  expect(flows.reduce((sum, { cost }) => sum + (cost.usd ?? 0), 0)).toBeCloseTo(whole, 8)
  expect((await second.client.numbers()).tokens.cost).toEqual(numbers.tokens.cost)
  await second.served.close()
})
