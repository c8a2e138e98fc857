/** What a line is put together from: its configuration, the secrets it must not record, its tools. */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { driveAgents, sessionStep, type DrivenAgents, type DriverDeps } from './adapters/acp/drive.ts'
import { toolsByTitle } from './adapters/mcp/server-tools.ts'
import { createLauncher, type LauncherOptions, type OpenLauncher } from './adapters/sandbox/launcher.ts'
import { loadTokenizer } from './adapters/tokens/tokenizer.ts'
import { OptionsError } from './agents.ts'
import { loadConfig, type Config, type LoadedConfig } from './config.ts'
import type { ConfigSource } from './config-file.ts'
import { findPromptWarnings } from './config-problem.ts'
import type { Tool as OwnTool } from './define.ts'
import { isDriven } from './model/agent.ts'
import type { SessionId, TurnId } from './model/id.ts'
import { isRecord } from './model/json.ts'
import { isSecretField, secretValues } from './model/secret-shapes.ts'
import type { CountTokens } from './model/text.ts'
import type { Launcher } from './runtime/kernel/launch-port.ts'
import type { Clock, Tool, Tools } from './runtime/kernel/ports.ts'
import type { OpenStore } from './store/sqlite.ts'
import { configured, configuredTools, findSettingProblems, toolSettingsDefault } from './tools/configured.ts'
import { doorTools, standardTools } from './tools/standard.ts'
import { userDirectory } from './trust/config-text.ts'
import { version } from './version.ts'

export type ConfigOptions = {
  /** A path. */
  config?: string
  /** A configuration as it was read before; then nothing is read again, so that nobody can change it. */
  loaded?: LoadedConfig
}

/** Null where no file is named. Throws a ConfigError. */
export async function readConfig(
  { config: file, loaded }: ConfigOptions,
  warn: (text: string) => void,
): Promise<LoadedConfig | null> {
  if (loaded !== undefined) {
    const { config, warnings } = loaded
    for (const text of [...warnings, ...(await findPromptWarnings(config, loadTokenizer))]) warn(text)
    return loaded
  }
  if (file === undefined) return null
  const read = await loadConfig({ ...readSource(), file, loadTokenizer })
  read.warnings.forEach(warn)
  return read
}

export const readSource = (): ConfigSource => ({
  cwd: process.cwd(),
  env: process.env,
  home: homedir(),
})

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

type ToolConfig = Pick<Config, 'tools' | 'subagent'>

/** Our tools and those of the program, as the configuration leaves them. */
export const listTools = (
  count: CountTokens,
  config: ToolConfig | null,
  own: readonly OwnTool[],
  hidden: readonly string[] = [],
): readonly Tool[] =>
  configuredTools(gatherTools(count, config, own, hidden), config?.tools ?? toolSettingsDefault)

const gatherTools = (
  count: CountTokens,
  config: ToolConfig | null,
  own: readonly OwnTool[],
  hidden: readonly string[] = [],
): Tool[] => [
  ...standardTools(count, config?.subagent.artifactKinds ?? ['note', 'path', 'diff', 'json'], hidden),
  ...own,
]

/** Directories that are Tieline's own, as real paths: the log and its keys, views of mail, the user's settings. */
export const listOwnDirectories = (dataDir: string | undefined, config: Config | null): string[] =>
  [dataDir, config?.mail.directory, userDirectory(process.env, homedir())].flatMap((directory) => {
    if (directory === undefined || directory === ':memory:') return []
    const path = resolve(directory)
    return [existsSync(path) ? realpathSync.native(path) : path]
  })

export type Toolbox = {
  tools: Tools
  names: readonly string[]
  standard: readonly Tool[]
  close(): Promise<void>
}

type ToolboxParts = {
  count: CountTokens
  config: Config | null
  own: readonly OwnTool[]
  clock: Clock
  warn: (text: string) => void
  launcher: Launcher
  hidden: readonly string[]
  /** Where MCP servers are started. */
  cwd: string
}

