/**
 * The HTTP server: guards first, then groups of routes, then the doors of other protocols. Every rule is
 * behind the desk.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { fastify, type FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { contained, faultText } from '../model/contained.ts'
import { refusalOfZod } from '../model/refusal.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { describeApi, docsRoutes } from './api-docs.ts'
import { callRoutes } from './call-routes.ts'
import { createListeners } from './feed.ts'
import { feedSocket, type SocketDoors } from './feed-socket.ts'
import { eventRoutes } from './feed-sse.ts'
import { guards, type Guards, type HttpObserver } from './guards.ts'
import { inUrl, isLoopback } from './host-guard.ts'
import { createIdentity, type Identity } from './identity.ts'
import { jsonBodies } from './json-body.ts'
import { knownRoutes } from './known-routes.ts'
import { loggedPath, type LogSink } from './log-sink.ts'
import { mailRoutes } from './mail-routes.ts'
import { pageRoutes } from './page-routes.ts'
import { questionRoutes } from './question-routes.ts'
import { say, type App, type Deps } from './route.ts'
import { sessionRoutes } from './session-routes.ts'
import { statusRoutes } from './status-routes.ts'
import { toolRoutes } from './tool-routes.ts'
import { RefusedInput, WireError, wireNo, faultToWireNo } from './wire-error.ts'

/**
 * Other protocols mount themselves with this, in a scope of their own. Their routes need a token too, unless
 * their `config` says `public: true`; `identity` says who a request is.
 */
export type Door = (app: FastifyInstance, identity: Identity) => Promise<void>

export type HttpLimits = {
  bodyBytesMax: number
  /** Of one client: an address and who it is. */
  requestsPerMinute: number
  /** Event streams and sockets at once. */
  listenersMax: number
  /** What a listener may be behind, once it is up to date, before it is dropped. */
  bufferedBytesMax: number
  /** What all listeners together may not have taken; beyond it, those that hold most are dropped. */
  bufferedBytesTotalMax: number
  connectionsMax: number
  /** Until a request has come as a whole, and until its headers have. */
  requestMsMax: number
  headersMsMax: number
  /** Streams get a comment each beat, sockets a ping each second one. */
  beatMs: number
}

export const httpLimitsDefault: HttpLimits = {
  bodyBytesMax: 1024 * 1024,
  requestsPerMinute: 6000,
  listenersMax: 2000,
  bufferedBytesMax: 1024 * 1024,
  bufferedBytesTotalMax: 128 * 1024 * 1024,
  connectionsMax: 10_000,
  requestMsMax: 30_000,
  headersMsMax: 10_000,
  beatMs: 15_000,
}

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
  close(): Promise<void>
}

const keepAliveMs = 72_000
const headerBytesMax = 16 * 1024
const idCharsMax = 200
const partingMs = 1000

export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  if (options.auth === 'open' && !isLoopback(options.host))
    throw new Error(`host: "${options.host}" can be reached from other machines, so it needs tokens`)
  const limits = { ...httpLimitsDefault, ...options.limits }
  const closing = new AbortController()
  const identity = createIdentity(options)
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
  const app = appOf(limits, deps, options.sockets ?? {})
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
  const broke = (fault: unknown): void =>
    options.log('error', 'a connection broke in the server', { stack: faultText(fault) })
  app.server.on(
    'upgrade',
    contained(broke, (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const ended = (fault: unknown): void => {
        socket.destroy()
        broke(fault)
      }
      contained(ended, () => sockets.upgrade(request, socket, head))()
    }),
  )
  // RFC 9110, 10.1.1: an expectation that is not known may be ignored.
  app.server.on(
    'checkExpectation',
    contained(broke, (request: IncomingMessage, response: ServerResponse) => app.routing(request, response)),
  )
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

