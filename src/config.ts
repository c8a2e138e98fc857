/**
 * The configuration: found, read, checked as a whole, and completed from the environment. Every problem is
 * told at once, each with its key.
 */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { parse as parseToml, TomlError } from 'smol-toml'
import { z } from 'zod'
import { problem, findConfigProblems } from './config-problem.ts'
import { Agent, AgentName, externalAgent } from './model/agent.ts'
import { allowsTool } from './model/authority.ts'
import { Json } from './model/json.ts'
import { Limits } from './model/limits.ts'
import { findNearest } from './model/nearest.ts'
import type { CountTokens } from './model/text.ts'

const driversHere = ['model', 'scripted', 'host']
const driversPlanned = ['acp', 'opencode', 'a2a']
/** Providers that need no section: they are there as soon as their usual key variable is set. */
const providersBuiltIn = ['anthropic', 'openai', 'google']
const promptTokensMax = 3000

const Server = z.strictObject({
  port: z.number().int().min(0).max(65_535).default(8283),
  host: z.string().min(1).default('127.0.0.1'),
  dataDir: z.string().min(1).default('~/.local/share/tieline'),
  auth: z.enum(['auto', 'on', 'off']).default('auto'),
})

export const Provider = z.strictObject({
  kind: z.enum(['anthropic', 'openai', 'google', 'openai-compatible']),
  baseURL: z.url().optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable, never the key itself,')
    .optional(),
})
export type Provider = z.infer<typeof Provider>

const ProviderName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'letters, digits, "_", "-" and "."')

/**
 * An agent as it is written: without its name, with the two older spellings, and with the rules of a scripted
 * one, which its driver reads.
 */
const AgentEntry = Agent.omit({ name: true }).extend({
  allowSubAgentCalls: z.boolean().optional(),
  maxDepth: z.number().int().min(0).optional(),
  allow_sub_agent_calls: z.boolean().optional(),
  max_sub_agent_depth: z.number().int().min(0).optional(),
  script: z.unknown().optional(),
})
type AgentEntry = z.infer<typeof AgentEntry>

const ToolParameters = z.record(z.string(), z.record(z.string(), Json))

export const ConfigFile = z.strictObject({
  server: Server.prefault({}),
  providers: z.record(ProviderName, Provider).default({}),
  agents: z.record(AgentName, AgentEntry).default({}),
  limits: Limits.prefault({}),
  subagent: z
    .strictObject({
      agent: z.string().min(1).optional(),
      artifactKinds: z
        .array(z.enum(['note', 'path', 'diff', 'json']))
        .default(['note', 'path', 'diff', 'json']),
    })
    .prefault({}),
  tools: z
    .strictObject({
      enable: z
        .union([z.boolean(), z.array(z.string().min(1))])
        .transform((enable) => (enable === true ? ['*'] : enable === false ? [] : enable))
        .default(['*']),
      defaults: ToolParameters.default({}),
      locked: ToolParameters.default({}),
    })
    .prefault({}),
  mail: z
    .strictObject({
      storage: z.enum(['sqlite', 'agentfs', 'files']).default('sqlite'),
      directory: z.string().min(1).default('~/.local/share/opencode/storage/call-response'),
      cdc: z.boolean().default(true),
    })
    .prefault({}),
  tracing: z.strictObject({ enable: z.boolean().default(true) }).prefault({}),
})

/** `scripts` has what `script` said of each scripted agent, unread. */
export type Config = Omit<z.infer<typeof ConfigFile>, 'agents'> & {
  agents: Agent[]
  scripts: Record<string, unknown>
}

/** `token` comes from the environment only: secrets have no place in the file. */
export type LoadedConfig = {
  config: Config
  file: string | null
  /** Of what stands in the file, so that a change of it is noticed. */
  digest: string | null
  token: string | null
  warnings: string[]
}

