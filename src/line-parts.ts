/** What a line is put together from: its configuration, the secrets it must not record, its tools. */
import { homedir } from 'node:os'
import { loadTokenizer } from './adapters/tokens/tokenizer.ts'
import { OptionsError } from './agents.ts'
import { loadConfig, type Config } from './config.ts'
import type { Tool as OwnTool } from './define.ts'
import { findNearest } from './model/nearest.ts'
import { isSecretField, secretValues } from './model/secret-shapes.ts'
import type { CountTokens } from './model/text.ts'
import type { Clock, Tool, Tools } from './runtime/kernel/ports.ts'
import { configured, configuredTools, settingProblems, toolSettingsDefault } from './tools/configured.ts'
import { standardTools } from './tools/standard.ts'
import { version } from './version.ts'

/** Throws a ConfigError. */
export async function readConfig(file: string, warn: (text: string) => void): Promise<Config> {
  const { config, warnings } = await loadConfig({
    file,
    cwd: process.cwd(),
    env: process.env,
    home: homedir(),
    loadTokenizer,
  })
  warnings.forEach(warn)
  return config
}

/** Keys of providers, and what MCP servers are given under names of secrets. */
export function listSecrets(config: Config | null): string[] {
  const keys = Object.values(config?.providers ?? {}).flatMap((provider) =>
    provider.apiKeyEnv === undefined ? [] : [process.env[provider.apiKeyEnv] ?? ''],
  )
  const servers = (config?.agents ?? []).flatMap((agent) => Object.values(agent.mcpServers))
  const headers = servers.flatMap((server) =>
    'headers' in server ? Object.entries(server.headers ?? {}) : [],
  )
  return [
    ...keys,
    ...servers.flatMap((server) => ('env' in server ? secretValues(server.env ?? {}) : [])),
    ...headers.flatMap(([name, value]) =>
      isSecretField(name) ? [value.replace(/^(?:Bearer|Basic) /i, '')] : [],
    ),
  ]
}

/** Our tools and those of the program, as the configuration leaves them. */
export const listTools = (
  count: CountTokens,
  config: Config | null,
  own: readonly OwnTool[],
): readonly Tool[] => configuredTools(gatherTools(count, config, own), config?.tools ?? toolSettingsDefault)

const gatherTools = (count: CountTokens, config: Config | null, own: readonly OwnTool[]): Tool[] => [
  ...standardTools(count, config?.subagent.artifactKinds ?? ['note', 'path', 'diff', 'json']),
  ...own,
]

export type Toolbox = {
  tools: Tools
  names: readonly string[]
  standard: readonly Tool[]
  close(): Promise<void>
}

/** MCP servers are started only for agents that have some. */
export function createToolbox(
  count: CountTokens,
  config: Config | null,
  own: readonly OwnTool[],
  clock: Clock,
  warn: (text: string) => void,
): Toolbox {
  const settings = config?.tools ?? toolSettingsDefault
  const [wrong] = settingProblems(gatherTools(count, config, own), settings, (name) =>
    (config?.agents ?? []).some(({ mcpServers }) =>
      Object.keys(mcpServers).some((server) => name.startsWith(`${server}_`)),
    ),
  )
  if (wrong !== undefined)
    throw new OptionsError(`${wrong.path.join('.')}: unknown key; ${findNearest(wrong.given, wrong.known)}.`)
  const standard = listTools(count, config, own)
  let loading: Promise<Tools & { close(): Promise<void> }> | null = null
  const servers = (): Promise<Tools & { close(): Promise<void> }> =>
    (loading ??= import('./adapters/mcp/tools.ts').then(({ mcpTools }) =>
      mcpTools({ clock, env: process.env, cwd: process.cwd(), version, warn }),
    ))
  return {
    names: standard.map((tool) => tool.name),
    standard,
    tools: {
      of: async (agent) =>
        Object.keys(agent.mcpServers).length === 0
          ? standard
          : [...standard, ...(await (await servers()).of(agent)).map((tool) => configured(tool, settings))],
    },
    close: async () => (await loading)?.close(),
  }
}
