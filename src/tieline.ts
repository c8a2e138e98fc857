/**
 * Puts the parts together. The only file that knows every layer; what a user may not need is loaded when it
 * is first used.
 */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { hostDriver } from './adapters/host/drive.ts'
import { hostHub, type HostHub } from './adapters/host/hub.ts'
import { wantedSessions } from './adapters/host/wanted.ts'
import { modelSummarise } from './adapters/model/summarise.ts'
import { pacedModel } from './adapters/scripted/demo-agent.ts'
import { workerSchemas } from './adapters/schemas/worker-schemas.ts'
import { countTokens, loadTokenizer } from './adapters/tokens/tokenizer.ts'
import {
  agentMaker,
  createAgents,
  checkTools,
  modelSettings,
  OptionsError,
  type AgentOptions,
} from './agents.ts'
import { loadConfig, type Config } from './config.ts'
import type { Agent } from './model/agent.ts'
import type { OpeningMessage, StoredEvent } from './model/event.ts'
import type { SessionRow } from './model/facts.ts'
import { isSessionId, type TurnId } from './model/id.ts'
import { Limits } from './model/limits.ts'
import { findNearest } from './model/nearest.ts'
import type { CountTokens } from './model/text.ts'
import type { Sampling } from './model/trace.ts'
import { visible } from './model/visible.ts'
import { agentBook } from './runtime/sessions/agent-book.ts'
import { createAlarm } from './runtime/kernel/alarm.ts'
import { claimSession } from './runtime/turns/claim.ts'
import { failQueued } from './runtime/turns/ending.ts'
import { openDesks, type Desks } from './runtime/desk/desk.ts'
import type { Runtime } from './runtime/kernel/runtime.ts'
import { startNode } from './runtime/node.ts'
import { isDirectory } from './runtime/kernel/is-directory.ts'
import type { Explanation } from './runtime/look/explain.ts'
import { exportLog, importLog, readExport, type ExportHeader } from './runtime/look/export-log.ts'
import type { Agents, Clock, Summarise, Tool, Tools } from './runtime/kernel/ports.ts'
import type { Replay } from './runtime/replay/replay.ts'
import type { ReplayPorts } from './runtime/replay/replaying.ts'
import { readScope, findScope } from './runtime/kernel/scope.ts'
import { startRun, type Run } from './runtime/sessions/run.ts'
import { isSecretField, secretValues } from './model/secret-shapes.ts'
import { readRecord } from './runtime/look/record.ts'
import { secretGuard } from './runtime/kernel/secret-guard.ts'
import { archiveIdle } from './runtime/sessions/sessions.ts'
import { reportTo, tellHealth } from './runtime/kernel/report-faults.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import { systemIds } from './runtime/kernel/system-ids.ts'
import { sqliteStore, type SqliteStore } from './store/sqlite.ts'
import { readTransactions } from './store/log-row.ts'
import { configured, configuredTools, settingProblems, toolSettingsDefault } from './tools/configured.ts'
import { describeWorkspace } from './tools/describe-workspace.ts'
import { doorTools, standardTools } from './tools/standard.ts'
import { version } from './version.ts'
import type { ListedCall, CallRecord } from './wire/calls.ts'
import type { Delta } from './wire/log.ts'

export type TielineOptions = {
  agents?: Record<string, AgentOptions>
  /** A path to `tieline.toml` or `tieline.json`; its agents are added to those in code. */
  config?: string
  /**
   * Where the log is kept. Without it, and without a configuration, it is in memory and gone with the
   * process.
   */
  dataDir?: string
  /** The directory that sessions work in, unless a run names another. */
  cwd?: string
  limits?: Partial<Limits>
  /** The agent that `subagent` runs; without it the caller's own definition. */
  subagent?: string
  tools?: readonly Tool[]
  /**
   * Somebody answers questions about tools under `ask`, at the desk; otherwise such tools are
   * refused.
   */
  asks?: boolean
  /** Texts that must never reach the log, besides the keys in the environment. */
  secrets?: readonly string[]
  /** Which traces are exported, so that those whom agents ask can join them. */
  sampling?: Sampling | null
  /** Turns that an earlier process left go on when this has settled; without it at once. It must settle. */
  resumeAfter?: Promise<unknown>
  /** Faults that reach no caller, and warnings. */
  onWarning?: (text: string) => void
}

