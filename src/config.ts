/** The configuration: found, read, checked as a whole and completed. All problems are reported at once. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { parse as parseToml, TomlError } from 'smol-toml'
import { z } from 'zod'
import {
  findAgentProblems,
  findConfigProblems,
  findCrossProblems,
  findPromptWarnings,
} from './config-problem.ts'
import { findServerWarnings, isTable, problem, withoutAbsentDrivers } from './config-problem.ts'
import { Agent, AgentName } from './model/agent.ts'
import { Json } from './model/json.ts'
import { Limits } from './model/limits.ts'
import type { CountTokens } from './model/text.ts'

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

/** An agent as it is written: without its name, with two older spellings and the script for its driver. */
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
  const problems = findCrossProblems(config)
  if (problems.length > 0) throw new ConfigError(place, problems)
  const warnings = [
    ...(found?.warnings ?? []),
    ...findServerWarnings(config),
    ...(await findPromptWarnings(config, source.loadTokenizer)),
  ]
  return {
    config,
    file: found?.path ?? null,
    digest: found === null ? null : hash('sha256', found.text, 'base64url'),
    token: nonEmpty(source.env['TIELINE_TOKEN']) ?? null,
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
  const named = nonEmpty(file) ?? nonEmpty(env['TIELINE_CONFIG'])
  if (named !== undefined) {
    const path = absolute(named, cwd, home)
    const text = await readIfThere(path)
    if (text === null)
      throw new ConfigError(path, [
        `there is no such file; ${nonEmpty(file) === undefined ? 'TIELINE_CONFIG' : '--config'} must name one.`,
      ])
    return { path, text, warnings: [] }
  }
  for (const directory of [cwd, join(nonEmpty(env['XDG_CONFIG_HOME']) ?? join(home, '.config'), 'tieline')]) {
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
  problems.push(...entries.flatMap(([name, entry]) => findAgentProblems(name, entry)))
  if (problems.length > 0) return problems
  const scripts = Object.fromEntries(
    entries.flatMap(([name, entry]) => (entry.script === undefined ? [] : [[name, entry.script]])),
  )
  return { ...parsed.data, agents: entries.map(([name, entry]) => makeAgent(name, entry)), scripts }
}

function makeAgent(name: string, entry: AgentEntry): Agent {
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

/** The environment wins over the file; its directories are relative to `cwd`, those of the file to the file. */
function withEnvironment(config: Config, base: string, { cwd, env, home }: ConfigSource): Config {
  const port = nonEmpty(env['TIELINE_PORT'])
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535))
    throw new ConfigError('environment', [problem(['TIELINE_PORT'], port, 'a port from 0 to 65535')])
  const dataDir = nonEmpty(env['TIELINE_DATA_DIR'])
  return {
    ...config,
    server: {
      ...config.server,
      port: port === undefined ? config.server.port : Number(port),
      host: nonEmpty(env['TIELINE_HOST']) ?? config.server.host,
      dataDir:
        dataDir === undefined ? absolute(config.server.dataDir, base, home) : absolute(dataDir, cwd, home),
    },
    mail: { ...config.mail, directory: absolute(config.mail.directory, base, home) },
  }
}

function absolute(path: string, base: string, home: string): string {
  const expanded = path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path
  return isAbsolute(expanded) ? expanded : resolve(base, expanded)
}

/** An empty variable is an absent one. */
const nonEmpty = (value: string | undefined): string | undefined =>
  value === undefined || value === '' ? undefined : value
