/** The agents of a configuration and of code, each with what runs it; and those that doors make. */
import { hash } from 'node:crypto'
import type { DrivenAgents } from './adapters/acp/drive.ts'
import { quirksOf } from './adapters/acp/program.ts'
import { modelDriver, readProvider, type ModelDriverSettings } from './adapters/model/drive.ts'
import { providerModels, type ProviderModels, type Providers } from './adapters/model/providers.ts'
import { demoAgent, pacedDemoAgent, pacedModel } from './adapters/scripted/demo-agent.ts'
import { scriptedDriver } from './adapters/scripted/drive.ts'
import { Script } from './adapters/scripted/script.ts'
import { findConfigProblems } from './config-problem.ts'
import type { Config } from './config.ts'
import type { AgentOptions } from './define.ts'
import { Agent, drivenDriver, isDriven } from './model/agent.ts'
import type { SessionId } from './model/id.ts'
import { findNearest } from './model/nearest.ts'
import type { CountTokens } from './model/text.ts'
import type { AgentMaker } from './runtime/sessions/agent-book.ts'
import type { Alarm } from './runtime/kernel/alarm.ts'
import type { Hindrance, LimitBook, ReportedLimit, ReportedWindow } from './runtime/kernel/driven-port.ts'
import type { Agents, Clock, Driver } from './runtime/kernel/ports.ts'
import type { Prices, PriceUsage } from './runtime/kernel/prices-port.ts'

/** A mistake in what was handed to `tieline()`. */
export class OptionsError extends Error {}

export type ModelSettings = ModelDriverSettings & {
  /** Providers that can be used now, by name. */
  usable: () => readonly string[]
  /** What stands in the way of a provider; null where it can be used. */
  hindrance: (provider: string) => Hindrance | null
}

export function modelSettings(
  providers: Providers,
  inCode: Record<string, AgentOptions>,
  clock: Clock,
  alarm: Alarm,
  count: CountTokens,
  prices: Prices | null,
  limits: LimitBook | null,
): ModelSettings {
  const models = providerModels(providers, process.env)
  return {
    clock,
    alarm,
    count,
    ...(limits === null ? {} : { limits: scopeLimits(limits, providers) }),
    usable: () => models.usable(),
    hindrance: (provider) => models.hindrance(provider),
    redact: (text) => models.redact(text),
    ...(prices === null ? {} : { price: priceAgents(prices, models, clock) }),
    model: async (agent) => inCode[agent.name]?.languageModel ?? models.model(agent),
  }
}

/** One for all agents of a provider: that of a project may have the name of another's, and an account of its own. */
function scopeLimits(limits: LimitBook, providers: Providers): NonNullable<ModelSettings['limits']> {
  // Every answer of a model asks for it, so it is made once for each.
  const made = new Map<string, string>()
  const identify = (name: string): string => {
    const known = made.get(name)
    if (known !== undefined) return known
    const settings = hash(
      'sha256',
      JSON.stringify(Object.hasOwn(providers, name) ? providers[name] : null),
      'hex',
    )
    const id = `${name} ${settings.slice(0, 12)}`
    made.set(name, id)
    return id
  }
  return {
    note: (name, why, leftMs) => limits.note(identify(name), why, leftMs),
    forget: (name) => limits.forget(identify(name)),
    find: (name) => limits.find(identify(name)),
    see: (name, windows) => limits.see(identify(name), windows),
    windows: (name) => limits.windows(identify(name)),
  }
}

/** Without a model of its own nothing is known to have a price. */
const priceAgents =
  (prices: Prices, models: Pick<ProviderModels, 'describe'>, clock: Clock) =>
  async ({ model: name }: Agent): Promise<PriceUsage> => {
    if (name === undefined) return (usage) => usage
    await prices.load()
    const of = { name, model: name.slice(name.indexOf('/') + 1), provider: models.describe(name) }
    return (usage) => {
      const cost = prices.price(of, usage, clock.now())
      return { ...usage, model: name, ...(cost === null ? {} : { cost }) }
    }
  }

