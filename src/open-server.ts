/** Starts the server: the runtime with its doors, on one port. The only file that knows every layer. */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { codexLink } from './adapters/codex/link.ts'
import { describePeers, describeUnconfined, startsPrograms } from './adapters/sandbox/describe-open.ts'
import { hostSocketPath } from './adapters/host/hub.ts'
import { demoAgent } from './adapters/scripted/demo-agent.ts'
import { loadConfig, type LoadedConfig } from './config.ts'
import type { TielineOptions } from './line.ts'
import type { ConfigOptions } from './line-parts.ts'
import { createMasker } from './model/mask-secrets.ts'
import { secretValues } from './model/secret-shapes.ts'
import { isCapability } from './model/turn-variable.ts'
import { visible } from './model/visible.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import { announce, readKeys, type Keys } from './server-files.ts'
import { ServeError, type Served, type ServeOptions } from './server-options.ts'
import { watchLine } from './server-views.ts'
import { openFront, type Front } from './server/front.ts'
import { isLoopback } from './server/host-guard.ts'
import type { HttpServer } from './server/http.ts'
import type { HttpLimits } from './server/http-limits.ts'
import { mintTurnToken } from './server/identity.ts'
import type { DoorsBase } from './open-doors.ts'
import { openLine, type OpenLine, type OpenLineOptions } from './open-line.ts'
import { version } from './version.ts'
import { isRefusal } from './model/refusal.ts'
import { mailView, type MailView } from './views/mail-view.ts'
import { runNotify } from './views/notify-process.ts'
import { notifyView, type NotifyView } from './views/notify.ts'
import { describeUnused } from './trust/describe-reach.ts'
import { telemetryView, type TelemetryView } from './views/telemetry.ts'
import { listHeavy, warmUp } from './warm-up.ts'

export type OpenServerOptions = ServeOptions &
  Pick<ConfigOptions, 'loaded'> &
  Pick<OpenLineOptions, 'leaseMs'> & {
    limitsOfHttp?: Partial<HttpLimits>
    /** Where Codex keeps its own files: its open sessions are told of their mail. Without it they are not. */
    codexHome?: string
    /**
     * Told when the server can be found and says whether it lives. Whatever else it is asked waits, for a moment,
     * until it is all there.
     */
    onListening?: (at: Listening) => void
  } & Pick<DoorsBase['options'], 'mcpFixtures'>

export type Listening = Pick<Served, 'url' | 'token' | 'dataDir' | 'close'>

/** The public object, and the parts of its line. */
export type OpenServer = Served & {
  line: OpenLine
  /** How long nobody has asked anything of it. */
  idleMs(): number
}

/** What a server is started with, once its configuration is read. */
type Base = DoorsBase & {
  options: OpenServerOptions
  loaded: LoadedConfig
  host: string
  auth: 'tokens' | 'open'
  dataDir: string
  keys: Keys
  /** Hides what is a secret. */
  mask: (text: string) => string
}

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
  const reachable = Promise.withResolvers<void>()
  const opened: Opened = { telemetry }
  const line: OpenLine = await openLine({
    resumeAfter: reachable.promise,
    asks: true,
    sampling: telemetry?.sampling ?? null,
    ...options,
    projects: options.projects ?? true,
    builtIn: offlineDemo,
    loaded,
    secrets: [...keys.known, ...(options.secrets ?? [])],
    dataDir,
    onWarning: warn,
    door: () =>
      opened.http === undefined ? null : { ...opened.http, mint: (turn) => mintTurnToken(keys.secret, turn) },
  })
  let closing: Promise<void> | null = null
  const close = (): Promise<void> => (closing ??= closeAll(opened, line))
  const isClosed = (): boolean => closing !== null
  try {
    const watched = await watch(base, line, opened)
    const front = (opened.front = await listen(base, line, watched))
    opened.forget = await announce(dataDir, front.url, base.auth, loaded)
    const at = { url: front.url, token: base.auth === 'tokens' ? keys.token : null, dataDir, close }
    if (options.onListening !== undefined) await tellListening(options.onListening, at, front)
    const { openServerDoors } = await import('./open-doors.ts')
    const http = (opened.http = await openServerDoors(front, base, line, watched))
    if (isClosed()) throw new ServeError('The server was closed before its doors were open.')
    reachable.resolve()
    opened.codex = joinCodex(base, line)
    opened.leaving = new AbortController()
    const heavy = listHeavy(line.book, loaded.config.providers, process.env)
    void warmUp(heavy, systemClock, opened.leaving.signal)
    void warnOfOpenings(base, line).catch((fault: unknown) => warn(String(fault)))
    return { ...at, line, idleMs: () => http.idleMs() }
  } catch (error) {
    reachable.resolve()
    opened.front?.closing.abort(error)
    await close()
    // They may have been opened while the rest was closed.
    await opened.http?.close()
    throw error
  }
}

/** What is open so far, besides the line. */
type Opened = {
  telemetry: TelemetryView | null
  mail?: MailView | null
  watched?: ReturnType<typeof watchLine>
  front?: Front
  http?: HttpServer
  forget?: () => Promise<void>
  codex?: { close(): void } | null
  leaving?: AbortController
}

async function closeAll(opened: Opened, line: OpenLine): Promise<void> {
  opened.leaving?.abort()
  opened.codex?.close()
  await opened.forget?.()
  await (opened.http ?? opened.front)?.close()
  if (opened.watched === undefined) {
    await opened.mail?.close()
    await opened.telemetry?.close()
  }
  await opened.watched?.close()
  await line.close()
}

async function watch(base: Base, line: OpenLine, opened: Opened): Promise<ReturnType<typeof watchLine>> {
  const { mail, tracing } = base.loaded.config
  opened.mail = await mailView({
    ...mail,
    tracing: tracing.enable,
    store: line.store,
    mail: line.desks.as({}).mail,
    clock: systemClock,
    warn: base.warn,
  })
  const notify = openNotify(base, line, () => opened.front?.url ?? '')
  const sockets = (): number => opened.http?.sockets() ?? 0
  return (opened.watched = watchLine(line, opened.telemetry, opened.mail, notify, sockets, base.dataDir))
}

const listen = (
  { options, loaded, host, auth, keys, log }: Base,
  line: OpenLine,
  { metrics }: ReturnType<typeof watchLine>,
): Promise<Front> =>
  openFront({
    desks: line.desks,
    clock: systemClock,
    host,
    port: options.port ?? loaded.config.server.port,
    auth,
    token: keys.token,
    secret: keys.secret,
    version,
    socketPaths: [hostSocketPath],
    observe: (...seen) => metrics.observeRequest(...seen),
    log,
    limits: options.limitsOfHttp ?? {},
  })

/** Who was told of the address asks first whether the server lives; nothing is answered while the doors load. */
const askedWithinMs = 100

async function tellListening(
  tell: (at: Listening) => void,
  at: Listening,
  front: Pick<Front, 'asked'>,
): Promise<void> {
  tell(at)
  const over = new AbortController()
  await Promise.race([front.asked, systemClock.sleep(askedWithinMs, over.signal).catch(() => undefined)])
  over.abort()
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