/** MCP servers are started only for agents that have some. */
export function createToolbox({
  count,
  config,
  own,
  clock,
  warn,
  launcher,
  hidden,
  cwd,
}: ToolboxParts): Toolbox {
  const settings = config?.tools ?? toolSettingsDefault
  const wrong = findSettingProblems(gatherTools(count, config, own), settings, (name) =>
    (config?.agents ?? []).some(({ mcpServers }) =>
      Object.keys(mcpServers).some((server) => name.startsWith(`${server}_`)),
    ),
  )
  if (wrong.length > 0) throw new OptionsError(wrong.join('\n'))
  const standard = listTools(count, config, own, hidden)
  // A driven agent works on files with its own tools, under its own permissions.
  const offered = standard.filter(({ name }) => doorTools.includes(name))
  let loading: Promise<Tools & { close(): Promise<void> }> | null = null
  const servers = (): Promise<Tools & { close(): Promise<void> }> =>
    (loading ??= import('./adapters/mcp/tools.ts').then(({ mcpTools }) =>
      mcpTools({ clock, env: process.env, cwd, version, warn, launcher }),
    ))
  return {
    names: standard.map((tool) => tool.name),
    standard,
    tools: {
      of: async (agent, turn) =>
        isDriven(agent)
          ? offered
          : Object.keys(agent.mcpServers).length === 0
            ? standard
            : [
                ...standard,
                ...(await (await servers()).of(agent, turn)).map((tool) => configured(tool, settings)),
              ],
    },
    close: async () => (await loading)?.close(),
  }
}

/** The agents that are driven, with the processes of theirs that are open. */
export const openDriven = (
  deps: Pick<DriverDeps, 'launcher' | 'clock' | 'alarm' | 'count' | 'limits' | 'report'> & {
    options: { dataDir?: string; door?: LauncherOptions['door'] | undefined }
    config: Config | null
    store: OpenStore
  },
): { driven: DrivenAgents; continues: DriverDeps['continues'] } => {
  const { options, config, store } = deps
  const dataDir = options.dataDir ?? config?.server.dataDir ?? ':memory:'
  const continues: DriverDeps['continues'] = new Map()
  const driven = driveAgents({
    ...deps,
    continues,
    door: options.door ?? (() => null),
    around: {
      env: process.env,
      home: homedir(),
      dataDir: dataDir === ':memory:' ? null : resolve(dataDir),
    },
    version,
    titles: toolsByTitle,
    lastSession: (session, agent) => findAgentSession(store, session, agent),
  })
  return { driven, continues }
}

const pageSize = 500

/** What the agent itself called this session last, and in which turn it was asked. */
async function findAgentSession(
  store: OpenStore,
  session: SessionId,
  agent: string,
): Promise<{ id: string; turn: TurnId } | null> {
  let found: { id: string; turn: TurnId } | null = null
  for (let after = 0; ;) {
    const page = await store.read(after, { sessions: [session], types: ['step.ended'] }, pageSize)
    for (const { event } of page.events)
      if (event.type === 'step.ended' && event.name === sessionStep && event.turn !== null) {
        const { session: id, agent: of = agent } = isRecord(event.output) ? event.output : {}
        // Another agent may have taken its place for a turn.
        if (typeof id === 'string' && of === agent) found = { id, turn: event.turn }
      }
    if (!page.more) return found
    after = page.next
  }
}

/** Starts programs of agents as the configuration says. */
export const openLauncher = (
  options: ConfigOptions & { dataDir?: string; door?: LauncherOptions['door'] | undefined },
  config: Config | null,
  report: (fault: unknown) => void,
): OpenLauncher =>
  createLauncher({
    mode: config?.server.sandbox ?? 'auto',
    network: config?.sandbox.network ?? 'public',
    places: {
      home: homedir(),
      dataDir: options.dataDir ?? config?.server.dataDir ?? null,
      configuration: [
        userDirectory(process.env, homedir()),
        ...[options.config ?? options.loaded?.file ?? []].flat(),
      ],
      writable: config?.sandbox.writable ?? [],
      hidden: config?.sandbox.hidden ?? [],
    },
    door: options.door ?? (() => null),
    report,
  })
