/** Puts the runtime together in one process. What a program may not need is loaded when it is first used. */
import { workerSchemas } from './adapters/schemas/schemas.ts'
import { dirname, resolve } from 'node:path'
import { hostDriver } from './adapters/host/drive.ts'
import { hostHub, type HostHub } from './adapters/host/hub.ts'
import { wantedSessions } from './adapters/host/wanted.ts'
import { tablePrices } from './adapters/prices/price-table.ts'
import { pacedModel } from './adapters/scripted/demo-agent.ts'
import type { LauncherOptions, OpenLauncher } from './adapters/sandbox/launcher.ts'
import { countTokens } from './adapters/tokens/tokenizer.ts'
import { agentMaker } from './agents.ts'
import { clusterClock, joinCluster, nodePorts, type OwnNode } from './cluster.ts'
import type { Config, LoadedConfig } from './config.ts'
import { limitBook } from './adapters/limits/limit-book.ts'
import { presentDesk, type Tieline, type TielineOptions } from './line.ts'
import { presentRuns } from './line-runs.ts'
import {
  listOwnDirectories,
  listSecrets,
  openDriven,
  openLauncher,
  readConfig,
  readSource,
} from './line-parts.ts'
import type { ConfigOptions } from './line-parts.ts'
import type { OpeningMessage } from './model/event.ts'
import type { TurnId } from './model/id.ts'
import type { Sampling } from './model/trace.ts'
import { visible } from './model/visible.ts'
import { listStoreSecrets, openStore, storeSettings } from './open-store.ts'
import type { LayerParts } from './projects/project-layer.ts'
import { openProjects, type OpenProjects } from './projects/projects.ts'
import { findAgent } from './runtime/kernel/projects-port.ts'
import { isThere } from './runtime/kernel/runtime.ts'
import { exportFrom, presentLog, replayPorts } from './recorded-log.ts'
import { openDesks, type Desks } from './runtime/desk/desk.ts'
import type { LimitBook } from './runtime/kernel/driven-port.ts'
import { createAlarm, type Alarm } from './runtime/kernel/alarm.ts'
import { reportTo, tellHealth } from './runtime/kernel/report-faults.ts'
import type { Runtime } from './runtime/sessions/runtime.ts'
import { secretGuard } from './runtime/kernel/secret-guard.ts'
import type { Clock } from './runtime/kernel/ports.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import { systemIds } from './runtime/kernel/system-ids.ts'
import { startNode } from './runtime/node.ts'
import { agentBook, type AgentBook } from './runtime/sessions/agent-book.ts'
import { archiveForever } from './runtime/sessions/archive-forever.ts'
import { claimSession } from './runtime/turns/claim.ts'
import { failQueued } from './runtime/turns/ending.ts'
import type { OpenStore } from './store/sqlite.ts'
import { describeWorkspace } from './tools/describe-workspace.ts'
import { doorTools } from './tools/standard.ts'

export type OpenLineOptions = TielineOptions &
  Pick<ConfigOptions, 'loaded'> & {
    /** Which traces are exported, so that programs that agents ask can join them. */
    sampling?: Sampling | null
    /** Agents that are there where no other is configured. */
    builtIn?: TielineOptions['agents']
    /** Turns that an earlier process left go on when this has settled; without it at once. It must settle. */
    resumeAfter?: Promise<unknown>
    /** How long others wait for this node when it says nothing any more. */
    leaseMs?: number
    /** Where a server serves this line: what a turn starts acts there in its turn. */
    door?: LauncherOptions['door'] | undefined
  }

/** The public object, and the parts that a server needs besides. */
export type OpenLine = Tieline & {
  readonly store: OpenStore
  readonly desks: Desks
  /** Connected programs that run turns. */
  readonly hosts: HostHub
  readonly book: AgentBook
  readonly launcher: OpenLauncher
}

/** What everything below is started with. */
type Base = {
  options: OpenLineOptions
  loaded: LoadedConfig | null
  /** What the server itself goes by. */
  config: Config | null
  store: OpenStore
  own: OwnNode
  clock: Clock
  alarm: Alarm
  hosts: HostHub
  limits: LimitBook
  warn: (text: string) => void
  report: (fault: unknown) => void
}

export async function openLine(options: OpenLineOptions = {}): Promise<OpenLine> {
  const tell = options.onWarning ?? ((text: string) => console.warn(`tieline: ${visible(text)}`))
  const loaded = await readConfig(options, tell)
  const config = loaded === null || loaded.file === null ? null : loaded.config
  const guard = secretGuard({
    env: process.env,
    values: [
      ...listSecrets(config),
      ...listStoreSecrets(config ?? options.loaded?.config ?? null),
      ...(options.secrets ?? []),
    ],
  })
  const warn = (text: string): void => tell(guard.masker.text(text))
  const report = reportTo(warn)
  const directory = options.dataDir ?? config?.server.dataDir ?? ':memory:'
  const { store, cluster } = await openStore({
    directory,
    settings: storeSettings(config, options.loaded),
    clock: systemClock,
    cleaner: guard,
    onHealth: tellHealth(warn),
    onDamage: (fault) => report(fault),
  })
  const clock = clusterClock(systemClock, cluster)
  try {
    return await start({
      options,
      loaded,
      config,
      store,
      own: { cluster, clock, settings: (config ?? options.loaded?.config)?.node },
      clock,
      alarm: createAlarm(clock, true),
      hosts: hostHub(),
      limits: limitBook({
        clock,
        directory: directory === ':memory:' ? null : directory,
        clean: (text) => guard.masker.text(text),
        report,
      }),
      warn,
      report,
    })
  } catch (error) {
    // The directory is free again for the next try.
    await store.close()
    throw error
  }
}

