/** The configuration: found, read, checked as a whole and completed. All problems are reported at once. */
import { dirname } from 'node:path'
import type { z } from 'zod'
import {
  chooseFile,
  findNamed,
  nonEmpty,
  type ChosenFile,
  type ConfigFiles,
  type ConfigSource,
} from './config-file.ts'
import { withImports } from './config-imports.ts'
import { ConfigFile, type AgentEntry } from './config-keys.ts'
import { absolute, ConfigError, parseFile } from './config-path.ts'
import { narrowConfig } from './config-narrow.ts'
import {
  findAgentProblems,
  findConfigProblems,
  findCrossProblems,
  findPromptWarnings,
} from './config-problem.ts'
import { findServerWarnings, isTable, problem, withoutAbsentDrivers } from './config-problem.ts'
import { Agent, isDriven } from './model/agent.ts'
import { table } from './model/table.ts'
import type { UntrustedProject } from './model/untrusted.ts'
import { describeReach } from './trust/describe-reach.ts'
import type { HashedFile, Reach, Trusted } from './trust/trust-store.ts'

/** `scripts` has what `script` said of each scripted agent, unread. */
export type Config = Omit<z.infer<typeof ConfigFile>, 'agents'> & {
  agents: Agent[]
  scripts: Readonly<Record<string, unknown>>
}

export type CommonConfig = {
  config: Config
  files: ConfigFiles | null
  /** The path, where a flag, the environment or code named it. */
  named: string | null
  /** Where it was looked for, for a second look. */
  source: Pick<ConfigSource, 'cwd' | 'env' | 'home'>
}

/** `token` comes from the environment only: secrets have no place in the file. */
export type LoadedConfig = {
  config: Config
  file: string | null
  /** Of what stands in the file, so that a change of it is noticed. */
  digest: string | null
  token: string | null
  /** It was found in a directory: it counts for the sessions of that project only. */
  found: boolean
  /** What counts for all sessions: the file that was named, or the user's own. */
  base: CommonConfig
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
  const { used, own, found, untrusted, warnings } = chooseFile(source)
  const named = findNamed(source)
  const ofUser = own === null ? null : readConfig(own, null, source)
  const config = readConfig(used, own, source, ofUser?.agents)
  return {
    config,
    file: used?.path ?? null,
    digest: used?.hash ?? null,
    token: nonEmpty(source.env['TIELINE_TOKEN']) ?? null,
    found,
    base: {
      ...(found
        ? { config: ofUser ?? readConfig(null, null, source), files: own, named: null }
        : { config, files: used, named: named === null ? null : absolute(named, source.cwd, source.home) }),
      source: { cwd: source.cwd, env: source.env, home: source.home },
    },
    untrusted: untrusted === null ? null : describeUntrusted(untrusted, ofUser?.agents),
    warnings: [
      ...warnings,
      ...findServerWarnings(config),
      ...(await findPromptWarnings(config, source.loadTokenizer)),
    ],
  }
}

type Named = readonly { name: string }[]

/**
 * Throws a ConfigError. What was found may only narrow what `own` says, the user's file, which must be right for
 * that; `others` are agents that it may name besides its own.
 */
export function readConfig(
  used: ConfigFiles | null,
  own: ConfigFiles | null,
  source: ConfigSource,
  others: Named = [],
): Config {
  const place = used?.path ?? 'environment'
  const raw = withMailStorage(used === null ? {} : readTable(used, own), source.env)
  const parsed = parseConfig(raw)
  if (Array.isArray(parsed)) throw new ConfigError(place, parsed)
  const config = withEnvironment(parsed, used === null ? source.cwd : dirname(used.path), source)
  const problems = findCrossProblems(config, others)
  if (problems.length > 0) throw new ConfigError(place, problems)
  return config
}

function readTable(used: ConfigFiles, own: ConfigFiles | null): unknown {
  const table = withImports(parseFile(used), used.imports)
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
export function describeUntrusted(
  { file, before }: NonNullable<ChosenFile['untrusted']>,
  others: Named = [],
): Untrusted {
  const files = [file, ...file.imports].map(({ path, hash }) => ({ path, hash }))
  const found = { file: file.path, files, before, state: before === null ? 'new' : 'changed' } as const
  try {
    const parsed = parseConfig(withImports(parseFile(file), file.imports))
    const problems = Array.isArray(parsed) ? parsed : findCrossProblems(parsed, others)
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
  return {
    ...parsed.data,
    agents: entries.map(([name, entry]) => makeAgent(name, entry)),
    providers: table(parsed.data.providers),
    scripts: table(scripts),
  }
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
