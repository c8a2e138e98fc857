/** Looking at what was recorded, while agents run or when nothing does. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { workerSchemas } from './adapters/schemas/schemas.ts'
import { hostDriver } from './adapters/host/drive.ts'
import { hostHub } from './adapters/host/hub.ts'
import { loadTokenizer } from './adapters/tokens/tokenizer.ts'
import { createAgents, modelSettings } from './agents.ts'
import type { Config, LoadedConfig } from './config.ts'
import type { RecordedLog, TielineOptions } from './line.ts'
import { listTools, readConfig, type ConfigOptions } from './line-parts.ts'
import { Limits } from './model/limits.ts'
import { isRefusal, type Refusal } from './model/refusal.ts'
import type { CountTokens } from './model/text.ts'
import { openStore } from './open-store.ts'
import { openProjects } from './projects/projects.ts'
import { createAlarm } from './runtime/kernel/alarm.ts'
import type { Launcher } from './runtime/kernel/launch-port.ts'
import type { Agents, Clock, Driver } from './runtime/kernel/ports.ts'
import { findScope, readScope, UnknownId } from './runtime/kernel/scope.ts'
import type { Projects } from './runtime/kernel/projects-port.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import type { ExplainPorts } from './runtime/look/explain-ports.ts'
import {
  exportLog,
  exportText,
  importLog,
  readExport,
  type ExportFile,
  type ExportHeader,
} from './runtime/look/export-log.ts'
import { ReplaySetup, type SetupParts } from './runtime/look/replay-setup.ts'
import type { ReplayPorts } from './runtime/replay/replaying.ts'
import { sqliteStore, type OpenStore } from './store/sqlite.ts'
import { privateMode } from './trust/private-files.ts'
import { version } from './version.ts'

/** What replays and exports need beside the log. */
export type LogPorts = { replay: ReplayPorts; setup: SetupParts }

/** What of a configuration a replay depends on. */
export type ReplayConfig = Pick<Config, 'agents' | 'scripts' | 'limits' | 'tools' | 'subagent'>

/** Others run after this time at the latest. */
const exportSliceMs = 8

export type LogOptions = Pick<TielineOptions, 'agents' | 'config' | 'limits' | 'subagent' | 'tools'> & {
  /** Where the log is kept, or `:memory:`. */
  dataDir: string
  /** An exported file to be read into it first; then it must be empty. */
  from?: string
}

export type OpenedLog = RecordedLog & { imported: ExportHeader | null; close(): Promise<void> }

/** Beside a log that was imported: how the agents were configured where it was recorded. */
const setupFile = 'replay.json'

/**
 * Opens a log to look at it: no node is started, so nothing in it goes on. Agents are needed for a replay
 * only.
 */
export const openLog = (options: LogOptions): Promise<OpenedLog> => openLogWith(options)

/** `store` is set where the log is not in the data directory, but shared by a cluster. */
type OwnLogOptions = LogOptions &
  Pick<ConfigOptions, 'loaded'> & { named?: boolean; store?: Config['store']; env?: NodeJS.ProcessEnv }

/** The same for our own commands, which have read the configuration already. */
export async function openLogWith(options: OwnLogOptions): Promise<OpenedLog> {
  const read = options.from === undefined ? null : readExport(options.from)
  let at: number | null = null
  const clock = { ...systemClock, now: () => at ?? systemClock.now() }
  const { dataDir: directory, store: settings, env = process.env } = options
  const store: OpenStore =
    settings === undefined
      ? sqliteStore({ directory, now: clock.now })
      : (await openStore({ directory, settings, clock, env })).store
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
  const came = read?.header.setup ?? null
  if (came !== null && options.dataDir !== ':memory:') await keepSetup(options.dataDir, came)
  const ports = async (): Promise<LogPorts> => {
    const loaded = await readConfig(options, () => undefined)
    const own = loaded === null || loaded.file === null ? null : loaded.config
    // A configuration that was named on purpose wins over the one that came with the log.
    const isNamed = options.config !== undefined || options.named === true
    const setup = isNamed ? null : (came ?? (await readSetup(options.dataDir)))
    const config = setup === null ? own : withSetup(own, setup)
    const count = await loadTokenizer()
    const settings = modelSettings(
      own?.providers ?? {},
      options.agents ?? {},
      systemClock,
      createAlarm(systemClock),
      count,
      null,
      null,
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
        onNobody(),
        notDriven,
      ),
      setup === null && loaded !== null && options.loaded !== undefined
        ? openReplayed(options, loaded, count)
        : undefined,
    )
  }
  return {
    ...presentLog(store, systemClock, ports, null),
    imported: read?.header ?? null,
    close: () => store.close(),
  }
}

/** What a driven agent did is in the record, and is not done again. */
const notDriven: Parameters<typeof createAgents>[5] = {
  driver: { run: () => Promise.reject(new Error('a replay drives no agent')) },
  whyUnavailable: () => null,
  whyUnrestricted: () => null,
  limitOf: () => null,
  windowsOf: () => [],
}