function appOf(limits: HttpLimits, { log, closing }: Deps, sockets: SocketDoors): App {
  const http = {
    headersTimeout: limits.headersMsMax,
    requestTimeout: limits.requestMsMax,
    connectionsCheckingInterval: Math.min(limits.headersMsMax, 5000),
    maxHeaderSize: headerBytesMax,
    // Other upgrades, like curl's to HTTP/2, are declined by going on without them.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      (loggedPath(request.url) === '/ws' || Object.hasOwn(sockets, loggedPath(request.url))) &&
      request.headers.upgrade?.toLowerCase() === 'websocket',
  }
  const app = fastify({
    logger: false,
    http,
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestMsMax,
    keepAliveTimeout: keepAliveMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: idCharsMax },
    frameworkErrors: (error, _request, reply) =>
      void say(reply as never, faultToWireNo(error, limits.bodyBytesMax)),
    clientErrorHandler: answerBroken,
    schemaController: {
      compilersFactory: { buildValidator: () => checkInput, buildSerializer: () => () => JSON.stringify },
    } as object,
  }).withTypeProvider<ZodTypeProvider>()
  app.setErrorHandler((error, request, reply) => {
    const no = closing.aborted
      ? wireNo('unavailable', 'The server stops. Try again.', { 'retry-after': '5' })
      : faultToWireNo(error, limits.bodyBytesMax)
    const fields = {
      method: request.method,
      path: loggedPath(request.url),
      stack: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }
    // Nobody is there to read it: most likely what was asked for was cancelled with its client.
    if (no.status >= 500 && no.body.error.code !== 'store_unavailable' && !closing.aborted)
      log(reply.raw.destroyed ? 'debug' : 'error', 'a request broke', fields)
    return say(reply, no)
  })
  return app
}

/**
 * Given from the start, so that the compilers for JSON Schema are not even loaded. The schemas of answers
 * describe them; checking each again would cost more than making it.
 */
const checkInput =
  ({ schema }: { schema: z.ZodType }) =>
  (data: unknown) => {
    const parsed = schema.safeParse(data)
    return parsed.success
      ? { value: parsed.data }
      : { error: new RefusedInput(refusalOfZod(parsed.error, data)) }
  }

async function mount(app: App, deps: Deps, guard: Guards, pageDir: string | null): Promise<void> {
  const known = knownRoutes(app)
  app.decorateRequest('who', null)
  guard.watch(app)
  jsonBodies(app)
  app.setNotFoundHandler((request, reply) => {
    const path = loggedPath(request.url)
    const methods = known.methodsOf(path)
    return methods.length === 0
      ? say(
          reply,
          wireNo('not_found', `There is nothing at ${path.slice(0, 200)}. /docs lists what there is.`),
        )
      : say(
          reply,
          wireNo(
            'method_not_allowed',
            `${path.slice(0, 200)} does not take ${request.method}. It takes ${methods.join(', ')}.`,
            { allow: methods.join(', ') },
          ),
        )
  })
  const describe = describeApi(app, deps.version)
  for (const routes of [sessionRoutes, mailRoutes, callRoutes, questionRoutes, toolRoutes, statusRoutes])
    routes(app, deps)
  pageRoutes(app, deps, pageDir)
  docsRoutes(app, describe)
}

/** For whoever asks without upgrading; the rest of it is in the socket. */
function socketRoute(app: App): void {
  const description =
    'A WebSocket. The server sends `{ type: "subscribed", after, sessionIds }`, `{ type: "event", seq, at, sessionId, event }`, `{ type: "delta", sessionId, turn, epoch, step, offset, text }` and `{ type: "error", error }`; the client may send `{ type: "subscribe", sessionIds?, after? }`, again and again. Without it, every event that it may see comes from now on. `?after`, `?session` and `?token` do the same at once.'
  app.get(
    '/ws',
    {
      schema: {
        summary: 'Live events over a WebSocket',
        description,
        tags: ['events'],
        response: { '4xx': WireError },
      },
    },
    async (_request, reply) =>
      say(
        reply,
        wireNo('upgrade_required', 'This is a WebSocket: ask for an upgrade, or use GET /api/events.', {
          upgrade: 'websocket',
          connection: 'upgrade',
        }),
      ),
  )
}

/** What is not HTTP, comes too slowly or has too much in its headers never gets as far as a route. */
function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  const no =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? wireNo('request_timeout', 'The request did not come in time.')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? wireNo('headers_too_large', `The headers have more than ${headerBytesMax} bytes.`)
        : wireNo('bad_request', 'This is not HTTP/1.1.')
  const body = JSON.stringify(no.body)
  socket.end(
    `HTTP/1.1 ${no.status} No\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
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
