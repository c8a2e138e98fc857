/** What `tieline doctor` looks at, one function for each thing. */
import { accessSync, constants, existsSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import type { Agent } from '../../model/agent.ts'
import { fullAuthority, mayUse } from '../../model/authority.ts'
import { findNearest } from '../../model/nearest.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, UsageError, type CommandInput } from '../command.ts'
import type { Finding } from '../commands/doctor.ts'
import { isInUse, mcpClients, ownProcess, type Surroundings } from './init-entries.ts'
import { planFor } from './init-plan.ts'
import { emptiedWords, logState, otherConfig, findPlace, type Place } from '../reach/place.ts'
import { isPortFree } from '../reach/port.ts'
import { runningServer } from '../reach/reach.ts'

type DoctorInput = Pick<CommandInput, 'flags' | 'env' | 'signal'>
type Running = Awaited<ReturnType<typeof runningServer>>

const ok = (what: string, says: string): Finding => ({ what, state: 'ok', says, todo: null })
const warning = (what: string, says: string, todo: string): Finding => ({
  what,
  state: 'warning',
  says,
  todo,
})
const problem = (what: string, says: string, todo: string): Finding => ({
  what,
  state: 'problem',
  says,
  todo,
})

export async function findings(input: DoctorInput, at: Surroundings): Promise<Finding[]> {
  const node = nodeFinding(process.versions.node)
  const place = await findPlace(input).catch((error: unknown) => {
    if (error instanceof UsageError) return error
    throw error
  })
  if (place instanceof UsageError)
    return [
      node,
      problem(
        'configuration',
        place.message,
        'Correct these keys: docs/configuration.md has them all, and "tieline init --starter" writes a file to start from.',
      ),
    ]
  const running = await runningServer(place)
  return [
    node,
    configFinding(place, running),
    await dataFinding(place, running),
    await portFinding(place, running),
    ...keyFindings(place, input.env),
    ...(await agentFindings(place, input.env)),
    ...(await clientFindings(input, at)),
  ]
}

const nodeNeeded: readonly [number, number] = [24, 15]

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [majorMin, minorMin] = nodeNeeded
  const isNew = major > majorMin || (major === majorMin && minor >= minorMin)
  return isNew
    ? ok('node', version)
    : problem('node', `${version} is too old`, `Install Node ${nodeNeeded.join('.')} or newer.`)
}

function configFinding(place: Place, running: Running): Finding {
  const { file, warnings, config } = place
  const says =
    file === null
      ? 'no file: the defaults, and the offline demo agent'
      : `${file}, ${config.agents.length === 1 ? 'one agent' : `${config.agents.length} agents`}`
  if (warnings.length > 0)
    return warning('configuration', [says, ...warnings].join('\n'), 'Correct these keys.')
  const other = running === null ? null : otherConfig(place, running.file)
  if (other !== null) return warning('configuration', `${says}; ${other.says}`, other.todo)
  return file === null
    ? warning('configuration', says, 'Write a tieline.toml: "tieline init --starter" makes one.')
    : ok('configuration', says)
}

async function dataFinding({ dataDir }: Place, running: Running): Promise<Finding> {
  const what = 'log'
  if (running !== null) return servedFinding(dataDir, running)
  switch (logState(dataDir)) {
    case 'emptied':
      return problem(what, `${dataDir}: the log is an empty file`, emptiedWords(dataDir))
    case 'none':
      return isWritable(dataDir)
        ? ok(what, `${dataDir}: nothing is recorded yet`)
        : problem(
            what,
            `${dataDir} cannot be made or written to`,
            'Choose another directory with --data-dir, TIELINE_DATA_DIR or server.dataDir.',
          )
    case 'there':
      return openedFinding(dataDir)
  }
}

/** The server has the log open, so it knows whether it can write. */
function servedFinding(dataDir: string, { client, health: { store } }: NonNullable<Running>): Finding {
  const says = `${dataDir}, in use by the server at ${client.url}`
  if (store === undefined || store.status === 'ok') return ok('log', says)
  const free =
    store.freeBytes === null ? '' : `; ${(store.freeBytes / 1_000_000).toFixed(1)} MB are free there`
  return problem(
    'log',
    `${says}, which cannot record anything: ${store.reason ?? 'it does not say why'}${free}`,
    store.cure ?? 'Look at what the server wrote.',
  )
}

