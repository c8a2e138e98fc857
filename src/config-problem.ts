/** What is wrong in a configuration file, in words: where, what was given, what is right. */
import type { z } from 'zod'
import { drivenDriver, externalAgent, type Agent } from './model/agent.ts'
import { allowsTool } from './model/authority.ts'
import { findNearest } from './model/nearest.ts'
import { valueAt } from './model/read-input.ts'
import type { CountTokens } from './model/text.ts'
import { describeRight, keySetsAt } from './model/validator-words.ts'

const driversHere = ['model', 'scripted', 'host', drivenDriver]
const driversPlanned = ['opencode', 'a2a']
/** Providers that need no section: they are there as soon as their usual key variable is set. */
const providersBuiltIn = ['anthropic', 'openai', 'google']
const promptTokensMax = 3000

/** What of a configuration is checked against the rest of it. */
type Checked = {
  agents: readonly Agent[]
  providers: Readonly<Record<string, { kind: string; baseURL?: string | undefined }>>
  subagent: { agent?: string | undefined }
  server: { auth: string; host: string }
  limits: { contextTokens: number }
}
type WrittenAgent = {
  driver: string
  allowSubAgentCalls?: unknown
  allow_sub_agent_calls?: unknown
  maxDepth?: unknown
  max_sub_agent_depth?: unknown
  script?: unknown
  preset?: unknown
  command?: unknown
  billing?: unknown
  permissions?: unknown
}

/** What only agents that we drive have. */
const drivenKeys = ['preset', 'command', 'billing', 'permissions'] as const

/** Values below these keys may be misplaced secrets, so they are never repeated. */
const secretKeys: ReadonlySet<PropertyKey> = new Set(['apiKeyEnv', 'env', 'headers', 'args'])

const keyPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at === 0 ? '' : '.'}${String(part)}`))
    .join('')

export const problem = (path: readonly PropertyKey[], given: unknown, right: string): string =>
  `${keyPath(path)}: ` +
  (path.some((part) => secretKeys.has(part)) ? 'what was given is not right' : `${shown(given)} was given`) +
  `, but ${right} is needed.`

/** The same for a name that is none of those known. */
const unknown = (
  path: readonly PropertyKey[],
  given: string,
  right: string,
  known: readonly string[],
): string => `${problem(path, given, right).slice(0, -1)}; ${findNearest(given, known)}.`

/** Every problem that the schema found, one line each. */
export function findConfigProblems(
  error: z.ZodError,
  schema: z.ZodType,
  input: unknown,
  prefix: readonly PropertyKey[],
): string[] {
  return error.issues.flatMap((issue) => describeIssue(issue, schema, input, prefix))
}

function describeIssue(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  input: unknown,
  prefix: readonly PropertyKey[],
): string[] {
  const path = [...prefix, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    const given = valueAt(input, issue.path)
    const known = keySetsAt(schema, issue.path)
    return issue.keys.map((key) => `${keyPath([...path, key])}: ${describeKey(key, known, given)}`)
  }
  if (issue.code === 'invalid_union') {
    const branch = bestBranch(issue.errors)
    const nested = branch?.some((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys')
    if (branch !== undefined && nested === true)
      return branch.flatMap((inner) =>
        describeIssue({ ...inner, path: [...issue.path, ...inner.path] }, schema, input, prefix),
      )
    return [
      problem(
        path,
        valueAt(input, issue.path),
        [...new Set(issue.errors.flatMap((inner) => inner.map(describeTable)))].join(' or '),
      ),
    ]
  }
  if (issue.code === 'invalid_key')
    return [
      `${keyPath(path)}: this name is not right: ${issue.issues[0]?.message ?? issue.message} are needed.`,
    ]
  return [problem(path, valueAt(input, issue.path), describeTable(issue))]
}

/** A key that another branch of a union has is known, but not beside what was given. */
function describeKey(key: string, known: readonly (readonly string[])[], given: unknown): string {
  const right = known.find((keys) => keys.includes(key))
  if (right === undefined) return `unknown key; ${findNearest(key, [...new Set(known.flat())])}.`
  const beside = Object.keys(isTable(given) ? given : {}).filter((other) => !right.includes(other))
  return `does not go together with ${beside.join(' and ')}; leave one of them out.`
}

/** The branch of a union that its author most likely meant: the one with the fewest wrong keys. */
function bestBranch(branches: readonly z.core.$ZodIssue[][]): z.core.$ZodIssue[] | undefined {
  const cost = (branch: z.core.$ZodIssue[]): number =>
    branch.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0)
  return branches.toSorted((a, b) => cost(a) - cost(b))[0]
}

/** In a file of settings an object is a table. */
const describeTable = (issue: z.core.$ZodIssue): string =>
  describeRight(issue).replace(/^an object$/, 'a table')

function shown(given: unknown): string {
  if (given === undefined) return 'nothing'
  if (given === '') return 'an empty text'
  const text = JSON.stringify(given) ?? typeof given
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** An agent whose driver is missing gets that one problem: this version has no schema for its other keys. */
export function withoutAbsentDrivers(raw: unknown): { rest: unknown; problems: string[] } {
  if (!isTable(raw) || !isTable(raw['agents'])) return { rest: raw, problems: [] }
  const problems: string[] = []
  const agents = Object.entries(raw['agents']).filter(([name, entry]) => {
    const driver = isTable(entry) ? entry['driver'] : undefined
    if (typeof driver !== 'string' || driversHere.includes(driver)) return true
    const where = `agents.${name}.driver`
    problems.push(
      driversPlanned.includes(driver)
        ? `${where}: this version does not have the driver "${driver}" yet; it has ${driversHere.join(', ')}.`
        : `${where}: there is no driver "${driver}"; ${findNearest(driver, driversHere)}.`,
    )
    return false
  })
  return { rest: { ...raw, agents: Object.fromEntries(agents) }, problems }
}

export function findAgentProblems(name: string, entry: WrittenAgent): string[] {
  const problems: string[] = []
  const add = (key: string, text: string) => problems.push(`agents.${name}${key}: ${text}`)
  const spelledTwice = (ours: keyof WrittenAgent, older: keyof WrittenAgent): void => {
    if (entry[ours] !== undefined && entry[older] !== undefined)
      add(`.${older}`, `${ours} says the same and is given too; keep one of them.`)
  }
  if (name === externalAgent.name)
    add('', 'this name is taken by the built-in agent for clients outside; choose another.')
  spelledTwice('allowSubAgentCalls', 'allow_sub_agent_calls')
  spelledTwice('maxDepth', 'max_sub_agent_depth')
  if (entry.script !== undefined && entry.driver !== 'scripted')
    add('.script', `only the driver "scripted" has a script, and this one is "${entry.driver}".`)
  if (entry.driver === drivenDriver) {
    if (entry.preset === undefined && entry.command === undefined)
      add('', 'the driver "acp" needs a preset ("claude", "codex", …) or a command; add one.')
  } else
    for (const key of drivenKeys.filter((one) => entry[one] !== undefined))
      add(`.${key}`, `only the driver "acp" has it, and this one is "${entry.driver}".`)
  return problems
}

/** What one key says about another. */
/** `others` may be named too; what "project/name" means is known only when it is called. */
export function findCrossProblems(config: Checked, others: readonly { name: string }[] = []): string[] {
  const names = [...config.agents, ...others].map((agent) => agent.name)
  const problems: string[] = []
  const needAgent = (path: readonly PropertyKey[], name: string): void => {
    if (!names.includes(name) && !name.includes('/'))
      problems.push(unknown(path, name, 'the name of a configured agent', names))
  }
  for (const agent of config.agents) {
    for (const key of ['mayCall', 'fallback'] as const)
      agent[key]?.forEach((name, at) => needAgent(['agents', agent.name, key, at], name))
    agent.ask.forEach((tool, at) => {
      if (!allowsTool(agent.tools, tool))
        problems.push(
          unknown(['agents', agent.name, 'ask', at], tool, "a tool of this agent's tools", agent.tools),
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
      'server.auth: "off" is only possible on a loopback address, ' +
        `and server.host is "${config.server.host}"; use "auto" or "on".`,
    )
  return problems
}

export function findServerWarnings(config: Checked): string[] {
  const providers = [...Object.keys(config.providers), ...providersBuiltIn]
  return config.agents.flatMap((agent) => {
    const provider = agent.driver === 'model' ? agent.model?.split('/')[0] : undefined
    const idle = Object.keys(agent.mcpServers).filter(
      (server) => !agent.tools.some((pattern) => reachesServer(pattern, `${server}_`)),
    )
    const { name } = agent
    return [
      ...(provider === undefined || providers.includes(provider)
        ? []
        : [`agents.${name}.model: there is no provider "${provider}"; ${findNearest(provider, providers)}.`]),
      ...idle.map(
        (server) =>
          `agents.${name}.mcpServers.${server}: none of its tools can be used, because ` +
          `agents.${name}.tools has nothing that starts with "${server}_"; add "${server}_*".`,
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

export async function findPromptWarnings(
  config: Checked,
  loadTokenizer: (() => Promise<CountTokens>) | undefined,
): Promise<string[]> {
  // A token is at least one byte of UTF-8, so a short prompt needs no counting.
  const long = config.agents.filter((agent) => Buffer.byteLength(agent.prompt) > promptTokensMax)
  if (long.length === 0 || loadTokenizer === undefined) return []
  const count = await loadTokenizer()
  return long.flatMap((agent) => {
    const tokens = count(agent.prompt)
    if (tokens <= promptTokensMax) return []
    return [
      `agents.${agent.name}.prompt: it has ${tokens} tokens; over ${promptTokensMax}, little of a child's ` +
        `context (limits.contextTokens = ${config.limits.contextTokens}) is left for its task.`,
    ]
  })
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
export const isTable = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
