/** Starts the server: the runtime with its doors, on one port. The only file that knows every layer. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { codexLink } from './adapters/codex/link.ts'
import { hostSocket } from './adapters/host/socket.ts'
import { lettaDoor } from './adapters/letta/serve.ts'
import { mcpDoor, type McpDoorDeps } from './adapters/mcp/serve.ts'
import { describePeers, describeUnconfined, startsPrograms } from './adapters/sandbox/describe-open.ts'
import { demoAgent } from './adapters/scripted/demo-agent.ts'
import { loadConfig, type LoadedConfig } from './config.ts'
import type { TielineOptions } from './line.ts'
import type { ConfigOptions } from './line-parts.ts'
import { createMasker } from './model/mask-secrets.ts'
import { secretValues } from './model/secret-shapes.ts'
import { isCapability } from './model/turn-variable.ts'
import { visible } from './model/visible.ts'
import { packageDir } from './own-files.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import { systemIds } from './runtime/kernel/system-ids.ts'
import { announce, readKeys, type Keys } from './server-files.ts'
import { ServeError, type Served, type ServeOptions } from './server-options.ts'
import { watchLine } from './server-views.ts'
import { isLoopback } from './server/host-guard.ts'
import type { HttpLimits } from './server/http-limits.ts'
import { startHttp, type Door, type HttpServer } from './server/http.ts'
import { mintSessionToken, mintTurnToken } from './server/identity.ts'
import type { LogSink } from './server/log-sink.ts'
import { openLine, type OpenLine, type OpenLineOptions } from './open-line.ts'
import { version } from './version.ts'
import { isRefusal } from './model/refusal.ts'
import { mailView } from './views/mail-view.ts'
import { runNotify } from './views/notify-process.ts'
import { notifyView, type NotifyView } from './views/notify.ts'
import { describeUnused } from './trust/describe-reach.ts'
import { telemetryView } from './views/telemetry.ts'
import { listHeavy, warmUp } from './warm-up.ts'

export type OpenServerOptions = ServeOptions &
  Pick<ConfigOptions, 'loaded'> &
  Pick<OpenLineOptions, 'leaseMs'> & {
    limitsOfHttp?: Partial<HttpLimits>
    /** Where Codex keeps its own files: its open sessions are told of their mail. Without it they are not. */
    codexHome?: string
    /** Tools that only test suites of the protocol want. */
    mcpFixtures?: McpDoorDeps['fixtures']
  }

/** The public object, and the parts of its line. */
export type OpenServer = Served & {
  line: OpenLine
  /** How long nobody has asked anything of it. */
  idleMs(): number
}

/** What a server is started with, once its configuration is read. */
type Base = {
  options: OpenServerOptions
  loaded: LoadedConfig
  host: string
  auth: 'tokens' | 'open'
  dataDir: string
  keys: Keys
  /** Hides what is a secret. */
  mask: (text: string) => string
  warn: (text: string) => void
  log: LogSink
}

const pageDir = join(packageDir, 'web', 'dist')

export async function openServer(options: OpenServerOptions = {}): Promise<OpenServer> {
  const base = await readBase(options)
  const { loaded, keys, dataDir, warn } = base
  const telemetry = telemetryView({
    clock: systemClock,
    env: process.env,
    version,
    warn,
    agent: (name) => line.book.get(name),
  })
  // A turn that is resumed must not keep the server from being reached: health, cancel and stop must work,
  // whatever it does.
  const listening = Promise.withResolvers<void>()
  let http: HttpServer | null = null
  const line: OpenLine = await openLine({
    resumeAfter: listening.promise,
    asks: true,
    sampling: telemetry?.sampling ?? null,
    ...options,
    projects: options.projects ?? true,
    builtIn: offlineDemo,
    loaded,
    secrets: [...keys.known, ...(options.secrets ?? [])],
    dataDir,
    onWarning: warn,
    door: () => (http === null ? null : { ...http, mint: (turn) => mintTurnToken(keys.secret, turn) }),
  })
  const mail = await mailView({
    ...loaded.config.mail,
    tracing: loaded.config.tracing.enable,
    store: line.store,
    mail: line.desks.as({}).mail,
    clock: systemClock,
    warn,
  })
  try {
    const notify = openNotify(base, line, () => http?.url ?? '')
    const watched = watchLine(line, telemetry, mail, notify, () => http?.sockets() ?? 0, dataDir)
    http = await listen(base, line, watched)
    const opened = http
    const forget = await announce(dataDir, opened.url, base.auth, loaded)
    listening.resolve()
    const leaving = new AbortController()
    const codex = joinCodex(base, line)
    void warmUp(listHeavy(line.book, loaded.config.providers, process.env), systemClock, leaving.signal)
    void warnOfOpenings(base, line).catch((fault: unknown) => warn(String(fault)))
    return {
      url: opened.url,
      token: base.auth === 'tokens' ? keys.token : null,
      dataDir,
      line,
      idleMs: () => opened.idleMs(),
      async close() {
        leaving.abort()
        codex?.close()
        await forget()
        await opened.close()
        await watched.close()
        await line.close()
      },
    }
  } catch (error) {
    listening.resolve()
    await http?.close()
    await mail?.close()
    await telemetry?.close()
    await line.close()
    throw error
  }
}

