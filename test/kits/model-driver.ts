/** The model driver against a fake provider, until the test is over. */
import { onTestFinished } from 'vitest'
import { modelDriver } from '../../src/adapters/model/drive.ts'
import { providerModels, Providers } from '../../src/adapters/model/providers.ts'
import type { TurnInput } from '../../src/runtime/kernel/ports.ts'
import { fakeModel, type FakeRule } from './fake-model.ts'
import { countWords, memorySteps, testClock, turnInput, type StepsOptions } from './turns.ts'

export const kinds = ['openai-compatible', 'openai', 'anthropic', 'google'] as const
export const secret = 'sk-test-0123456789abcdef'
const never = new AbortController().signal

type Setting = {
  kind?: (typeof kinds)[number]
  turn?: Partial<TurnInput> & { deadline?: number }
  steps?: StepsOptions
  signal?: AbortSignal
  stallMs?: number
  toolRoundsMax?: number
}

export async function start(rules: FakeRule[], setting: Setting = {}) {
  const { kind = 'openai-compatible', signal = never } = setting
  const fake = await fakeModel(
    rules,
    setting.toolRoundsMax === undefined ? {} : { toolRoundsMax: setting.toolRoundsMax },
  )
  onTestFinished(() => fake.close())
  const clock = testClock()
  const models = providerModels(Providers.parse({ p: { kind, baseURL: fake.url, apiKeyEnv: 'KEY' } }), {
    KEY: secret,
  })
  const driver = modelDriver({
    model: models.model,
    redact: models.redact,
    clock,
    count: countWords,
    ...(setting.stallMs !== undefined && { stallMs: setting.stallMs }),
  })
  const steps = memorySteps({ ...setting.steps, signal })
  const running = driver.run(turnInput({ model: 'p/fake', ...setting.turn }), steps, signal)
  return { running, steps, clock, fake }
}

export async function run(rules: FakeRule[], setting: Setting = {}) {
  const started = await start(rules, setting)
  return { ...started, outcome: await started.running }
}
