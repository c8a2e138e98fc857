/** Looking at what was recorded, while agents run or when nothing does. */
import { readTransactions } from './store/log-row.ts'
import { workerSchemas } from './adapters/schemas/schemas.ts'
import { hostDriver } from './adapters/host/drive.ts'
import { hostHub } from './adapters/host/hub.ts'
import { loadTokenizer } from './adapters/tokens/tokenizer.ts'
import { createAgents, modelSettings } from './agents.ts'
import type { Config } from './config.ts'
import type { RecordedLog, TielineOptions } from './line.ts'
import { listTools, readConfig, type ConfigOptions } from './line-parts.ts'
import { Limits } from './model/limits.ts'
import type { CountTokens } from './model/text.ts'
import { createAlarm } from './runtime/kernel/alarm.ts'
import type { Agents, Clock } from './runtime/kernel/ports.ts'
import { findScope, readScope, UnknownId } from './runtime/kernel/scope.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import type { ExplainPorts } from './runtime/look/explain-ports.ts'
import { exportLog, importLog, readExport, type ExportHeader } from './runtime/look/export-log.ts'
import type { ReplayPorts } from './runtime/replay/replaying.ts'
import { sqliteStore, type SqliteStore } from './store/sqlite.ts'
import { version } from './version.ts'

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
export const openLog = (
  options: LogOptions,
): Promise<RecordedLog & { imported: ExportHeader | null; close(): Promise<void> }> => openLogWith(options)

/** The same for our own commands, which have read the configuration already. */
export async function openLogWith(
  options: LogOptions & Pick<ConfigOptions, 'loaded'>,
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
    const config = await readConfig(options, () => undefined)
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
  return {
    ...presentLog(store, systemClock, ports, null),
    imported: read?.header ?? null,
    close: () => store.close(),
  }
}

/** Most programs never look back, so what it takes is loaded at first use. */
export const presentLog = (
  store: SqliteStore,
  clock: Clock,
  ports: () => Promise<ReplayPorts>,
  isRun: ExplainPorts['isRun'],
): RecordedLog => ({
  replay: async (id) => (await import('./runtime/replay/replay.ts')).replay(await ports(), id),
  async explain(id) {
    const { explainStall } = await import('./runtime/look/explain.ts')
    const explained = await explainStall({ store, now: clock.now(), mail: store.lists.mail, isRun }, id)
    if (explained === null) throw new UnknownId(`nothing of "${id}" may be seen.`)
    return explained
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

/** A replay runs no tool, so it starts no MCP server: the record has what their tools answered. */
export function replayPorts(
  store: SqliteStore,
  clock: Clock,
  count: CountTokens,
  config: Config | null,
  options: Pick<TielineOptions, 'limits' | 'subagent' | 'tools'>,
  agents: Agents,
): ReplayPorts {
  const tools = listTools(count, config, options.tools ?? [])
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
    ...(config === null ? {} : { artifactKinds: config.subagent.artifactKinds }),
  }
}
