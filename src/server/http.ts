/**
 * The HTTP server: guards first, then groups of routes, then the doors of other protocols. Every rule is
 * behind the desk.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { contained, faultText } from '../model/contained.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { createListeners } from './feed.ts'
import { feedSocket, type FeedSocket, type SocketDoors } from './feed-socket.ts'
import { eventRoutes } from './feed-sse.ts'
import { openFront, type Front, type FrontOptions } from './front.ts'
import { guards } from './guards.ts'
import { watchIdleTime } from './idle-time.ts'
import type { Identity } from './identity.ts'
import type { Upgrade } from './listen-on.ts'
import type { LogSink } from './log-sink.ts'
import type { HttpObserver } from './request-log.ts'
import type { Deps } from './route.ts'
import { createApp, mount, socketRoute } from './http-app.ts'

/**
 * Other protocols mount themselves with this, in a scope of their own. Their routes need a token too, unless
 * their `config` says `public: true`; `identity` says who a request is.
 */
export type Door = (app: FastifyInstance, identity: Identity) => Promise<void>
export type DoorsOptions = {
  desks: Desks
  clock: Clock
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
  /** The directory of sessions that clients are given; the process's own unless given. */
  cwd?: string
}

export type HttpOptions = DoorsOptions & Omit<FrontOptions, 'socketPaths'>

export type HttpServer = {
  url: string
  port: number
  /** How many are connected now. */
  sockets(): number
  app: FastifyInstance
  /** The same server for requests that came another way. */
  handle(request: IncomingMessage, response: ServerResponse): void
  upgrade: Upgrade
  /** How long nobody has asked anything. */
  idleMs(): number
  close(): Promise<void>
}
/** Both at once, for who has nothing else to load in between. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const front = await openFront({ ...options, socketPaths: Object.keys(options.sockets ?? {}) })
  try {
    return await openDoors(front, options)
  } catch (error) {
    front.closing.abort(error)
    await front.close()
    throw error
  }
}

/** Builds the web application, and hands over to it who came meanwhile. */
export async function openDoors(front: Front, options: DoorsOptions): Promise<HttpServer> {
  const { limits, identity, closing, admission, startedAt, server } = front
  const deps: Deps = {
    ...options,
    numbers: options.numbers ?? null,
    identity,
    cwd: options.cwd ?? process.cwd(),
    startedAt,
    closing: closing.signal,
  }
  const guard = guards(admission, front.lines, options)
  const handler = Promise.withResolvers<RequestListener>()
  const app = createApp(limits, deps, (answer) => {
    handler.resolve(answer)
    return server
  })
  const idle = watchIdleTime(app as unknown as FastifyInstance, options.clock, () => sockets.count())
  const feed = createListeners({ ...options, ...limits, closing: closing.signal })
  const sockets = feedSocket({
    ...limits,
    feed,
    log: options.log,
    rate: admission.rate,
    doors: options.sockets ?? {},
    admit: (request) => guard.admit(request),
  })
  await mount(app, deps, guard, options.pageDir)
  eventRoutes(app, deps, feed, limits.listenersMax)
  socketRoute(app)
  for (const door of options.doors)
    await app.register(async (scope) => door(scope as unknown as FastifyInstance, identity))
  // Before it waits for who is still there.
  app.addHook('preClose', (done) => {
    void front.stop()
    done()
  })
  await app.ready()
  const upgrade = acceptUpgrades(sockets, options.log)
  front.open(await handler.promise, upgrade)
  let ended: Promise<void> | null = null
  const close = (): Promise<void> => {
    closing.abort(new Error('the server stops'))
    feed.end()
    return front.close({ close: () => app.close(), terminate: () => sockets.terminate() })
  }
  return {
    url: front.url,
    port: front.port,
    app: app as unknown as FastifyInstance,
    sockets: () => sockets.count(),
    handle: (request, response) => void server.emit('request', request, response),
    upgrade,
    idleMs: () => idle.idleMs(),
    close: () => (ended ??= close()),
  }
}

function acceptUpgrades(sockets: FeedSocket, log: LogSink): Upgrade {
  const broke = (fault: unknown): void =>
    log('error', 'a connection broke in the server', { stack: faultText(fault) })
  return (request, socket, head) => {
    const ended = (fault: unknown): void => {
      socket.destroy()
      broke(fault)
    }
    contained(ended, () => sockets.upgrade(request, socket, head))()
  }
}
