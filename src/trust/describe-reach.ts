/** What a configuration could run, where it could send, which keys it names, where it could write. Pure. */
import { isDriven, type Agent } from '../model/agent.ts'
import { allowsTool } from '../model/authority.ts'
import { table } from '../model/table.ts'
import { whyUntrusted, type UntrustedProject } from '../model/untrusted.ts'
import type { Reach } from './trust-store.ts'

/** As far as it matters here. */
export type Described = {
  agents: readonly Agent[]
  providers: Readonly<
    Record<string, { kind: string; baseURL?: string | undefined; apiKeyEnv?: string | undefined }>
  >
  scripts: Readonly<Record<string, unknown>>
  server: { host: string; port: number; dataDir: string; sandbox: string }
  store: { engine: string; urlEnv: string }
  notify: { command?: readonly string[] | undefined }
  sandbox: { network: string; writable: readonly string[] }
  mail: { storage: string; directory: string }
}

/** The variables that hold a provider's key where the configuration names none. */
export const usualKeys = table<string>({
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
})

export function describeReach(config: Described, usual: Described): Reach {
  const { agents, providers, server, mail, store, notify } = config
  const hasDatabase = store.engine !== usual.store.engine
  const used = new Set(agents.flatMap(({ driver, model }) => (driver === 'model' ? findProvider(model) : [])))
  const builtIn = [...used].filter((name) => providers[name] === undefined && usualKeys[name] !== undefined)
  return {
    runs: [
      ...agents.flatMap((agent) => describeRuns(agent, config.scripts[agent.name], server.sandbox)),
      ...(notify.command === undefined ? [] : [`${notify.command.join(' ')} (when something needs you)`]),
    ],
    sends: [
      ...Object.entries(providers).map(
        ([name, { kind, baseURL }]) => `provider ${name}: ${baseURL ?? `the usual address of ${kind}`}`,
      ),
      ...builtIn.map((name) => `provider ${name}: its usual address`),
      ...agents.flatMap(describeSends),
      ...(config.sandbox.network === 'any' ? ['programs of agents reach the local network'] : []),
      ...(server.host === usual.server.host ? [] : [`the server listens on ${server.host}:${server.port}`]),
      ...(hasDatabase ? [`the log: the database whose address is in ${store.urlEnv}`] : []),
    ],
    keys: [
      ...new Set([
        ...Object.values(providers).flatMap(({ kind, apiKeyEnv }) => apiKeyEnv ?? usualKeys[kind] ?? []),
        ...builtIn.flatMap((name) => usualKeys[name] ?? []),
        ...(hasDatabase ? [store.urlEnv] : []),
      ]),
    ],
    writes: [
      ...agents.flatMap(describeWrites),
      ...config.sandbox.writable.map((path) => `programs of agents: ${path}`),
      ...(server.dataDir === usual.server.dataDir ? [] : [`the log: ${server.dataDir}`]),
      ...(mail.storage === 'sqlite' ? [] : [`mail (${mail.storage}): ${mail.directory}`]),
    ],
  }
}

const findProvider = (model: string | undefined): string[] =>
  model === undefined ? [] : [model.split('/')[0] ?? '']

function describeRuns(agent: Agent, script: unknown, mode: string): string[] {
  const servers = Object.entries(agent.mcpServers).flatMap(([name, server]) =>
    'command' in server
      ? [`agent ${agent.name}: ${[server.command, ...server.args].join(' ')} (MCP server ${name})`]
      : [],
  )
  const chooser = agent.driver === 'scripted' ? 'its script' : 'its model'
  const asked = allowsTool(agent.ask, 'shell') ? ', after asking a person' : ''
  const lines = [
    ...servers,
    ...(isDriven(agent) ? [`agent ${agent.name}: ${describeDriven(agent)}`] : []),
    ...(allowsTool(agent.tools, 'shell')
      ? [`agent ${agent.name}: any command that ${chooser} chooses (shell)${asked}`]
      : []),
    ...listCommands(script).map((command) => `agent ${agent.name}: ${command} (in its script)`),
  ]
  // Where nothing is said, they run in a sandbox if this machine has one.
  const suffix = (agent.sandbox ?? mode) === 'off' ? ', without a sandbox' : ''
  return lines.map((line) => `${line}${suffix}`)
}

const describeDriven = ({ command, preset, permissions, billing }: Agent): string =>
  `${command?.join(' ') ?? preset ?? 'nothing'} (an agent of its own` +
  `${permissions === 'allow' ? ', which may do all that it asks for' : ''}` +
  `${billing === 'key' ? ', with the keys of your environment' : ''})`

/** Commands that a script has word for word. */
function listCommands(script: unknown): string[] {
  const rules = Array.isArray(script) ? (script as { tools?: unknown }[]) : []
  return rules
    .flatMap((rule) => (Array.isArray(rule?.tools) ? rule.tools : []))
    .flatMap((use: { name?: unknown; input?: { command?: unknown } } | null) =>
      use?.name === 'shell' && typeof use.input?.command === 'string' ? [use.input.command] : [],
    )
}

const describeSends = ({ name, mcpServers }: Agent): string[] =>
  Object.entries(mcpServers).flatMap(([server, settings]) =>
    'url' in settings ? [`agent ${name}: ${settings.url} (MCP server ${server})`] : [],
  )

function describeWrites({ name, tools }: Agent): string[] {
  const writing = ['write', 'edit'].filter((tool) => allowsTool(tools, tool))
  return writing.length === 0
    ? []
    : [`agent ${name}: files in its session's directory (${writing.join(', ')})`]
}

/** One line for those who have no terminal to be asked on. */
export function describeUnused({ file, state, problem }: UnusedFile): string {
  const mistake =
    problem === null ? '' : `; correct this first: ${(problem.split('\n')[0] ?? '').replace(/\.$/, '')}`
  return `${file} is not used: ${whyUntrusted[state]}. Look at it, then run "tieline trust" in its directory${mistake}.`
}

export type UnusedFile = UntrustedProject & { problem: string | null }

/** What is new and what is gone since a person agreed: `+` and `-` in front, by list. */
export function compareReach(before: Reach, after: Reach): Reach {
  const changes = (old: readonly string[], fresh: readonly string[]): string[] => [
    ...old.filter((line) => !fresh.includes(line)).map((line) => `- ${line}`),
    ...fresh.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ]
  return {
    runs: changes(before.runs, after.runs),
    sends: changes(before.sends, after.sends),
    keys: changes(before.keys, after.keys),
    writes: changes(before.writes, after.writes),
  }
}
