import { describe, expect, it } from 'vitest'
import { Agent } from '../../model/agent.ts'
import { ProviderConfig, providerModels } from './providers.ts'

const agent = (model?: string): Agent => Agent.parse({ name: 'a', ...(model !== undefined && { model }) })

describe('providerModels', () => {
  it('finds providers by their usual key variables', async () => {
    const models = providerModels(
      {},
      { ANTHROPIC_API_KEY: 'k-a', OPENAI_API_KEY: 'k-o', GOOGLE_GENERATIVE_AI_API_KEY: 'k-g' },
    )
    expect(models.usable()).toEqual(['anthropic', 'openai', 'google'])
    for (const name of ['anthropic/x', 'openai/x', 'google/x'])
      expect((await models.model(agent(name))).modelId).toBe('x')
    expect(await models.model(agent('openai/x'))).toBe(await models.model(agent('openai/x')))
  })

  it('splits at the first slash, because names of models have slashes too', async () => {
    const models = providerModels(
      { router: { kind: 'openai-compatible', baseURL: 'http://127.0.0.1:1/v1' } },
      {},
    )
    expect((await models.model(agent('router/org/name'))).modelId).toBe('org/name')
  })

  it.each([
    [
      undefined,
      {},
      'agent "a" has no model: set model = "provider/model". ' +
        'No provider can be used: add [providers.NAME] or set ANTHROPIC_API_KEY',
    ],
    [
      'gpt',
      { OPENAI_API_KEY: 'k' },
      /has the model "gpt": set model = "provider\/model"\. Providers that can be used: openai\./,
    ],
    ['openai/', { OPENAI_API_KEY: 'k' }, /has the model "openai\/"/],
    [
      'google/gemini',
      {},
      /wants provider "google", which is not configured: set GOOGLE_GENERATIVE_AI_API_KEY/,
    ],
    ['mine/x', {}, /add \[providers\.mine\] with kind, baseURL and apiKeyEnv/],
    ['toString/x', {}, /wants provider "toString", which is not configured/],
  ])('says what to set for the model %s', async (model, env, words) => {
    await expect(providerModels({}, env).model(agent(model))).rejects.toThrow(words)
  })

  it('names the variable of a key that is missing, and looks again when it is set', async () => {
    const env: Record<string, string> = {}
    const models = providerModels({ mine: { kind: 'anthropic', apiKeyEnv: 'MY_KEY' } }, env)
    expect(models.usable()).toEqual([])
    await expect(models.model(agent('mine/x'))).rejects.toThrow(
      'provider "mine" needs a key: set the environment variable MY_KEY',
    )
    env['MY_KEY'] = 'secret-value'
    expect((await models.model(agent('mine/x'))).modelId).toBe('x')
    expect(models.redact('with secret-value in it')).toBe('with [redacted] in it')
  })

  it('wants a baseURL for openai-compatible providers', () => {
    expect(ProviderConfig.safeParse({ kind: 'openai-compatible' }).success).toBe(false)
    expect(ProviderConfig.safeParse({ kind: 'openai' }).success).toBe(true)
  })
})
