/** What `tieline doctor` checks of agents: their keys, scripts, tools and model servers. */
import { connect } from 'node:net'
import { homedir } from 'node:os'
import { describeError } from '../../client/tieline-error.ts'
import { whyUnavailable } from '../../adapters/acp/program.ts'
import { drivenDriver, isDriven, type Agent } from '../../model/agent.ts'
import { fullAuthority, mayUse } from '../../model/authority.ts'
import { findNearest } from '../../model/nearest.ts'
import type { CommandInput } from '../command.ts'
import type { Finding } from '../commands/doctor.ts'
import type { Place } from '../reach/place.ts'
import { actLater } from '../reach/wait.ts'
import { findUnknownModels, isOnThisMachine } from './model-names.ts'
import { usualKeys } from '../../trust/describe-reach.ts'

type Env = CommandInput['env']
type Providers = Place['config']['providers']

export const ok = (what: string, says: string): Finding => ({ what, state: 'ok', says, todo: null })
const createFinding =
  (state: 'warning' | 'problem') =>
  (what: string, says: string, todo: string): Finding => ({ what, state, says, todo })
export const warning = createFinding('warning')
export const problem = createFinding('problem')

/** The variable that has a provider's key; null where it needs none, undefined for an unknown provider. */
function findKeyVariable(name: string, providers: Providers): string | null | undefined {
  const provider = providers[name]
  if (provider === undefined) return usualKeys[name]
  return provider.apiKeyEnv ?? usualKeys[provider.kind] ?? null
}

const isSet = (env: Env, variable: string): boolean => (env[variable] ?? '') !== ''

export function checkKeys({ config: { providers } }: Place, env: Env): Finding[] {
  const names = [...Object.keys(providers), ...Object.keys(usualKeys)]
  const variables = new Set(names.flatMap((name) => findKeyVariable(name, providers) ?? []))
  const set = [...variables].filter((variable) => isSet(env, variable))
  const missing = Object.keys(providers).flatMap((name) => {
    const variable = findKeyVariable(name, providers)
    if (variable == null || isSet(env, variable)) return []
    const todo = `Set ${variable} where the server is started.`
    return [warning('keys', `providers.${name}: ${variable} is not set`, todo)]
  })
  return [ok('keys', set.length === 0 ? 'none are set' : `set: ${set.join(', ')}`), ...missing]
}

/** Finds what otherwise shows only at the start, such as wrong tools. Nothing is run or written. */
export async function checkAgents(place: Place, env: Env): Promise<Finding[]> {
  if (place.file === null) return []
  const { openLine } = await import('../../open-line.ts')
  try {
    await (await openLine({ loaded: place, dataDir: ':memory:', onWarning: () => undefined })).close()
  } catch (error) {
    return [problem('agents', describeError(error), 'Correct this in the configuration.')]
  }
  const { agents, scripts, providers } = place.config
  return [
    ...agents.map(
      (agent) =>
        checkDriven(agent, { env, home: homedir(), dataDir: place.dataDir }) ??
        checkAgent(agent, providers, env, scripts[agent.name]),
    ),
    ...(await checkProviders(place.config)),
    ...(await checkModels(place.config, env)),
  ]
}

/** Null for agents that are not driven. Nothing is started: that is what "tieline up" does. */
export function checkDriven(agent: Agent, around: Parameters<typeof whyUnavailable>[1]): Finding | null {
  if (!isDriven(agent)) return null
  const missing = whyUnavailable(agent, around)
  const runs = `${agent.name}: ${agent.preset ?? agent.command?.[0] ?? drivenDriver}`
  return missing === null
    ? ok('agents', `${runs}, driven here`)
    : problem('agents', `${runs} cannot be called: ${missing.why}`, `To cure it: ${missing.cure}.`)
}

