/**
 * From `provider/model` to a model: configured providers, and those whose usual key variable is set. Each
 * package is loaded when it is first needed.
 */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { z } from 'zod'
import type { Agent } from '../../model/agent.ts'
import { boundedFetch, type AnswerLimits } from '../../runtime/kernel/bounded-fetch.ts'
import { redactor } from './describe-broken.ts'
import { BadStream } from './receive.ts'

const kinds = ['anthropic', 'openai', 'google', 'openai-compatible'] as const

export const ProviderConfig = z
  .strictObject({ kind: z.enum(kinds), baseURL: z.url().optional(), apiKeyEnv: z.string().min(1).optional() })
  .refine((provider) => provider.kind !== 'openai-compatible' || provider.baseURL !== undefined, {
    path: ['baseURL'],
    message: 'a baseURL, which openai-compatible providers need',
  })
export type ProviderConfig = z.infer<typeof ProviderConfig>

export const Providers = z.record(
  z.string().regex(/^[^/\s]+$/, 'a name without "/" and blanks'),
  ProviderConfig,
)
export type Providers = z.infer<typeof Providers>

const usualKeys = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
} as const

export type ProviderModels = {
  /** Rejects with words that name what to set. */
  model: (agent: Agent) => Promise<LanguageModelV4>
  /** Providers that can be used now, by name. */
  usable: () => string[]
  /** Why a provider cannot be used now, and what a person can do about it; null where it can. */
  hindrance: (name: string) => { why: string; cure: string } | null
  /** The kind and address of the provider of a model; null where there is none. */
  describe: (model: string) => Pick<ProviderConfig, 'kind' | 'baseURL'> | null
  /** Takes the providers' keys out of a text. */
  redact: (text: string) => string
}

/** R11: models are kept by name; agents can be made by API with any name. */
const modelsMax = 256

export function providerModels(
  configured: Providers,
  env: Readonly<Record<string, string | undefined>>,
): ProviderModels {
  const providers: Providers = { ...withUsualKeys(env), ...configured }
  const models = new Map<string, Promise<LanguageModelV4>>()
  const usable = (): string[] =>
    Object.keys(providers).filter((name) => missingKey(providers[name], env) === null)
  const secrets = (): string[] => Object.values(providers).flatMap((provider) => findKey(provider, env) ?? [])

  const load = async (agent: Agent): Promise<LanguageModelV4> => {
    const known =
      usable().length > 0
        ? `Providers that can be used: ${usable().join(', ')}.`
        : `No provider can be used: add [providers.NAME] or set ${Object.values(usualKeys).join(' or ')}.`
    const { name, model } = split(agent, known)
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined
    if (provider === undefined)
      throw new Error(
        `agent "${agent.name}" wants provider "${name}", which is not configured: ${howToAdd(name)}. ${known}`,
      )
    const missing = missingKey(provider, env)
    if (missing !== null)
      throw new Error(`provider "${name}" needs a key: set the environment variable ${missing}`)
    return create(name, provider, model, findKey(provider, env))
  }

  return {
    usable,
    hindrance(name) {
      const provider = Object.hasOwn(providers, name) ? providers[name] : undefined
      const variable = provider === undefined && isUsual(name) ? usualKeys[name] : missingKey(provider, env)
      if (variable !== null)
        return {
          why: `the server does not have the variable ${variable}, the key of its provider "${name}"`,
          cure: `set ${variable}, end the server with "tieline stop", and start it from that shell`,
        }
      return provider === undefined
        ? { why: `its provider "${name}" is not configured`, cure: howToAdd(name) }
        : null
    },
    describe: (model) => {
      const name = model.split('/')[0] ?? ''
      return Object.hasOwn(providers, name) ? (providers[name] ?? null) : null
    },
    redact: redactor(secrets),
    model(agent) {
      const known = agent.model === undefined ? undefined : models.get(agent.model)
      if (known !== undefined) return known
      const loading = load(agent)
      if (agent.model !== undefined) {
        const wanted = agent.model
        if (models.size >= modelsMax) models.clear()
        models.set(wanted, loading)
        // A failure is not kept: the key may be set, or the package installed, before the next try.
        loading.catch(() => models.delete(wanted))
      }
      return loading
    },
  }
}