/** A recorded run as a file, made in slices, between which others run. */
export async function exportFrom(
  store: OpenStore,
  clock: Clock,
  ports: () => Promise<LogPorts>,
  id: string | null,
  bytesMax = Infinity,
): Promise<ExportFile | Refusal> {
  const [{ setup }, { nextRound }] = [await ports(), await import('./runtime/kernel/next-round.ts')]
  let from = clock.elapsed()
  const pause = async (): Promise<void> => {
    if (clock.elapsed() - from < exportSliceMs) return
    await nextRound()
    from = clock.elapsed()
  }
  return exportLog(store, store.transactions(), { id, version, env: process.env, setup, bytesMax, pause })
}

/** Most programs never look back, so what it takes is loaded at first use. */
export const presentLog = (
  store: OpenStore,
  clock: Clock,
  ports: () => Promise<LogPorts>,
  isRun: ExplainPorts['isRun'],
): RecordedLog => ({
  replay: async (id) => (await import('./runtime/replay/replay.ts')).replay((await ports()).replay, id),
  async explain(id) {
    const { explainStall } = await import('./runtime/look/explain.ts')
    const explained = await explainStall({ store, now: clock.now(), lists: store.lists, isRun }, id)
    if (explained === null) throw new UnknownId(`nothing of "${id}" may be seen.`)
    return explained
  },
  async export(id) {
    const file = await exportFrom(store, clock, ports, id)
    assert(!isRefusal(file), 'nothing limits it')
    return { header: file.header, text: exportText(file) }
  },
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

/** A replay starts no program. */
const nothingStarts: Launcher = {
  wrap: () => Promise.reject(new Error('a replay starts nothing')),
}

const replayedCheckMsMax = 8000

/** A replay runs no tool, so it starts no MCP server: the record has what their tools answered. */
export function replayPorts(
  store: OpenStore,
  clock: Clock,
  count: CountTokens,
  config: ReplayConfig | null,
  options: Pick<TielineOptions, 'agents' | 'limits' | 'subagent' | 'tools'>,
  agents: Agents,
  projects?: Projects,
): LogPorts {
  const tools = listTools(count, config, options.tools ?? [])
  // A check that ended in time then must not miss its time on a slower machine.
  const schemas = workerSchemas({ msMax: replayedCheckMsMax })
  const limits = Limits.parse({ ...config?.limits, ...options.limits })
  const subagent = options.subagent ?? config?.subagent.agent ?? null
  const { artifactKinds } = config?.subagent ?? {}
  return {
    replay: {
      store,
      clock,
      count,
      agents,
      ...(projects === undefined ? {} : { projects }),
      schemas,
      tools: { of: async () => tools },
      limits,
      subagent,
      ...(artifactKinds === undefined ? {} : { artifactKinds }),
    },
    setup: {
      agents,
      limits,
      subagent,
      artifactKinds: artifactKinds ?? ['note', 'path', 'diff', 'json'],
      tools: config?.tools ?? { enable: ['*'], defaults: {}, locked: {} },
      inCode: {
        agents: Object.entries(options.agents ?? {}).flatMap(([name, { driver, script }]) =>
          typeof driver === 'object' || typeof script === 'function' ? [name] : [],
        ),
        tools: (options.tools ?? []).map(({ name }) => name),
      },
    },
  }
}

const onNobody = (): Driver => hostDriver({ hub: hostHub(), clock: systemClock })

/** Whatever projects the turns worked in: their agents, as their files are now. */
const openReplayed = (options: LogOptions, { base }: LoadedConfig, count: CountTokens): Projects =>
  openProjects({
    ...base,
    base,
    inCode: options.agents ?? {},
    builtIn: {},
    parts: {
      clock: systemClock,
      alarm: createAlarm(systemClock),
      count,
      launcher: nothingStarts,
      prices: null,
      limitBook: null,
      driven: notDriven,
      onHost: onNobody(),
      own: options.tools ?? [],
      hidden: [],
      limits: options.limits ?? {},
      subagent: options.subagent ?? null,
      warn: () => undefined,
    },
    isBusy: () => false,
  })

/** As it was recorded elsewhere: what came with the log, and of the rest what is configured here. */
function withSetup(
  own: Config | null,
  { agents, limits, subagent, artifactKinds, tools }: ReplaySetup,
): ReplayConfig {
  const known = new Set(agents.map(({ name }) => name))
  return {
    agents: [...agents, ...(own?.agents ?? []).filter(({ name }) => !known.has(name))],
    // Rules are not asked in a replay: what they said is on record.
    scripts: {},
    limits,
    subagent: { ...(subagent === null ? {} : { agent: subagent }), artifactKinds },
    tools,
  }
}

const keepSetup = (dataDir: string, setup: ReplaySetup): Promise<void> =>
  writeFile(join(dataDir, setupFile), `${JSON.stringify(setup)}\n`, { mode: privateMode })

/** Null where the log was not imported. */
async function readSetup(dataDir: string): Promise<ReplaySetup | null> {
  if (dataDir === ':memory:') return null
  const text = await readFile(join(dataDir, setupFile), 'utf8').catch(() => null)
  return text === null ? null : ReplaySetup.parse(JSON.parse(text))
}
