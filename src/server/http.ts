/**
 * The HTTP server: guards first, then groups of routes, then the doors of other protocols. Every rule is
 * behind the desk.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type FastifyInstance } from 'fastify'
import { contained, faultText } from '../model/contained.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { createListeners } from './feed.ts'
import { feedSocket, type FeedSocket, type SocketDoors } from './feed-socket.ts'
import { eventRoutes } from './feed-sse.ts'
import { guards, type HttpObserver } from './guards.ts'
import { watchIdleTime } from './idle-time.ts'
import { inUrl, isLoopback } from './host-guard.ts'
import { createIdentity, type Identity } from './identity.ts'
import { type LogSink } from './log-sink.ts'
import { systemPeers } from './peers.ts'
import { type App, type Deps } from './route.ts'
import { createApp, mount, socketRoute, httpLimitsDefault } from './http-app.ts'
import { type HttpLimits } from './http-app.ts'

/**
 * Other protocols mount themselves with this, in a scope of their own. Their routes need a token too, unless
 * their `config` says `public: true`; `identity` says who a request is.
 */
export type Door = (app: FastifyInstance, identity: Identity) => Promise<void>
export type HttpOptions = {
  desks: Desks
  clock: Clock
  host: string
  port: number
  auth: 'tokens' | 'open'
  token: string | null
  /** Signs capability tokens. */
  secret: Uint8Array
  version: string
  doors: readonly Door[]
  /** Other protocols over a WebSocket, by path. */
  sockets?: SocketDoors
  /** A directory with the built page. */
  pageDir: string | null
  metrics: (() => Promise<string>) | null
  numbers?: Deps['numbers']
  log: LogSink
  observe?: HttpObserver
  limits: Partial<HttpLimits>
  /** Names under which the server may be reached besides the one it is bound to, as in the Host header. */
  allowedHosts?: readonly string[]
  /** The directory of sessions that clients are given; the process's own unless given. */
  cwd?: string
}

export type HttpServer = {
  url: string
  port: number
  /** How many are connected now. */
  sockets(): number
  app: FastifyInstance
  /** The same server for requests that came another way. */
  handle(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** How long nobody has asked anything. */
  idleMs(): number
  close(): Promise<void>
}
const partingMs = 1000

export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  if (options.auth === 'open' && !isLoopback(options.host))
    throw new Error(`host: "${options.host}" can be reached from other machines, so it needs tokens`)
  const limits = { ...httpLimitsDefault, ...options.limits }
  const closing = new AbortController()
  const peers = systemPeers()
  const identity = createIdentity({ ...options, peers })
  const deps: Deps = {
    ...options,
    numbers: options.numbers ?? null,
    identity,
    cwd: options.cwd ?? process.cwd(),
    startedAt: options.clock.elapsed(),
    closing: closing.signal,
  }
  const guard = guards({
    ...options,
    identity,
    allowedHosts: options.allowedHosts ?? [],
    requestsPerMinute: limits.requestsPerMinute,
    closing: closing.signal,
  })
  const app = createApp(limits, deps, options.sockets ?? {})
  const idle = watchIdleTime(app as unknown as FastifyInstance, options.clock, () => sockets.count())
  const feed = createListeners({ ...options, ...limits, closing: closing.signal })
  const sockets = feedSocket({
    ...limits,
    feed,
    log: options.log,
    rate: guard.rate,
    doors: options.sockets ?? {},
    admit: (request) => guard.admit(request),
  })
  await mount(app, deps, guard, options.pageDir)
  eventRoutes(app, deps, feed, limits.listenersMax)
  socketRoute(app)
  for (const door of options.doors)
    await app.register(async (scope) => door(scope as unknown as FastifyInstance, identity))
  const upgrade = acceptUpgrades(app, sockets, options.log)
  app.server.maxConnections = limits.connectionsMax
  await app.listen({ host: options.host, port: options.port }).catch(async (error: unknown) => {
    // Nothing that was begun for it may go on: a process whose port is taken must be able to end.
    closing.abort(error)
    await app.close()
    throw error
  })
  const { port } = app.server.address() as AddressInfo
  guard.open(port)
  const host = options.host === '0.0.0.0' ? '127.0.0.1' : options.host === '::' ? '::1' : options.host
  let ended: Promise<void> | null = null
  return {
    url: `http://${inUrl(host)}:${port}`,
    port,
    app: app as unknown as FastifyInstance,
    sockets: () => sockets.count(),
    handle: (request, response) => void app.server.emit('request', request, response),
    upgrade,
    idleMs: () => idle.idleMs(),
    close: () =>
      (ended ??= closeAll(
        app,
        options.clock,
        () => {
          closing.abort(new Error('the server stops'))
          feed.end()
        },
        () => sockets.terminate(),
      )),
  }
}

function acceptUpgrades(app: App, sockets: FeedSocket, log: LogSink): HttpServer['upgrade'] {
  const broke = (fault: unknown): void =>
    log('error', 'a connection broke in the server', { stack: faultText(fault) })
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const ended = (fault: unknown): void => {
      socket.destroy()
      broke(fault)
    }
    contained(ended, () => sockets.upgrade(request, socket, head))()
  }
  app.server.on('upgrade', contained(broke, upgrade))
  // RFC 9110, 10.1.1: an expectation that is not known may be ignored.
  app.server.on(
    'checkExpectation',
    contained(
      broke,
      (request: IncomingMessage, response: ServerResponse) =>
        void app.server.emit('request', request, response),
    ),
  )
  return upgrade
}

/** What blocks is told, and answers; what does not leave by itself in a moment is cut off. */
async function closeAll(app: App, clock: Clock, tell: () => void, terminate: () => void): Promise<void> {
  const left = new AbortController()
  tell()
  const cut = clock.sleep(partingMs, left.signal).then(
    () => {
      terminate()
      app.server.closeAllConnections()
    },
    () => undefined,
  )
  await app.close()
  left.abort()
  await cut
}