/** The directory, or the nearest one above it that is there. */
function isWritable(directory: string): boolean {
  if (!existsSync(directory)) return dirname(directory) !== directory && isWritable(dirname(directory))
  try {
    accessSync(directory, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Opening takes the lock of the directory and has SQLite check the file; nothing in it goes on. */
async function openedFinding(dataDir: string): Promise<Finding> {
  const { openLog } = await import('../../recorded-log.ts')
  try {
    const log = await openLog({ dataDir })
    const sessions = await log.sessions(1)
    await log.close()
    return ok(
      'log',
      `${dataDir}: opens, is whole${sessions.length === 0 ? ', and has no sessions yet' : ''}, and nobody else uses it`,
    )
  } catch (error) {
    return problem(
      'log',
      error instanceof Error ? error.message : String(error),
      'Do what this says; nothing was changed.',
    )
  }
}

async function portFinding({ config: { server } }: Place, running: Running): Promise<Finding> {
  const at = `${server.host}:${server.port}`
  if (running !== null)
    return ok(
      'port',
      `our server answers at ${running.client.url}, version ${running.health.version}, up for ${running.health.uptimeSeconds} s`,
    )
  if (server.port === 0 || (await isPortFree(server))) return ok('port', `${at} is free`)
  return warning(
    'port',
    `${at} is taken by another program`,
    'Commands that need a server take another port; for "tieline serve" choose one with --port, TIELINE_PORT or server.port.',
  )
}

const usualKeys: Readonly<Record<string, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
}

type Providers = Place['config']['providers']

/** The variable that a provider's key is in; null where it needs none. */
const keyVariable = (name: string, providers: Providers): string | null | undefined => {
  const provider = providers[name]
  if (provider === undefined) return usualKeys[name]
  return provider.apiKeyEnv ?? usualKeys[provider.kind] ?? null
}

const isSet = (env: DoctorInput['env'], variable: string): boolean => (env[variable] ?? '') !== ''

function keyFindings({ config: { providers } }: Place, env: DoctorInput['env']): Finding[] {
  const variables = new Set(
    [...Object.keys(providers), ...Object.keys(usualKeys)].flatMap(
      (name) => keyVariable(name, providers) ?? [],
    ),
  )
  const set = [...variables].filter((variable) => isSet(env, variable))
  const missing = Object.keys(providers).flatMap((name) => {
    const variable = keyVariable(name, providers)
    return variable == null || isSet(env, variable)
      ? []
      : [
          warning(
            'keys',
            `providers.${name}: ${variable} is not set`,
            `Set ${variable} where the server is started.`,
          ),
        ]
  })
  return [ok('keys', set.length === 0 ? 'none are set' : `set: ${set.join(', ')}`), ...missing]
}

/** Everything that is only found out at the start: tools, scripts. Nothing is run, and nothing written. */
async function agentFindings(place: Place, env: DoctorInput['env']): Promise<Finding[]> {
  if (place.file === null) return []
  const { openLine } = await import('../../open-line.ts')
  try {
    await (await openLine({ config: place.file, dataDir: ':memory:', onWarning: () => undefined })).close()
  } catch (error) {
    return [
      problem(
        'agents',
        error instanceof Error ? error.message : String(error),
        'Correct this in the configuration.',
      ),
    ]
  }
  const { agents, scripts, providers } = place.config
  return [
    ...agents.map((agent) => agentFinding(agent, providers, env, scripts[agent.name])),
    ...(await providerFindings(place.config)),
  ]
}

export function agentFinding(
  agent: Agent,
  providers: Providers,
  env: DoctorInput['env'],
  script?: unknown,
): Finding {
  const what = 'agents'
  if (agent.driver === 'scripted') return scriptFinding(agent, script)
  if (agent.driver === 'host')
    return warning(
      what,
      `${agent.name}: host, so a program must connect as this agent`,
      `Start the program that runs ${agent.name}; until it is connected, calls wait for it until their deadline.`,
    )
  if (agent.driver !== 'model') return ok(what, `${agent.name}: ${agent.driver}`)
  if (agent.model === undefined)
    return problem(what, `${agent.name} has no model`, `Set agents.${agent.name}.model = "provider/model".`)
  const at = agent.model.indexOf('/')
  const provider = agent.model.slice(0, Math.max(0, at))
  if (at <= 0 || at === agent.model.length - 1)
    return problem(
      what,
      `${agent.name}: the model "${agent.model}" names no provider`,
      `Set agents.${agent.name}.model = "provider/model".`,
    )
  const variable = keyVariable(provider, providers)
  if (variable === undefined)
    return problem(
      what,
      `${agent.name}: there is no provider "${provider}"`,
      `Add [providers.${provider}], or use one of ${[...Object.keys(providers), ...Object.keys(usualKeys)].join(', ')}.`,
    )
  if (variable !== null && !isSet(env, variable))
    return problem(
      what,
      `${agent.name}: ${agent.model} needs a key`,
      `Set ${variable} where the server is started.`,
    )
  return ok(what, `${agent.name}: ${agent.model}`)
}

/**
 * What a script says was checked when it was read; whether the agent has the tools that it names shows only
 * when it runs.
 */
function scriptFinding(agent: Agent, script: unknown): Finding {
  const rules = Array.isArray(script) ? (script as { tools?: { name: string }[] }[]) : []
  if (rules.length === 0)
    return problem(
      'agents',
      `${agent.name}: scripted, without a script: every task fails`,
      `Add a rule: [[agents.${agent.name}.script]] with say = "…".`,
    )
  const named = rules.flatMap(({ tools = [] }) => tools.map(({ name }) => name))
  const wrong = named.find((name) => !mayUse(fullAuthority, agent.tools, name))
  if (wrong === undefined) return ok('agents', `${agent.name}: scripted`)
  const nearest = agent.tools.length === 0 ? 'it has no tools' : findNearest(wrong, agent.tools)
  return problem(
    'agents',
    `${agent.name}: its script uses the tool "${wrong}", which it does not have; ${nearest}`,
    `Correct the name in agents.${agent.name}.script, or add the tool to agents.${agent.name}.tools.`,
  )
}

const answerMsMax = 1000

/**
 * Servers of models on this machine are often not started. Others are not asked: that would cost, or tell
 * them something.
 */
async function providerFindings({ agents, providers }: Place['config']): Promise<Finding[]> {
  const found = await Promise.all(
    Object.entries(providers).map(async ([name, { baseURL }]): Promise<Finding[]> => {
      const url = baseURL !== undefined && URL.canParse(baseURL) ? new URL(baseURL) : null
      if (url === null || !/^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(url.hostname)) return []
      if (await answersAt(url)) return [ok('providers', `${name}: something listens at ${baseURL}`)]
      const used = agents.some(({ model }) => model?.startsWith(`${name}/`) === true)
      return [
        (used ? problem : warning)(
          'providers',
          `${name}: nothing listens at ${baseURL}`,
          `Start the server of the models there (Ollama, llama.cpp, vLLM, …), or correct providers.${name}.baseURL.`,
        ),
      ]
    }),
  )
  return found.flat()
}

async function answersAt({ hostname, port, protocol }: URL): Promise<boolean> {
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  const over = new AbortController()
  void systemClock.sleep(answerMsMax, over.signal).then(
    () => resolve(false),
    () => undefined,
  )
  const answers = await promise
  over.abort()
  socket.destroy()
  return answers
}

/** Entries of MCP clients that point to us, in this project and of this user. */
async function clientFindings(input: DoctorInput, at: Surroundings): Promise<Finding[]> {
  const used = mcpClients.filter((client) => isInUse(client, at) !== null)
  if (used.length === 0) return [ok('clients', 'no MCP client is used here')]
  const way = ownProcess(at, { node: process.execPath, script: process.argv[1] ?? '' })
  const [project, user] = await Promise.all([
    planFor(used, at, 'project', way),
    planFor(used, at, 'user', way),
  ])
  const flags = flagText(input.flags['config']) === undefined ? '' : ' --config FILE'
  return used.map((client, index): Finding => {
    const [inProject, ofUser] = [project[index], user[index]]
    const found = [inProject, ofUser].find((plan) => plan?.state === 'there' || plan?.state === 'other')
    const unclear = [inProject, ofUser].find((plan) => plan?.state === 'unclear')
    if (found !== undefined) return ok('clients', `${client.title}: has an entry in ${found.file}`)
    if (unclear !== undefined)
      return warning(
        'clients',
        `${client.title}: ${unclear.file} ${unclear.why}`,
        `"tieline init --client ${client.id}${flags}" prints the entry to paste.`,
      )
    return ok(
      'clients',
      `${client.title}: knows nothing of Tieline ("tieline init --client ${client.id}" tells it)`,
    )
  })
}
