/**
 * Which models of the configuration their provider does not have. Providers list their models for nothing;
 * one that does not answer, or answers with something else, is left out.
 */
import type { Agent } from '../../model/agent.ts'
import { findNearest } from '../../model/nearest.ts'
import { boundedFetch } from '../../runtime/kernel/bounded-fetch.ts'
import { usualKeys } from '../../trust/describe-reach.ts'
import type { CommandInput } from '../command.ts'
import type { Place } from '../reach/place.ts'
import { actLater } from '../reach/wait.ts'

type Provider = Place['config']['providers'][string]
export type UnknownModel = { agent: string; model: string; says: string }

const answerMsMax = 2000
const answerBytesMax = 4 * 1024 * 1024

export const isOnThisMachine = (baseURL: string | undefined): boolean =>
  baseURL !== undefined &&
  URL.canParse(baseURL) &&
  /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(new URL(baseURL).hostname)

/** `localOnly`: asks only servers of this machine. */
export async function findUnknownModels(
  { agents, providers }: Place['config'],
  env: CommandInput['env'],
  { localOnly }: { localOnly: boolean },
): Promise<UnknownModel[]> {
  const wanted = Map.groupBy(
    agents.filter(({ driver, model }) => driver === 'model' && (model?.indexOf('/') ?? -1) > 0),
    ({ model }) => model?.split('/')[0] ?? '',
  )
  const found = await Promise.all(
    [...wanted].map(async ([name, users]) => {
      const provider = providers[name] ?? builtIn(name)
      if (provider === null || (localOnly && !isOnThisMachine(provider.baseURL))) return []
      const known = await listModels(provider, env)
      return known === null ? [] : users.flatMap((agent) => compare(name, agent, known))
    }),
  )
  return found.flat()
}

const builtIn = (name: string): Provider | null =>
  name === 'anthropic' || name === 'openai' || name === 'google' ? { kind: name } : null

function compare(
  provider: string,
  { name: agent, model = '' }: Agent,
  known: readonly string[],
): UnknownModel[] {
  const own = model.slice(provider.length + 1)
  // Ollama lists a model with its tag, and takes it without.
  if (known.some((one) => one === own || one === `${own}:latest`)) return []
  const says = `${provider} has no model "${own}"; ${findNearest(own, known.slice(0, namesMax))}`
  return [{ agent, model, says }]
}

/** R11: of those that are compared, and perhaps all named. */
const namesMax = 50

/** Null where it does not say. */
async function listModels(provider: Provider, env: CommandInput['env']): Promise<string[] | null> {
  const variable = provider.apiKeyEnv ?? usualKeys[provider.kind]
  const key = variable === undefined ? '' : (env[variable] ?? '')
  if (key === '' && !isOnThisMachine(provider.baseURL)) return null
  const over = new AbortController()
  actLater(answerMsMax, over.signal, () => over.abort())
  try {
    const ask = boundedFetch(
      { eventBytesMax: answerBytesMax, streamBytesMax: answerBytesMax, depthMax: 100 },
      (what) => new Error(what),
    )
    const { url, headers } = describeList(provider, key)
    const answer = await ask(url, { headers, signal: over.signal })
    return answer.ok ? readNames(await answer.json()) : null
  } catch {
    // It does not answer, or not with a list: then nothing can be said about its models.
    return null
  } finally {
    over.abort()
  }
}

function describeList(
  { kind, baseURL }: Provider,
  key: string,
): { url: string; headers: Record<string, string> } {
  const at = (usual: string): string =>
    baseURL?.endsWith('/') === true ? baseURL.slice(0, -1) : (baseURL ?? usual)
  if (kind === 'anthropic')
    return {
      url: `${at('https://api.anthropic.com/v1')}/models?limit=1000`,
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
    }
  if (kind === 'google')
    return {
      url: `${at('https://generativelanguage.googleapis.com/v1beta')}/models?pageSize=1000`,
      headers: { 'x-goog-api-key': key },
    }
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` }
  return { url: `${at('https://api.openai.com/v1')}/models`, headers }
}

/** `{ data: [{ id }] }`, or Google's `{ models: [{ name: "models/…" }] }`. An empty list says nothing. */
function readNames(answer: unknown): string[] | null {
  const { data, models } = (answer ?? {}) as { data?: unknown; models?: unknown }
  const list: unknown = Array.isArray(data) ? data : models
  if (!Array.isArray(list)) return null
  const names = list.flatMap((one: unknown) => {
    const { id, name } = (one ?? {}) as { id?: unknown; name?: unknown }
    const found = typeof id === 'string' ? id : typeof name === 'string' ? name.replace(/^models\//, '') : ''
    return found === '' ? [] : [found]
  })
  return names.length === 0 ? null : names
}