export type ConfigSource = {
  /** Named by a flag; it wins over TIELINE_CONFIG, and must exist. */
  file?: string | undefined
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  home: string
  /** Loaded only if a prompt is long enough to need counting. */
  loadTokenizer?: () => Promise<CountTokens>
}

/** The message has one line for each problem. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(place: string, problems: readonly string[], options?: ErrorOptions) {
    super(problems.map((text) => `${place}: ${text}`).join('\n'), options)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** Throws a ConfigError. With no file at all it gives the defaults. */
export async function loadConfig(source: ConfigSource): Promise<LoadedConfig> {
  const found = await findFile(source)
  const place = found?.path ?? 'environment'
  const raw = withMailStorage(found === null ? {} : parseFile(found.path, found.text), source.env)
  const parsed = parseConfig(raw)
  if (Array.isArray(parsed)) throw new ConfigError(place, parsed)
  const config = withEnvironment(parsed, found === null ? source.cwd : dirname(found.path), source)
  const problems = crossProblems(config)
  if (problems.length > 0) throw new ConfigError(place, problems)
  const warnings = [
    ...(found?.warnings ?? []),
    ...serverWarnings(config),
    ...(await promptWarnings(config, source.loadTokenizer)),
  ]
  return {
    config,
    file: found?.path ?? null,
    digest: found === null ? null : hash('sha256', found.text, 'base64url'),
    token: textOf(source.env['TIELINE_TOKEN']) ?? null,
    warnings,
  }
}

/** What the OpenCode plugin starts keeps mail as AgentFS databases too, unless the file says otherwise. */
function withMailStorage(raw: unknown, env: ConfigSource['env']): unknown {
  const mail = isTable(raw) ? (raw['mail'] ?? {}) : null
  return env['TIELINE_STARTED_BY'] !== 'opencode' || !isTable(mail) || mail['storage'] !== undefined
    ? raw
    : { ...(raw as object), mail: { ...mail, storage: 'agentfs' } }
}

type FoundFile = { path: string; text: string; warnings: string[] }

async function findFile({ file, cwd, env, home }: ConfigSource): Promise<FoundFile | null> {
  const named = textOf(file) ?? textOf(env['TIELINE_CONFIG'])
  if (named !== undefined) {
    const path = absolute(named, cwd, home)
    const text = await readIfThere(path)
    if (text === null)
      throw new ConfigError(path, [
        `there is no such file; ${textOf(file) === undefined ? 'TIELINE_CONFIG' : '--config'} must name one.`,
      ])
    return { path, text, warnings: [] }
  }
  for (const directory of [cwd, join(textOf(env['XDG_CONFIG_HOME']) ?? join(home, '.config'), 'tieline')]) {
    const [toml, json] = [join(directory, 'tieline.toml'), join(directory, 'tieline.json')]
    const [tomlText, jsonText] = await Promise.all([readIfThere(toml), readIfThere(json)])
    if (tomlText !== null)
      return {
        path: toml,
        text: tomlText,
        warnings: jsonText === null ? [] : [`${json} is not read, because ${toml} is there too.`],
      }
    if (jsonText !== null) return { path: json, text: jsonText, warnings: [] }
  }
  return null
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new ConfigError(
      path,
      [`it cannot be read: ${error instanceof Error ? error.message : String(error)}`],
      { cause: error },
    )
  }
}

function parseFile(path: string, text: string): unknown {
  try {
    return path.endsWith('.json') ? JSON.parse(text) : parseToml(text)
  } catch (error) {
    if (error instanceof TomlError)
      throw new ConfigError(`${path}:${error.line}:${error.column}`, [error.message.trimEnd()], {
        cause: error,
      })
    throw new ConfigError(
      path,
      [`this is not JSON: ${error instanceof Error ? error.message : String(error)}`],
      { cause: error },
    )
  }
}

