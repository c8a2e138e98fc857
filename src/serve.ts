/** Starts the server: the runtime with its doors, on one port. The only file that knows every layer. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { hostSocket } from './adapters/host/socket.ts'
import { lettaDoor } from './adapters/letta/serve.ts'
import { mcpDoor, type McpDoorDeps } from './adapters/mcp/serve.ts'
import { demoAgent } from './adapters/scripted/demo-agent.ts'
import { loadTokenizer } from './adapters/tokens/tokenizer.ts'
import { loadConfig, type LoadedConfig } from './config.ts'
import { createMasker } from './model/mask-secrets.ts'
import { secretValues } from './model/secret-shapes.ts'
import { packageDir } from './own-files.ts'
import { systemClock, watchLoopLag } from './runtime/kernel/system-clock.ts'
import { visible } from './model/visible.ts'
import { systemIds } from './runtime/kernel/system-ids.ts'
import { isLoopback } from './server/host-guard.ts'
import { mintSessionToken } from './server/identity.ts'
import { startHttp, type Door, type HttpLimits, type HttpServer } from './server/http.ts'
import type { LogSink } from './server/log-sink.ts'
import { tieline, type Tieline, type TielineOptions } from './tieline.ts'
import { version } from './version.ts'
import type { Numbers } from './wire/server.ts'
import { mailView, type MailView } from './views/mail-view.ts'
import { metricsView } from './views/metrics.ts'
import { telemetryView, type TelemetryView } from './views/telemetry.ts'
import { totalsView } from './views/totals.ts'

export type ServeOptions = TielineOptions & {
  /** 0 takes any that is free. */
  port?: number
  host?: string
  /** Structured logs; nowhere unless given. */
  log?: LogSink
  limitsOfHttp?: Partial<HttpLimits>
  /** Tools that only test suites of the protocol want. */
  mcpFixtures?: McpDoorDeps['fixtures']
}

export type Served = {
  url: string
  /** Null where everybody on this machine may use it. */
  token: string | null
  dataDir: string
  line: Tieline
  close(): Promise<void>
}

/** A mistake in how the server is to be reached. */
export class ServeError extends Error {}

const pageDir = join(packageDir, 'web', 'dist')
const warmUpMs = 250