/** Only the user's own file, or one that was named, says what to run. */
function openNotify({ loaded, mask, warn }: Base, line: OpenLine, url: () => string): NotifyView | null {
  const { command } = loaded.base.config.notify
  if (command === undefined) return null
  return notifyView({
    command,
    needs: async () => {
      const found = await line.desks.as({}).log.needs()
      return isRefusal(found) ? [] : found.needs
    },
    link: () => `${url()}/`,
    mask,
    run: runNotify(systemClock, process.env),
    clock: systemClock,
    warn,
  })
}

async function readBase(options: OpenServerOptions): Promise<Base> {
  const loaded =
    options.loaded ??
    (await loadConfig({ file: options.config, cwd: process.cwd(), env: process.env, home: homedir() }))
  const { server } = loaded.config
  const host = options.host ?? server.host
  const auth = chooseAuth(server.auth, host)
  const dataDir = resolve(options.dataDir ?? server.dataDir)
  // Inside a turn of another server the variable has the token of that turn.
  const given = loaded.token === null || isCapability(loaded.token) ? null : loaded.token
  const keys = await readKeys(dataDir, given)
  const masker = createMasker([...secretValues(process.env), ...keys.known])
  const tell = options.onWarning ?? ((text: string) => console.warn(`tieline: ${visible(text)}`))
  if (options.loaded === undefined && loaded.untrusted !== null) tell(describeUnused(loaded.untrusted))
  return {
    options,
    loaded,
    host,
    auth,
    dataDir,
    keys,
    mask: (text) => masker.text(text),
    warn: (text) => tell(masker.text(text)),
    log: (level, message, fields) =>
      options.log?.(level, masker.text(message), ...(fields === undefined ? [] : [masker.value(fields)])),
  }
}

const listen = (
  { options, loaded, host, auth, keys, warn, log }: Base,
  line: OpenLine,
  watched: ReturnType<typeof watchLine>,
): Promise<HttpServer> =>
  startHttp({
    desks: line.desks,
    clock: systemClock,
    host,
    port: options.port ?? loaded.config.server.port,
    auth,
    token: keys.token,
    secret: keys.secret,
    version,
    doors: openDoors(line, options, log),
    sockets: {
      '/ws/host': hostSocket({
        desks: line.desks,
        hub: line.hosts,
        mint: (session) => mintSessionToken(keys.secret, session),
        report: (fault) => warn(String(fault)),
      }),
    },
    pageDir: existsSync(pageDir) ? pageDir : null,
    metrics: () => watched.metrics.text(),
    numbers: (since) => watched.numbers(since),
    observe: (...seen) => watched.metrics.observeRequest(...seen),
    log,
    limits: options.limitsOfHttp ?? {},
    cwd: resolve(options.cwd ?? process.cwd()),
  })

/** Windows has no such sockets. */
const joinCodex = ({ options, loaded, warn }: Base, line: OpenLine): { close(): void } | null =>
  options.codexHome === undefined || !loaded.config.wake.codex || process.getuid === undefined
    ? null
    : codexLink({
        desks: line.desks,
        clock: systemClock,
        codexHome: options.codexHome,
        uid: process.getuid(),
        version,
        report: (fault) => warn(`Codex: ${String(fault)}`),
      })

/** Says what an agent's programs could do here that they should not; it takes a moment to find out. */
async function warnOfOpenings({ auth, loaded, warn }: Base, line: OpenLine): Promise<void> {
  const named = line.book.names().flatMap((name) => line.book.get(name) ?? [])
  const agents = loaded.found ? [...loaded.config.agents, ...named] : named
  const open = { auth, platform: process.platform, mode: loaded.config.server.sandbox, agents }
  const peers = describePeers(open)
  if (peers !== null) warn(peers)
  if (!agents.some(startsPrograms)) return
  const unconfined = describeUnconfined(open, await line.launcher.found())
  if (unconfined !== null) warn(unconfined)
}

/** Loopback needs no token; any other address does, or the server does not start. */
function chooseAuth(auth: 'auto' | 'on' | 'off', host: string): 'tokens' | 'open' {
  if (auth === 'off' && !isLoopback(host))
    throw new ServeError(
      `server.auth: "off" is only possible on a loopback address, and the host is "${host}"; ` +
        'use "auto" or "on".',
    )
  return auth === 'on' || !isLoopback(host) ? 'tokens' : 'open'
}

/** Without any agent the built-in one answers, so that everything can be tried on a machine without keys. */
const offlineDemo: TielineOptions['agents'] = {
  demo: {
    description: 'the offline demo: says what it was told, and asks agents that a message names',
    tools: ['call_agent'],
    allowSubAgentCalls: true,
    script: demoAgent,
  },
}

function openDoors(line: OpenLine, options: OpenServerOptions, log: LogSink): Door[] {
  const ids = systemIds(() => systemClock.now())
  const report = (fault: unknown): void => log('error', 'mcp', { error: String(fault) })
  const mcp = mcpDoor({
    desks: line.desks,
    clock: systemClock,
    ids,
    version,
    report,
    ...(options.mcpFixtures === undefined ? {} : { fixtures: options.mcpFixtures }),
  })
  return [lettaDoor({ desks: line.desks, clock: systemClock, ids }), mcp]
}