/** A list of problems, or the configuration. */
function parseConfig(raw: unknown): string[] | Config {
  const { rest, problems } = withoutAbsentDrivers(raw)
  const parsed = ConfigFile.safeParse(rest)
  if (!parsed.success) return [...problems, ...findConfigProblems(parsed.error, ConfigFile, rest, [])]
  const entries = Object.entries(parsed.data.agents)
  problems.push(...entries.flatMap(([name, entry]) => entryProblems(name, entry)))
  if (problems.length > 0) return problems
  const scripts = Object.fromEntries(
    entries.flatMap(([name, entry]) => (entry.script === undefined ? [] : [[name, entry.script]])),
  )
  return { ...parsed.data, agents: entries.map(([name, entry]) => agentOf(name, entry)), scripts }
}

/**
 * An agent whose driver is not here gets that one problem: its other keys belong to a schema that this
 * version does not have.
 */
function withoutAbsentDrivers(raw: unknown): { rest: unknown; problems: string[] } {
  if (!isTable(raw) || !isTable(raw['agents'])) return { rest: raw, problems: [] }
  const problems: string[] = []
  const agents = Object.entries(raw['agents']).filter(([name, entry]) => {
    const driver = isTable(entry) ? entry['driver'] : undefined
    if (typeof driver !== 'string' || driversHere.includes(driver)) return true
    const planned = driversPlanned.includes(driver)
    problems.push(
      planned
        ? `agents.${name}.driver: this version does not have the driver "${driver}" yet; it has ${driversHere.join(', ')}.`
        : `agents.${name}.driver: there is no driver "${driver}"; ${findNearest(driver, driversHere)}.`,
    )
    return false
  })
  return { rest: { ...raw, agents: Object.fromEntries(agents) }, problems }
}

function entryProblems(name: string, entry: AgentEntry): string[] {
  const problems: string[] = []
  const twice = (ours: string, older: string): string =>
    `agents.${name}.${older}: ${ours} says the same and is given too; keep one of them.`
  if (name === externalAgent.name)
    problems.push(
      `agents.${name}: this name is taken by the built-in agent for clients outside; choose another.`,
    )
  if (entry.allowSubAgentCalls !== undefined && entry.allow_sub_agent_calls !== undefined)
    problems.push(twice('allowSubAgentCalls', 'allow_sub_agent_calls'))
  if (entry.maxDepth !== undefined && entry.max_sub_agent_depth !== undefined)
    problems.push(twice('maxDepth', 'max_sub_agent_depth'))
  if (entry.script !== undefined && entry.driver !== 'scripted')
    problems.push(
      `agents.${name}.script: only the driver "scripted" has a script, and this one is "${entry.driver}".`,
    )
  return problems
}

function agentOf(name: string, entry: AgentEntry): Agent {
  const {
    allow_sub_agent_calls,
    max_sub_agent_depth,
    allowSubAgentCalls,
    maxDepth,
    script: _script,
    ...rest
  } = entry
  return Agent.parse({
    ...rest,
    name,
    allowSubAgentCalls: allowSubAgentCalls ?? allow_sub_agent_calls,
    maxDepth: maxDepth ?? max_sub_agent_depth,
  })
}

/**
 * The environment wins over the file. Directories of the file are relative to it, those of the environment to
 * the working directory.
 */
function withEnvironment(config: Config, base: string, { cwd, env, home }: ConfigSource): Config {
  const port = textOf(env['TIELINE_PORT'])
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535))
    throw new ConfigError('environment', [problem(['TIELINE_PORT'], port, 'a port from 0 to 65535')])
  const dataDir = textOf(env['TIELINE_DATA_DIR'])
  return {
    ...config,
    server: {
      ...config.server,
      port: port === undefined ? config.server.port : Number(port),
      host: textOf(env['TIELINE_HOST']) ?? config.server.host,
      dataDir:
        dataDir === undefined ? absolute(config.server.dataDir, base, home) : absolute(dataDir, cwd, home),
    },
    mail: { ...config.mail, directory: absolute(config.mail.directory, base, home) },
  }
}