export async function serve(options: ServeOptions = {}): Promise<Served> {
  const loaded = await loadConfig({
    file: options.config,
    cwd: process.cwd(),
    env: process.env,
    home: homedir(),
  })
  const { server } = loaded.config
  const host = options.host ?? server.host
  const auth = authOf(server.auth, host)
  const dataDir = resolve(options.dataDir ?? server.dataDir)
  const keys = await keysIn(dataDir, loaded.token)
  const masker = createMasker([...secretValues(process.env), ...keys.known])
  const tell = options.onWarning ?? ((text: string) => console.warn(`tieline: ${visible(text)}`))
  const warn = (text: string): void => tell(masker.text(text))
  const log: LogSink = (level, message, fields) =>
    options.log?.(level, masker.text(message), ...(fields === undefined ? [] : [masker.value(fields)]))
  const telemetry = telemetryView({
    clock: systemClock,
    env: process.env,
    version,
    warn,
    agent: (name) => line.agent(name),
  })
  // A turn that is resumed must not keep the server from being reached: health, cancel and stop must work,
  // whatever it does.
  const listening = Promise.withResolvers<void>()
  const line: Tieline = await tieline({
    resumeAfter: listening.promise,
    asks: true,
    sampling: telemetry?.sampling ?? null,
    ...options,
    ...withAgents(options, loaded),
    secrets: [...keys.known, ...(options.secrets ?? [])],
    dataDir,
    onWarning: warn,
  })
  let http: HttpServer | null = null
  const mail = await mailView({
    ...loaded.config.mail,
    tracing: loaded.config.tracing.enable,
    store: line.store,
    mail: line.desks.as({}).mail,
    clock: systemClock,
    warn,
  })
  try {
    const watched = views(line, telemetry, mail, () => http?.sockets() ?? 0)
    http = await startHttp({
      desks: line.desks,
      clock: systemClock,
      host,
      port: options.port ?? server.port,
      auth,
      token: keys.token,
      secret: keys.secret,
      version,
      doors: doorsOf(line, options, log),
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
    const { url } = http
    const opened = http
    const forget = await announce(dataDir, url, loaded)
    listening.resolve()
    const leaving = new AbortController()
    void warmUp(leaving.signal)
    return {
      url,
      token: auth === 'tokens' ? keys.token : null,
      dataDir,
      line,
      async close() {
        leaving.abort()
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

/**
 * What the first message counts with takes a moment to load: the first answer does not wait for it, and the
 * first message finds it there.
 */
async function warmUp(signal: AbortSignal): Promise<void> {
  await systemClock.sleep(warmUpMs, signal).then(loadTokenizer, () => undefined)
}

/** Loopback needs no token; any other address does, or the server does not start. */
function authOf(auth: 'auto' | 'on' | 'off', host: string): 'tokens' | 'open' {
  if (auth === 'off' && !isLoopback(host))
    throw new ServeError(
      `server.auth: "off" is only possible on a loopback address, and the host is "${host}"; use "auto" or "on".`,
    )
  return auth === 'on' || !isLoopback(host) ? 'tokens' : 'open'
}

/** Without any agent the built-in one answers, so that everything can be tried on a machine without keys. */
function withAgents(
  options: ServeOptions,
  { config, file }: LoadedConfig,
): Pick<TielineOptions, 'agents' | 'config'> {
  const none = config.agents.length === 0 && Object.keys(options.agents ?? {}).length === 0
  const demo = {
    demo: {
      description: 'the offline demo: says what it was told, and asks agents that a message names',
      tools: ['call_agent'],
      allowSubAgentCalls: true,
      script: demoAgent,
    },
  }
  return { ...(file === null ? {} : { config: file }), ...(none ? { agents: demo } : {}) }
}

function doorsOf(line: Tieline, options: ServeOptions, log: LogSink): Door[] {
  const ids = systemIds(() => systemClock.now())
  const report = (fault: unknown): void => log('error', 'mcp', { error: String(fault) })
  const mcp = mcpDoor({
    desks: line.desks,
    clock: systemClock,
    ids,
    version,
    cwd: resolve(options.cwd ?? process.cwd()),
    report,
    ...(options.mcpFixtures === undefined ? {} : { fixtures: options.mcpFixtures }),
  })
  return [lettaDoor({ desks: line.desks, clock: systemClock, ids }), mcp]
}

/**
 * Traces where a collector is configured, mail as files where that is wanted, and numbers for whoever asks.
 */
function views(
  line: Tieline,
  telemetry: TelemetryView | null,
  mail: MailView | null,
  webSockets: () => number,
) {
  const lag = watchLoopLag()
  const metrics = metricsView({
    clock: systemClock,
    version,
    live: async () => ({
      running: line.running(),
      webSockets: webSockets(),
      storeOk: line.store.health().state === 'ok',
      ...(await line.store.lists.counts()),
    }),
    lag: () => lag.look(),
  })
  const { log } = line.desks.as({})
  const unfollow = log.follow(log.lastSeq(), null, {
    events(events) {
      metrics.events(events)
      telemetry?.events(events)
      mail?.events(events)
    },
    delta: () => undefined,
  })
  const totals = totalsView({
    clock: systemClock,
    store: line.store,
    log,
    report: (fault) => process.emitWarning(fault instanceof Error ? fault : String(fault)),
  })
  return {
    metrics,
    async numbers(since: number | null): Promise<Numbers> {
      await totals.begun()
      const { upTo, end, ...sums } = totals.read(since)
      return { ...sums, upTo: String(upTo), end: String(end) }
    },
    async close() {
      unfollow()
      totals.close()
      lag.stop()
      await telemetry?.close()
      await mail?.close()
    },
  }
}

/**
 * The user's token and what signs the tokens of sessions, made at the first start, readable by their owner
 * only.
 */
async function keysIn(
  dataDir: string,
  given: string | null,
): Promise<{ token: string; secret: Uint8Array; /** As they are in their files. */ known: string[] }> {
  await mkdir(dataDir, { recursive: true })
  // The prefix makes the token known by its shape wherever it is read.
  const token =
    given ?? (await kept(join(dataDir, 'token'), () => `tlu_${randomBytes(32).toString('base64url')}`))
  const seed = await kept(join(dataDir, 'secret'), () => randomBytes(32).toString('base64url'))
  return { token, secret: createHash('sha256').update(seed).digest(), known: [token, seed] }
}

async function kept(file: string, make: () => string): Promise<string> {
  const known = await readFile(file, 'utf8').catch(() => '')
  if (known.trim() !== '') return known.trim()
  const made = make()
  await writeFile(file, `${made}\n`, { mode: 0o600 })
  await chmod(file, 0o600)
  return made
}

/** Where the server of this directory listens, and what it was configured with, for whoever looks for it. */
async function announce(
  dataDir: string,
  url: string,
  { file: config, digest }: LoadedConfig,
): Promise<() => Promise<void>> {
  const file = join(dataDir, 'server.json')
  await writeFile(
    `${file}.new`,
    `${JSON.stringify({ url, pid: process.pid, version, startedAt: systemClock.now(), config, digest })}\n`,
    { mode: 0o600 },
  )
  await rename(`${file}.new`, file)
  return () => rm(file, { force: true })
}