function split(agent: Agent, known: string): { name: string; model: string } {
  const at = agent.model?.indexOf('/') ?? -1
  if (agent.model === undefined || at <= 0 || at === agent.model.length - 1) {
    const given = agent.model === undefined ? 'has no model' : `has the model "${agent.model}"`
    throw new Error(`agent "${agent.name}" ${given}: set model = "provider/model". ${known}`)
  }
  return { name: agent.model.slice(0, at), model: agent.model.slice(at + 1) }
}

const isUsual = (name: string): name is keyof typeof usualKeys => Object.hasOwn(usualKeys, name)
const howToAdd = (name: string): string =>
  isUsual(name) ? `set ${usualKeys[name]}` : `add [providers.${name}] with kind, baseURL and apiKeyEnv`

function withUsualKeys(env: Readonly<Record<string, string | undefined>>): Providers {
  const found: Providers = {}
  for (const kind of ['anthropic', 'openai', 'google'] as const)
    if ((env[usualKeys[kind]] ?? '') !== '') found[kind] = { kind }
  return found
}

const keyVariable = (provider: ProviderConfig): string | null =>
  provider.apiKeyEnv ?? (provider.kind === 'openai-compatible' ? null : usualKeys[provider.kind])

function findKey(
  provider: ProviderConfig,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const variable = keyVariable(provider)
  return variable === null || env[variable] === '' ? undefined : env[variable]
}

function missingKey(
  provider: ProviderConfig | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  if (provider === undefined) return null
  const variable = keyVariable(provider)
  return variable === null || findKey(provider, env) !== undefined ? null : variable
}

/**
 * An event holds at most a whole answer, and such an event is parsed at once, and written into a message where
 * it is not what was expected: 512 KiB take some 15 ms, and are more than any model answers with. A stream may
 * say it in pieces of a few letters each.
 */
export const providerLimits: AnswerLimits = {
  eventBytesMax: 512 * 1024,
  streamBytesMax: 256 * 1024 * 1024,
  depthMax: 100,
}
const providerFetch = boundedFetch(providerLimits, (what) => new BadStream('garbage', what))

async function create(
  name: string,
  provider: ProviderConfig,
  model: string,
  apiKey: string | undefined,
): Promise<LanguageModelV4> {
  const settings = {
    fetch: providerFetch,
    ...(provider.baseURL !== undefined && { baseURL: provider.baseURL }),
    ...(apiKey !== undefined && { apiKey }),
  }
  switch (provider.kind) {
    case 'anthropic': {
      const { createAnthropic } = await packages.anthropic()
      return createAnthropic(settings).languageModel(model)
    }
    case 'openai': {
      const { createOpenAI } = await packages.openai()
      return createOpenAI(settings).languageModel(model)
    }
    case 'google': {
      const { createGoogle } = await packages.google()
      return createGoogle(settings).languageModel(model)
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await packages['openai-compatible']()
      return createOpenAICompatible({
        name,
        ...settings,
        baseURL: provider.baseURL ?? '',
        includeUsage: true,
      }).languageModel(model)
    }
  }
}

const packages = {
  anthropic: () => import('@ai-sdk/anthropic'),
  openai: () => import('@ai-sdk/openai'),
  google: () => import('@ai-sdk/google'),
  'openai-compatible': () => import('@ai-sdk/openai-compatible'),
}

/**
 * What loads the packages of the models that these agents use, each once. The first takes some 50 ms, in which
 * nothing else is done: whoever has time loads them before a request needs them.
 */
export function listPackages(
  agents: readonly Agent[],
  configured: Providers,
  env: Readonly<Record<string, string | undefined>>,
): (() => Promise<unknown>)[] {
  const providers: Providers = { ...withUsualKeys(env), ...configured }
  const names = agents.flatMap(({ model }) => model?.split('/')[0] ?? [])
  const used = names.flatMap((name) => (Object.hasOwn(providers, name) ? (providers[name]?.kind ?? []) : []))
  return Array.from(new Set(used), (kind) => packages[kind])
}
