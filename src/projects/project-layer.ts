/** What one configuration gives: its agents with what runs them, its models, its tools, its limits. */
import { modelSummarise } from '../adapters/model/summarise.ts'
import { checkTools, createAgents, modelSettings, type ModelSettings } from '../agents.ts'
import type { Config } from '../config.ts'
import type { AgentOptions, Tool as OwnTool } from '../define.ts'
import { createToolbox, type Toolbox } from '../line-parts.ts'
import { Limits } from '../model/limits.ts'
import type { CountTokens } from '../model/text.ts'
import type { Alarm } from '../runtime/kernel/alarm.ts'
import type { LimitBook } from '../runtime/kernel/driven-port.ts'
import type { Launcher } from '../runtime/kernel/launch-port.ts'
import type { Agents, Clock, Driver, Summarise } from '../runtime/kernel/ports.ts'
import type { Prices } from '../runtime/kernel/prices-port.ts'

export type LayerParts = {
  clock: Clock
  alarm: Alarm
  count: CountTokens
  launcher: Launcher
  /** Null where no request is made. Not a project's own: the limits of its user count in money too. */
  prices: Prices | null
  /** Null where no request is made. */
  limitBook: LimitBook | null
  onHost: Driver
  /** What runs agents that keep their own loop. */
  driven: Parameters<typeof createAgents>[5]
  /** Tools of the program. */
  own: readonly OwnTool[]
  /** Tieline's own directories, which tools leave alone. */
  hidden: readonly string[]
  /** What the program says in place of any file. */
  limits: Partial<Limits>
  subagent: string | null
  warn: (text: string) => void
}

export type Layer = {
  agents: Agents
  settings: ModelSettings
  toolbox: Toolbox
  limits: Limits
  summarise: Summarise
  subagent: string | null
  artifactKinds: readonly string[]
}

export type LayerSource = {
  config: Config | null
  inCode: Record<string, AgentOptions>
  /** Of the configuration below it: a project's agents may run on the user's models. */
  providers: Config['providers']
  /** Where its MCP servers are started. */
  cwd: string
}

const kindsDefault = ['note', 'path', 'diff', 'json'] as const

/** Throws an OptionsError for what only shows when the parts are put together. */
export function makeLayer({ config, inCode, providers, cwd }: LayerSource, parts: LayerParts): Layer {
  const { clock, alarm, count, own, hidden, warn, launcher } = parts
  const settings = modelSettings(
    { ...providers, ...config?.providers },
    inCode,
    clock,
    alarm,
    count,
    parts.prices,
    parts.limitBook,
  )
  const agents = createAgents(config, inCode, settings, { clock, count }, parts.onHost, parts.driven)
  const toolbox = createToolbox({ count, config, own, clock, warn, launcher, hidden, cwd })
  checkTools(agents, toolbox.names)
  return {
    agents,
    settings,
    toolbox,
    limits: Limits.parse({ ...config?.limits, ...parts.limits }),
    summarise: async (agent, ...rest) =>
      agent.driver === 'model' ? modelSummarise(settings)(agent, ...rest) : null,
    subagent: parts.subagent ?? config?.subagent.agent ?? null,
    artifactKinds: config?.subagent.artifactKinds ?? kindsDefault,
  }
}