async function start(base: Base): Promise<OpenLine> {
  const { options, config, store, own, clock, alarm, hosts, warn } = base
  const launcher = openLauncher(options, config, base.report)
  const { driven, continues } = openDriven({ ...base, launcher, count: countTokens })
  const hidden = listOwnDirectories(options.dataDir ?? config?.server.dataDir, config)
  const projects = startProjects(base, { driven, launcher }, hidden, () => runtime.running.size > 0)
  const book = await loadBook(base, projects)
  const { toolbox, settings, limits, summarise, subagent, artifactKinds } = projects.layer()
  const [schemas, cwd] = [workerSchemas(), resolve(options.cwd ?? process.cwd())]
  const { runtime, stop } = await startNode(
    {
      store,
      lists: store.lists,
      clock,
      ids: systemIds(() => clock.now()),
      agents: book,
      ...(options.projects === true ? { projects } : {}),
      tools: toolbox.tools,
      limits,
      count: countTokens,
      summarise,
      describeWorkspace: (at, files, field) => describeWorkspace(at, files, field, hidden),
      schemas,
      launcher,
      continues,
      subagent,
      artifactKinds,
      ...(config === null ? {} : { release: config.mail.release, wake: config.wake }),
      ...nodePorts(own, options.leaseMs),
      asks: options.asks ?? false,
      sampling: options.sampling ?? null,
      report: base.report,
    },
    options.resumeAfter ?? null,
  )
  const leave = joinCluster(own, runtime, () => options.door?.()?.url ?? null)
  const ports = async () => replayPorts(store, clock, countTokens, config, options, book, runtime.projects)
  const log = presentLog(store, clock, ports, (row) => isThere(runtime, findAgent(runtime, row), row))
  const desks = openDesks({
    builtIn: [pacedModel],
    runtime,
    book,
    toolNames: toolbox.names,
    providers: settings.usable(),
    doorTools: toolbox.standard.filter((tool) => doorTools.includes(tool.name)),
    cwd,
    exportLog: (id, bytesMax) => exportFrom(store, clock, ports, id, bytesMax),
  })
  wakeHosts(base, runtime)
  void archiveForever(runtime, store, storeSettings(config, options.loaded)?.segmentAfterDays ?? 0, warn)
  const close = async (): Promise<void> => {
    desks.stop()
    leave()
    await stop()
    alarm.stop()
    for (const part of [driven, projects, launcher, schemas, base.limits, store]) await part.close()
  }
  return {
    ...presentDesk(desks.as({ client: { name: 'program', cwd } }), log),
    ...presentRuns(runtime, options.cwd ?? process.cwd()),
    agent: (name) => book.get(name),
    desks,
    hosts,
    book,
    launcher,
    store,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The user's own agents and those of projects. Without `projects` the directories of sessions do not matter. */
function startProjects(
  { options, loaded, store, clock, alarm, hosts, limits, warn }: Base,
  { driven, launcher }: Pick<LayerParts, 'driven' | 'launcher'>,
  hidden: readonly string[],
  isBusy: () => boolean,
): OpenProjects {
  const { config = null, files = null, named = null } = loaded?.base ?? {}
  return openProjects({
    named,
    source: loaded?.base.source ?? readSource(),
    base: { config, files },
    inCode: options.agents ?? {},
    builtIn: options.builtIn ?? {},
    parts: {
      clock,
      alarm,
      count: countTokens,
      launcher,
      driven,
      limitBook: limits,
      prices: tablePrices(config?.prices),
      onHost: hostDriver({ hub: hosts, clock, inputOf: ({ turn }) => readOpening(store, turn.id) }),
      own: options.tools ?? [],
      hidden,
      limits: options.limits ?? {},
      subagent: options.subagent ?? null,
      warn,
    },
    isBusy,
  })
}

async function loadBook(
  { loaded, store, clock, hosts, warn }: Base,
  projects: OpenProjects,
): Promise<AgentBook> {
  const { settings } = projects.layer()
  const onHost = hostDriver({ hub: hosts, clock, inputOf: ({ turn }) => readOpening(store, turn.id) })
  const ports = { clock, count: countTokens }
  const maker = agentMaker(projects.user, settings, ports, () => projects.layer().settings.usable(), {
    driver: onHost,
    isThere: (session) => hosts.isThere(session),
  })
  const book = agentBook(projects.user, maker, (fault) =>
    warn(`an agent that was made by API cannot be read: ${String(fault)}`),
  )
  if (loaded?.found === true && loaded.file !== null) projects.check(dirname(loaded.file))
  await book.load(store.lists)
  store.onHint((hints) => hints.forEach((hint) => book.apply(hint)))
  projects.useBook(book)
  return book
}

/** What a turn was opened by, if by a message. */
async function readOpening(store: OpenStore, turn: TurnId): Promise<OpeningMessage | null> {
  const row = await store.turn(turn)
  const opened = row === null ? null : await store.event(row.openedSeq)
  return opened?.event.type === 'message.sent' || opened?.event.type === 'message.delivered'
    ? opened.event
    : null
}

/** Connected programs open the sessions that were made for them, and run what waited for them. */
function wakeHosts({ store, clock, alarm, hosts, report }: Base, runtime: Runtime): void {
  const want = wantedSessions({
    hub: hosts,
    store,
    clock,
    alarm,
    fail: (session, why) => failQueued(runtime, session, why),
    isHosted: (agent) => runtime.agents.get(agent)?.driver === 'host',
    report,
  })
  store.onHint((hints) => hints.forEach(want))
  hosts.onAttached((session) => void claimSession(runtime, session).catch(report))
}