export function createAgents(
  config: Pick<Config, 'agents' | 'scripts'> | null,
  inCode: Record<string, AgentOptions>,
  settings: ModelDriverSettings & Partial<Pick<ModelSettings, 'hindrance'>>,
  scripted: { clock: Clock; count: CountTokens },
  onHost: Driver,
  driven: Pick<DrivenAgents, 'driver' | 'whyUnavailable' | 'whyUnrestricted' | 'limitOf' | 'windowsOf'>,
): Agents {
  const agents = new Map<string, Agent>()
  const drivers = new Map<string, Driver>()
  const onModel = modelDriver(settings)
  for (const agent of config?.agents ?? []) {
    agents.set(agent.name, agent)
    drivers.set(
      agent.name,
      agent.driver === 'host'
        ? onHost
        : isDriven(agent)
          ? driven.driver
          : agent.driver === 'scripted'
            ? scriptedDriver(parseScript(agent.name, config?.scripts[agent.name] ?? []), scripted)
            : agent.driver === 'demo'
              ? scriptedDriver(demoAgent, scripted)
              : onModel,
    )
  }
  for (const [name, { driver, script, languageModel: _model, ...rest }] of Object.entries(inCode)) {
    const kind =
      typeof driver === 'object' ? 'own' : (driver ?? (script === undefined ? 'model' : 'scripted'))
    const given = {
      ...rest,
      ...(kind === drivenDriver ? { tools: rest.tools ?? ['*'] } : {}),
      name,
      driver: kind,
    }
    agents.set(name, parseAgent(name, given))
    drivers.set(
      name,
      typeof driver === 'object'
        ? driver
        : kind === 'model'
          ? onModel
          : kind === drivenDriver
            ? driven.driver
            : scriptedDriver(
                typeof script === 'function' ? script : parseScript(name, script ?? []),
                scripted,
              ),
    )
  }
  // One list: whoever keeps what follows from it knows by this that nothing has changed.
  const names = [...agents.keys()]
  return {
    get: (name) => agents.get(name),
    names: () => names,
    driver: (agent) => drivers.get(agent.name) ?? onModel,
    isMetered: (agent) => !isDriven(agent) || quirksOf(agent).usage !== 'none',
    limitOf: (agent) => (isDriven(agent) ? driven.limitOf(agent) : findLimit(agent, settings.limits)),
    windowsOf: (agent) => (isDriven(agent) ? driven.windowsOf(agent) : findWindows(agent, settings.limits)),
    whyUnrestricted: (agent) => driven.whyUnrestricted(agent),
    whyUnavailable: (agent) =>
      isDriven(agent)
        ? driven.whyUnavailable(agent)
        : findMissingKey(
            agent,
            inCode[agent.name]?.languageModel === undefined ? settings.hindrance : undefined,
          ),
  }
}

function parseAgent(name: string, given: object): Agent {
  const parsed = Agent.safeParse(given)
  if (parsed.success) return parsed.data
  throw new OptionsError(findConfigProblems(parsed.error, Agent, given, ['agents', name]).join('\n'))
}

const findLimit = (agent: Agent, limits: ModelSettings['limits']): ReportedLimit | null =>
  agent.driver === 'model' ? (limits?.find(readProvider(agent)) ?? null) : null

const findWindows = (agent: Agent, limits: ModelSettings['limits']): readonly ReportedWindow[] =>
  agent.driver === 'model' ? (limits?.windows(readProvider(agent)) ?? []) : []

/** Without `hindrance` nothing is known against any provider. */
function findMissingKey(
  { driver, model }: Agent,
  hindrance: ModelSettings['hindrance'] | undefined,
): Hindrance | null {
  const provider = model?.split('/')[0]
  return driver !== 'model' || provider === undefined ? null : (hindrance?.(provider) ?? null)
}

/**
 * Throws where an agent names a tool that does not exist, which it would otherwise just never get. Tools of MCP
 * servers begin with the name of their server.
 */
export function checkTools(agents: Agents, names: readonly string[]): void {
  for (const agent of agents
    .names()
    .map((name) => agents.get(name))
    .filter((found) => found !== undefined)) {
    const servers = Object.keys(agent.mcpServers)
    const wrong = agent.tools.flatMap((tool, at) =>
      tool.endsWith('*') || names.includes(tool) || servers.some((server) => tool.startsWith(`${server}_`))
        ? []
        : [`agents.${agent.name}.tools[${at}]: there is no tool "${tool}"; ${findNearest(tool, names)}.`],
    )
    if (wrong.length > 0) throw new OptionsError(wrong.join('\n'))
  }
}

function parseScript(agent: string, given: unknown): Script {
  const parsed = Script.safeParse(given)
  if (!parsed.success)
    throw new OptionsError(
      findConfigProblems(parsed.error, Script, given, ['agents', agent, 'script']).join('\n'),
    )
  return parsed.data
}

/**
 * Agents that doors make run on their model where its provider is there, else on the model of the first
 * configured agent, else on the built-in offline demo agent; on that in any case where it is asked for by
 * name.
 */
export function agentMaker(
  configured: Agents,
  settings: ModelDriverSettings,
  scripted: { clock: Clock; count: CountTokens },
  usable: () => readonly string[],
  hosted: { driver: Driver; isThere(session: SessionId): boolean },
): AgentMaker {
  const hasProvider = (model: string): boolean => usable().includes(model.split('/')[0] ?? '')
  const onModel = modelDriver(settings)
  const onDemo = scriptedDriver(demoAgent, scripted)
  const onPacedDemo = scriptedDriver(pacedDemoAgent(scripted.clock), scripted)
  const findFallback = (): string | undefined =>
    configured
      .names()
      .map((name) => configured.get(name))
      .find((agent) => agent?.driver === 'model' && agent.model !== undefined && hasProvider(agent.model))
      ?.model
  return {
    define(id, { title, description, prompt, model, tools, driver }) {
      const runs = model !== null && hasProvider(model) ? model : findFallback()
      const how =
        driver === 'host'
          ? { driver }
          : model === pacedModel
            ? { driver: 'demo', model }
            : runs === undefined
              ? { driver: 'demo' }
              : { driver: 'model', model: runs }
      return Agent.parse({ name: id, title, description, prompt, ...how, tools, allowSubAgentCalls: true })
    },
    driver: (agent) =>
      agent.driver === 'host'
        ? hosted.driver
        : agent.driver === 'demo'
          ? agent.model === pacedModel
            ? onPacedDemo
            : onDemo
          : onModel,
    isThere: (agent, session) => agent.driver !== 'host' || hosted.isThere(session),
  }
}