export function checkAgent(agent: Agent, providers: Providers, env: Env, script?: unknown): Finding {
  const { name, driver, model } = agent
  const setModel = `Set agents.${name}.model = "provider/model".`
  if (driver === 'scripted') return checkScript(agent, script)
  if (driver === 'host')
    return warning(
      'agents',
      `${name}: host, so a program must connect as this agent`,
      `Start the program that runs ${name}; until it is connected, calls wait for it until their deadline.`,
    )
  if (driver !== 'model') return ok('agents', `${name}: ${driver}`)
  if (model === undefined) return problem('agents', `${name} has no model`, setModel)
  const at = model.indexOf('/')
  if (at <= 0 || at === model.length - 1)
    return problem('agents', `${name}: the model "${model}" names no provider`, setModel)
  const provider = model.slice(0, at)
  const variable = findKeyVariable(provider, providers)
  if (variable === undefined) {
    const known = [...Object.keys(providers), ...Object.keys(usualKeys)].join(', ')
    const todo = `Add [providers.${provider}], or use one of ${known}.`
    return problem('agents', `${name}: there is no provider "${provider}"`, todo)
  }
  if (variable !== null && !isSet(env, variable)) {
    const todo = `Set ${variable} where the server is started.`
    return problem('agents', `${name}: ${model} needs a key`, todo)
  }
  return ok('agents', `${name}: ${model}`)
}

/** The configuration checks the rules; whether the agent has their tools would show only when it runs. */
function checkScript({ name, tools: allowed }: Agent, script: unknown): Finding {
  const rules = Array.isArray(script) ? (script as { tools?: { name: string }[] }[]) : []
  if (rules.length === 0)
    return problem(
      'agents',
      `${name}: scripted, without a script: every task fails`,
      `Add a rule: [[agents.${name}.script]] with say = "…".`,
    )
  const used = rules.flatMap(({ tools = [] }) => tools.map((tool) => tool.name))
  const wrong = used.find((tool) => !mayUse(fullAuthority, allowed, tool))
  if (wrong === undefined) return ok('agents', `${name}: scripted`)
  const nearest = allowed.length === 0 ? 'it has no tools' : findNearest(wrong, allowed)
  return problem(
    'agents',
    `${name}: its script uses the tool "${wrong}", which it does not have; ${nearest}`,
    `Correct the name in agents.${name}.script, or add the tool to agents.${name}.tools.`,
  )
}

/**
 * Checks model servers on this machine, which are often not started.
 */
async function checkProviders({ agents, providers }: Place['config']): Promise<Finding[]> {
  const found = await Promise.all(
    Object.entries(providers).map(async ([name, { baseURL }]): Promise<Finding[]> => {
      if (baseURL === undefined || !isOnThisMachine(baseURL)) return []
      if (await isAnswering(new URL(baseURL)))
        return [ok('providers', `${name}: something listens at ${baseURL}`)]
      const isUsed = agents.some(({ model }) => model?.startsWith(`${name}/`) === true)
      const servers = 'Ollama, llama.cpp, vLLM, …'
      return [
        (isUsed ? problem : warning)(
          'providers',
          `${name}: nothing listens at ${baseURL}`,
          `Start the server of the models there (${servers}), or correct providers.${name}.baseURL.`,
        ),
      ]
    }),
  )
  return found.flat()
}

/** What a provider does not have fails only when the agent runs. Some servers take any name, so it is a warning. */
async function checkModels(config: Place['config'], env: Env): Promise<Finding[]> {
  const unknown = await findUnknownModels(config, env, { localOnly: false })
  return unknown.map(({ agent, says }) =>
    warning('agents', `${agent}: ${says}`, `Correct agents.${agent}.model, or load that model there.`),
  )
}

const answerMsMax = 1000

async function isAnswering({ hostname, port, protocol }: URL): Promise<boolean> {
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  const over = new AbortController()
  actLater(answerMsMax, over.signal, () => resolve(false))
  const answers = await promise
  over.abort()
  socket.destroy()
  return answers
}
