/** The configuration: found, read, checked as a whole and completed. All problems are reported at once. */
import { dirname } from 'node:path'
import { z } from 'zod'
import {
  absolute,
  chooseFile,
  ConfigError,
  nonEmpty,
  parseFile,
  type ChosenFile,
  type ConfigSource,
} from './config-file.ts'
import { narrowConfig } from './config-narrow.ts'
import {
  findAgentProblems,
  findConfigProblems,
  findCrossProblems,
  findPromptWarnings,
} from './config-problem.ts'
import { findServerWarnings, isTable, problem, withoutAbsentDrivers } from './config-problem.ts'
import { Agent, AgentName, isDriven, Label, SandboxMode } from './model/agent.ts'
import { Json } from './model/json.ts'
import { Limits } from './model/limits.ts'
import type { UntrustedProject } from './model/untrusted.ts'
import type { ConfigText } from './trust/config-text.ts'
import { describeReach } from './trust/describe-reach.ts'
import type { HashedFile, Reach, Trusted } from './trust/trust-store.ts'

const Server = z.strictObject({
  port: z.number().int().min(0).max(65_535).default(8283),
  host: z.string().min(1).default('127.0.0.1'),
  dataDir: z.string().min(1).default('~/.local/share/tieline'),
  auth: z.enum(['auto', 'on', 'off']).default('auto'),
  sandbox: SandboxMode.default('auto'),
})

/** The database's address is in a variable and never in a file: it has a password in it. */
const StoreSettings = z.strictObject({
  engine: z.enum(['sqlite', 'postgres']).default('sqlite'),
  urlEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable, never the address itself,')
    .default('TIELINE_DATABASE_URL'),
})
export type StoreSettings = z.infer<typeof StoreSettings>

/** This machine in a cluster. */
const NodeSettings = z.strictObject({
  name: z.string().min(1).max(64).optional(),
  labels: z.array(Label).default([]),
})
export type NodeSettings = z.infer<typeof NodeSettings>

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
  tools: z.array(z.string().min(1)).optional(),
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
  store: StoreSettings.prefault({}),
  node: NodeSettings.prefault({}),
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
      release: z.enum(['agents', 'person']).default('agents'),
    })
    .prefault({}),
  tracing: z.strictObject({ enable: z.boolean().default(true) }).prefault({}),
  sandbox: z
    .strictObject({
      network: z.enum(['none', 'public', 'any']).default('public'),
      writable: z.array(z.string().min(1)).default([]),
      hidden: z.array(z.string().min(1)).default([]),
    })
    .prefault({}),
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
  untrusted: Untrusted | null
  warnings: string[]
}

/** A file that was found, with what a person must know to agree to it. */
export type Untrusted = UntrustedProject & {
  files: readonly HashedFile[]
  /** Null where it has a mistake; `problem` says which. */
  reach: Reach | null
  problem: string | null
  /** What was agreed to before it changed. */
  before: Trusted | null
}

/**
 * Throws a ConfigError. With no file at all it gives the defaults. A file that was found and that nobody has
 * agreed to is not used; `untrusted` says what it could do.
 */
export async function loadConfig(source: ConfigSource): Promise<LoadedConfig> {
  const { used, own, untrusted, warnings } = chooseFile(source)
  const place = used?.path ?? 'environment'
  const raw = withMailStorage(used === null ? {} : readTable(used, own), source.env)
  const parsed = parseConfig(raw)
  if (Array.isArray(parsed)) throw new ConfigError(place, parsed)
  const config = withEnvironment(parsed, used === null ? source.cwd : dirname(used.path), source)
  const problems = findCrossProblems(config)
  if (problems.length > 0) throw new ConfigError(place, problems)
  return {
    config,
    file: used?.path ?? null,
    digest: used?.hash ?? null,
    token: nonEmpty(source.env['TIELINE_TOKEN']) ?? null,
    untrusted: untrusted === null ? null : describeUntrusted(untrusted),
    warnings: [
      ...warnings,
      ...findServerWarnings(config),
      ...(await findPromptWarnings(config, source.loadTokenizer)),
    ],
  }
}

/** What was found may only narrow what the user's own file says, which must be right for that. */
function readTable(used: ConfigText, own: ConfigText | null): unknown {
  const table = parseFile(used)
  if (own === null) return table
  const ofUser = parseFile(own)
  const parsed = parseConfig(ofUser)
  if (Array.isArray(parsed)) throw new ConfigError(own.path, parsed)
  return narrowConfig(table, ofUser)
}

/**
 * Reads what it could do, and uses nothing of it. A mistake in a file that was agreed to before is its
 * author's, who wants to know; in a file of strangers it stops nobody.
 */
function describeUntrusted({ file, before }: NonNullable<ChosenFile['untrusted']>): Untrusted {
  const files = [{ path: file.path, hash: file.hash }]
  const found = { file: file.path, files, before, state: before === null ? 'new' : 'changed' } as const
  try {
    const parsed = parseConfig(parseFile(file))
    const problems = Array.isArray(parsed) ? parsed : findCrossProblems(parsed)
    if (Array.isArray(parsed) || problems.length > 0) throw new ConfigError(file.path, problems)
    const usual = parseConfig({})
    const reach = Array.isArray(usual) ? null : describeReach(parsed, usual)
    return { ...found, agents: parsed.agents.map(({ name }) => name), reach, problem: null }
  } catch (error) {
    if (before !== null || !(error instanceof ConfigError)) throw error
    return { ...found, agents: [], reach: null, problem: error.message }
  }
}

/** What the OpenCode plugin starts keeps mail as AgentFS databases too, unless the file says otherwise. */
function withMailStorage(raw: unknown, env: ConfigSource['env']): unknown {
  const mail = isTable(raw) ? (raw['mail'] ?? {}) : null
  return env['TIELINE_STARTED_BY'] !== 'opencode' || !isTable(mail) || mail['storage'] !== undefined
    ? raw
    : { ...(raw as object), mail: { ...mail, storage: 'agentfs' } }
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
    tools,
    script: _script,
    ...rest
  } = entry
  return Agent.parse({
    ...rest,
    name,
    // It has hands of its own; of our tools it gets those that clients get.
    tools: tools ?? (isDriven(entry) ? ['*'] : []),
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
  const engine = nonEmpty(env['TIELINE_STORE'])
  if (engine !== undefined && engine !== 'sqlite' && engine !== 'postgres')
    throw new ConfigError('environment', [problem(['TIELINE_STORE'], engine, '"sqlite" or "postgres"')])
  return {
    ...config,
    server: {
      ...config.server,
      port: port === undefined ? config.server.port : Number(port),
      host: nonEmpty(env['TIELINE_HOST']) ?? config.server.host,
      dataDir:
        dataDir === undefined ? absolute(config.server.dataDir, base, home) : absolute(dataDir, cwd, home),
    },
    store: { ...config.store, engine: engine ?? config.store.engine },
    mail: { ...config.mail, directory: absolute(config.mail.directory, base, home) },
    sandbox: {
      ...config.sandbox,
      writable: config.sandbox.writable.map((path) => absolute(path, base, home)),
      hidden: config.sandbox.hidden.map((path) => absolute(path, base, home)),
    },
  }
}