/** What one key says about another. */
function crossProblems(config: Config): string[] {
  const names = config.agents.map((agent) => agent.name)
  const problems: string[] = []
  const needAgent = (path: readonly PropertyKey[], name: string): void => {
    if (!names.includes(name))
      problems.push(
        `${problem(path, name, 'the name of a configured agent').slice(0, -1)}; ${findNearest(name, names)}.`,
      )
  }
  for (const agent of config.agents) {
    agent.mayCall?.forEach((name, at) => needAgent(['agents', agent.name, 'mayCall', at], name))
    agent.ask.forEach((tool, at) => {
      if (!allowsTool(agent.tools, tool))
        problems.push(
          `${problem(['agents', agent.name, 'ask', at], tool, "a tool of this agent's tools").slice(0, -1)}; ${findNearest(tool, agent.tools)}.`,
        )
    })
  }
  if (config.subagent.agent !== undefined) needAgent(['subagent', 'agent'], config.subagent.agent)
  for (const [name, provider] of Object.entries(config.providers)) {
    if (provider.kind === 'openai-compatible' && provider.baseURL === undefined)
      problems.push(
        problem(
          ['providers', name, 'baseURL'],
          undefined,
          'the URL of the server, such as "http://127.0.0.1:11434/v1",',
        ),
      )
  }
  if (config.server.auth === 'off' && !isLoopback(config.server.host))
    problems.push(
      `server.auth: "off" is only possible on a loopback address, and server.host is "${config.server.host}"; use "auto" or "on".`,
    )
  return problems
}

function serverWarnings(config: Config): string[] {
  const providers = [...Object.keys(config.providers), ...providersBuiltIn]
  return config.agents.flatMap((agent) => {
    const provider = agent.driver === 'model' ? agent.model?.split('/')[0] : undefined
    const unknown = provider !== undefined && !providers.includes(provider)
    const idle = Object.keys(agent.mcpServers).filter(
      (server) => !agent.tools.some((pattern) => reachesServer(pattern, `${server}_`)),
    )
    return [
      ...(unknown
        ? [
            `agents.${agent.name}.model: there is no provider "${provider}"; ${findNearest(provider, providers)}.`,
          ]
        : []),
      ...idle.map(
        (server) =>
          `agents.${agent.name}.mcpServers.${server}: none of its tools can be used, because agents.${agent.name}.tools has nothing that starts with "${server}_"; add "${server}_*".`,
      ),
    ]
  })
}

/** Whether a pattern of `tools` can match some name with this start. */
function reachesServer(pattern: string, start: string): boolean {
  if (!pattern.endsWith('*')) return pattern.length > start.length && pattern.startsWith(start)
  const head = pattern.slice(0, -1)
  return head.startsWith(start) || start.startsWith(head)
}

async function promptWarnings(
  config: Config,
  loadTokenizer: ConfigSource['loadTokenizer'],
): Promise<string[]> {
  // A token is at least one byte of UTF-8, so a short prompt needs no counting.
  const long = config.agents.filter((agent) => Buffer.byteLength(agent.prompt) > promptTokensMax)
  if (long.length === 0 || loadTokenizer === undefined) return []
  const count = await loadTokenizer()
  return long.flatMap((agent) => {
    const tokens = count(agent.prompt)
    return tokens <= promptTokensMax
      ? []
      : [
          `agents.${agent.name}.prompt: it has ${tokens} tokens; over ${promptTokensMax}, little of a child's context (limits.contextTokens = ${config.limits.contextTokens}) is left for its task.`,
        ]
  })
}

function absolute(path: string, base: string, home: string): string {
  const expanded = path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path
  return isAbsolute(expanded) ? expanded : resolve(base, expanded)
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
const isTable = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
/** An empty variable is an absent one. */
const textOf = (value: string | undefined): string | undefined =>
  value === undefined || value === '' ? undefined : value