export type RunOptions = {
  cwd?: string
  session?: string
  timeoutMs?: number
  maxTokens?: number
  title?: string
}

/**
 * What can be asked of a log, also when nothing runs. An id is that of a call, a session or a flow; one that
 * is not in the log is answered with an UnknownId.
 */
export type RecordedLog = {
  /**
   * Runs recorded turns again without model, tools or network, and compares what they do with what they did.
   */
  replay(id: string): Promise<Replay>
  /** Who waits for whom, what ended what, what was refused: as data, and in words. */
  explain(id: string): Promise<Explanation & { text: string }>
  /** A file of a call, a session or a flow, or of everything, without secrets. */
  export(id: string | null): Promise<{ header: ExportHeader; text: string }>
  events(id: string): Promise<StoredEvent[]>
  calls(limit: number): Promise<ListedCall[]>
  sessions(limit: number): Promise<SessionRow[]>
}

export type Tieline = {
  readonly log: RecordedLog
  /** What doors ask of the runtime. */
  readonly desks: Desks
  agent(name: string): Agent | undefined
  /** Connected programs that run turns. */
  readonly hosts: HostHub
  /** Gives an agent a task: a new session, or the next turn of the one in `options.session`. */
  run(agent: string, task: string, options?: RunOptions): Run
  /** The record of a call: who, what, its context's manifest, how it ended. */
  call(id: string): Promise<CallRecord | null>
  /** Text as it streams, of every turn that runs here. */
  onDelta(listener: (delta: Delta) => void): () => void
  /** How many turns run here: those asked for here, and those that an earlier process left. */
  running(): number
  /** Resolves when none does. */
  idle(): Promise<void>
  readonly store: SqliteStore
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function tieline(options: TielineOptions = {}): Promise<Tieline> {
  const tell = options.onWarning ?? ((text: string) => console.warn(`tieline: ${visible(text)}`))
  const config = options.config === undefined ? null : await configOf(options.config, tell)
  const guard = secretGuard({
    env: process.env,
    values: [...configuredSecrets(config), ...(options.secrets ?? [])],
  })
  const warn = (text: string): void => tell(guard.masker.text(text))
  const report = reportTo(warn)
  const store = sqliteStore({
    directory: options.dataDir ?? config?.server.dataDir ?? ':memory:',
    now: () => systemClock.now(),
    elapsed: () => systemClock.elapsed(),
    clean: (events) => guard.clean(events),
    onHealth: tellHealth(warn),
    onDamage: (fault) => report(fault),
  })
  try {
    return await start(options, config, store, warn, report)
  } catch (error) {
    // The directory is free again for the next try.
    await store.close()
    throw error
  }
}

/** Keys of providers, and what MCP servers are given under names of secrets. */
function configuredSecrets(config: Config | null): string[] {
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

async function start(
  options: TielineOptions,
  config: Config | null,
  store: SqliteStore,
  warn: (text: string) => void,
  report: (fault: unknown) => void,
): Promise<Tieline> {
  const count = countTokens
  const clock = systemClock
  const alarm = createAlarm(clock, true)
  const settings = modelSettings(config?.providers ?? {}, options.agents ?? {}, clock, alarm, count)
  const hosts = hostHub()
  const onHost = hostDriver({ hub: hosts, clock, inputOf: async ({ turn }) => inputIn(store, turn.id) })
  const configured = createAgents(config, options.agents ?? {}, settings, { clock, count }, onHost)
  const agents = agentBook(
    configured,
    agentMaker(configured, settings, { clock, count }, settings.usable(), {
      driver: onHost,
      isThere: (session) => hosts.isThere(session),
    }),
    (fault) => warn(`an agent that was made by API cannot be read: ${String(fault)}`),
  )
  await agents.load(store.lists)
  store.onHint((hints) => hints.forEach((hint) => agents.heed(hint)))
  const toolbox = toolsOf(count, config, options.tools ?? [], clock, warn)
  checkTools(agents, toolbox.names)
  const summarise: Summarise = async (agent, ...rest) =>
    agent.driver === 'model' ? modelSummarise(settings)(agent, ...rest) : null
  const schemas = workerSchemas()
  const node = await startNode(
    {
      store,
      lists: store.lists,
      clock,
      ids: systemIds(() => clock.now()),
      agents,
      tools: toolbox.tools,
      limits: Limits.parse({ ...config?.limits, ...options.limits }),
      count,
      summarise,
      describeWorkspace,
      schemas,
      subagent: options.subagent ?? config?.subagent.agent ?? null,
      asks: options.asks ?? false,
      sampling: options.sampling ?? null,
      report,
    },
    options.resumeAfter ?? null,
  )
  const desks = openDesks({
    builtIn: [pacedModel],
    runtime: node.runtime,
    book: agents,
    toolNames: toolbox.names,
    providers: settings.usable(),
    doorTools: toolbox.standard.filter((tool) => doorTools.includes(tool.name)),
    cwd: resolve(options.cwd ?? process.cwd()),
  })
  const want = wantedSessions({
    hub: hosts,
    store,
    clock,
    alarm,
    fail: (session, why) => failQueued(node.runtime, session, why),
    isHosted: (agent) => agents.get(agent)?.driver === 'host',
    report,
  })
  store.onHint((hints) => hints.forEach(want))
  hosts.onAttached((session) => void claimSession(node.runtime, session).catch(report))
  void putAway(node.runtime, store, warn)
  const close = async (): Promise<void> => {
    desks.stop()
    await node.stop()
    alarm.stop()
    await toolbox.close()
    await schemas.close()
    await store.close()
  }
  return {
    desks,
    hosts,
    agent: (name) => agents.get(name),
    log: logOf(store, clock, async () => replayPorts(store, clock, count, config, options, agents)),
    run: (agent, task, run = {}) =>
      startRun(node.runtime, {
        to: targetOf(agent, run, options.cwd ?? process.cwd()),
        text: task,
        timeoutMs: run.timeoutMs,
        maxTokens: run.maxTokens,
      }),
    call: (id) => readRecord(store, id),
    running: () => node.runtime.running.size,
    idle: () => idle(node.runtime),
    onDelta(listener) {
      node.runtime.deltaListeners.add(listener)
      return () => node.runtime.deltaListeners.delete(listener)
    },
    store,
    close,
    [Symbol.asyncDispose]: close,
  }
}

export type LogOptions = Pick<TielineOptions, 'agents' | 'config' | 'limits' | 'subagent' | 'tools'> & {
  /** Where the log is kept, or `:memory:`. */
  dataDir: string
  /** An exported file to be read into it first; then it must be empty. */
  from?: string
}

/**
 * Opens a log to look at it: no node is started, so nothing in it goes on. Agents are needed for a replay
 * only.
 */
export async function openLog(
  options: LogOptions,
): Promise<RecordedLog & { imported: ExportHeader | null; close(): Promise<void> }> {
  const read = options.from === undefined ? null : readExport(options.from)
  let at: number | null = null
  const store = sqliteStore({ directory: options.dataDir, now: () => at ?? systemClock.now() })
  try {
    if (read !== null)
      await importLog(read, {
        transact: (keys, work) => store.transact(keys, work),
        lastSeq: () => store.lastSeq(),
        at: (moment) => (at = moment),
      })
  } catch (error) {
    await store.close()
    throw error
  }
  at = null
  const ports = async (): Promise<ReplayPorts> => {
    const config = options.config === undefined ? null : await configOf(options.config, () => undefined)
    const count = await loadTokenizer()
    const settings = modelSettings(
      config?.providers ?? {},
      options.agents ?? {},
      systemClock,
      createAlarm(systemClock),
      count,
    )
    return replayPorts(
      store,
      systemClock,
      count,
      config,
      options,
      createAgents(
        config,
        options.agents ?? {},
        settings,
        { clock: systemClock, count },
        hostDriver({ hub: hostHub(), clock: systemClock }),
      ),
    )
  }
  return { ...logOf(store, systemClock, ports), imported: read?.header ?? null, close: () => store.close() }
}

/** Looking back is rarer than going on: what it needs is loaded when it is asked for. */
const logOf = (store: SqliteStore, clock: Clock, ports: () => Promise<ReplayPorts>): RecordedLog => ({
  replay: async (id) => (await import('./runtime/replay/replay.ts')).replay(await ports(), id),
  async explain(id) {
    const [{ explainStall }, { explanationText }] = await Promise.all([
      import('./runtime/look/explain.ts'),
      import('./runtime/look/explanation-text.ts'),
    ])
    const explanation = await explainStall(store, id, clock.now())
    return { ...explanation, text: explanationText(explanation) }
  },
  export: (id) => exportLog(store, readTransactions(store.db), { id, version, env: process.env }),
  events: async (id) => readScope(store, (await findScope(store, id)).turns),
  async calls(limit) {
    const [{ listCalls }, agents] = [await import('./runtime/look/listing.ts'), await store.lists.agentRows()]
    const titles = new Map(agents.map(({ created }) => [created.agent, created.definition.title]))
    return (
      await listCalls(
        { store, lists: store.lists, nameOf: (agent) => titles.get(agent) ?? agent },
        { session: null, limit },
      )
    ).calls
  },
  sessions: (limit) => store.sessions({}, limit),
})

const replayedCheckMsMax = 8000

/**
 * No tool is run by a replay, so no server of tools is started: those that are missing are known by what they
 * left in the record.
 */
function replayPorts(
  store: SqliteStore,
  clock: Clock,
  count: CountTokens,
  config: Config | null,
  options: Pick<TielineOptions, 'limits' | 'subagent' | 'tools'>,
  agents: Agents,
): ReplayPorts {
  const tools = configuredTools(
    [
      ...standardTools(count, config?.subagent.artifactKinds ?? ['note', 'path', 'diff', 'json']),
      ...(options.tools ?? []),
    ],
    config?.tools ?? toolSettingsDefault,
  )
  // A check that ended in time then must not miss its time on a slower machine.
  const schemas = workerSchemas({ msMax: replayedCheckMsMax })
  return {
    store,
    clock,
    count,
    agents,
    schemas,
    tools: { of: async () => tools },
    limits: Limits.parse({ ...config?.limits, ...options.limits }),
    subagent: options.subagent ?? config?.subagent.agent ?? null,
  }
}

/** What a turn was opened by, if by a message. */
async function inputIn(store: SqliteStore, turn: TurnId): Promise<OpeningMessage | null> {
  const row = await store.turn(turn)
  const opened = row === null ? null : await store.event(row.openedSeq)
  return opened?.event.type === 'message.sent' || opened?.event.type === 'message.delivered'
    ? opened.event
    : null
}

const putAwayMs = 600_000

/** Now and then, sessions that nobody uses any more are archived. */
async function putAway(runtime: Runtime, store: SqliteStore, warn: (text: string) => void): Promise<void> {
  while (!runtime.stopping.signal.aborted) {
    try {
      await runtime.clock.sleep(putAwayMs, runtime.stopping.signal)
      await archiveIdle(runtime, store.lists)
    } catch (error) {
      if (!runtime.stopping.signal.aborted)
        warn(`sessions could not be archived: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

const idleLookMs = 50

async function idle(runtime: Runtime): Promise<void> {
  while (runtime.running.size > 0) await runtime.clock.sleep(idleLookMs, runtime.stopping.signal)
}

function targetOf(agent: string, { session, cwd, title }: RunOptions, home: string) {
  const directory = resolve(cwd ?? home)
  if (session === undefined && !isDirectory(directory))
    throw new OptionsError(`cwd: "${directory}" was given, but a directory that exists is needed`)
  if (session === undefined) return { agent, cwd: directory, ...(title === undefined ? {} : { title }) }
  if (!isSessionId(session))
    throw new OptionsError(`session: "${session}" was given, but the id of a session ("ses_…") is needed`)
  return { session }
}

async function configOf(file: string, warn: (text: string) => void): Promise<Config> {
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

/** MCP servers are reached only by agents that have some. */
function toolsOf(
  count: CountTokens,
  config: Config | null,
  own: readonly Tool[],
  clock: Clock,
  warn: (text: string) => void,
): { tools: Tools; names: readonly string[]; standard: readonly Tool[]; close(): Promise<void> } {
  const settings = config?.tools ?? toolSettingsDefault
  const plain = [
    ...standardTools(count, config?.subagent.artifactKinds ?? ['note', 'path', 'diff', 'json']),
    ...own,
  ]
  const [wrong] = settingProblems(
    plain,
    settings,
    (name) =>
      config?.agents.some((agent) =>
        Object.keys(agent.mcpServers).some((server) => name.startsWith(`${server}_`)),
      ) === true,
  )
  if (wrong !== undefined)
    throw new OptionsError(`${wrong.path.join('.')}: unknown key; ${findNearest(wrong.given, wrong.known)}.`)
  const standard = configuredTools(plain, settings)
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
