/**
 * What listens. It is there before the web application is loaded, answers whether the server lives, and keeps
 * everything else until the doors behind it are open; from then on it only hands over.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { contained, faultText } from '../model/contained.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { admission, type Admission } from './admission.ts'
import { earlyArrivals, type EarlyArrivals } from './early-arrivals.ts'
import { readHealth, type HealthDeps } from './health.ts'
import { inUrl, isLoopback } from './host-guard.ts'
import { httpLimitsDefault, type HttpLimits } from './http-limits.ts'
import { createIdentity, type Identity } from './identity.ts'
import { listenOn, type Doors, type Upgrade } from './listen-on.ts'
import type { LogSink } from './log-sink.ts'
import { systemPeers } from './peers.ts'
import { pipelining, type Pipelining } from './pipelining.ts'
import { answerPlainly, answerSocket } from './plain-answer.ts'
import { logAnswered, logDeclined, type HttpObserver } from './request-log.ts'
import { takeRequests } from './take-requests.ts'

export type FrontOptions = {
  desks: Pick<Desks, 'health' | 'runs'>
  clock: Clock
  host: string
  port: number
  auth: 'tokens' | 'open'
  token: string | null
  /** Signs capability tokens. */
  secret: Uint8Array
  version: string
  /** Paths besides `/ws` that are WebSockets. */
  socketPaths: readonly string[]
  log: LogSink
  observe?: HttpObserver
  limits: Partial<HttpLimits>
  /** Names under which the server may be reached besides the one it is bound to, as in the Host header. */
  allowedHosts?: readonly string[]
}

export type Front = {
  url: string
  port: number
  server: Server
  limits: HttpLimits
  admission: Admission
  identity: Identity
  lines: Pipelining
  startedAt: number
  /** Aborts when the server stops. */
  closing: AbortController
  /** Resolves when somebody waits for the doors, or was told that the server lives. */
  asked: Promise<void>
  /** From now on these answer, first of all who waits for them. */
  open(request: RequestListener, upgrade: Upgrade): void
  /** Nobody comes in any more; resolves when everybody has left. */
  stop(): Promise<void>
  /** Stops. What does not leave by itself in a moment is cut off. */
  close(doors?: Closing): Promise<void>
}

/** What the doors do before they close, and with who did not leave. */
export type Closing = { close(): Promise<void>; terminate(): void }

/** So many wait for the doors at once. */
const earlyMax = 1000

const partingMs = 1000

export async function openFront(options: FrontOptions): Promise<Front> {
  const { clock, log, host, port: wanted, socketPaths, allowedHosts = [] } = options
  if (options.auth === 'open' && !isLoopback(host))
    throw new Error(`host: "${host}" can be reached from other machines, so it needs tokens`)
  const limits = { ...httpLimitsDefault, ...options.limits }
  const { requestsPerMinute, requestMsMax: msMax } = limits
  const closing = new AbortController()
  const identity = createIdentity({ ...options, peers: systemPeers() })
  const admitted = admission({
    ...options,
    identity,
    allowedHosts,
    requestsPerMinute,
    closing: closing.signal,
  })
  const broke = (fault: unknown): void =>
    log('error', 'a connection broke in the server', { stack: faultText(fault) })
  const [asked, startedAt, lines] = [Promise.withResolvers<void>(), clock.elapsed(), pipelining()]
  const arrivals = earlyArrivals(clock, { countMax: earlyMax, msMax, broke })
  const pass = (...given: Parameters<RequestListener>): void => void server.emit('request', ...given)
  const early = {
    ...options,
    startedAt,
    lines,
    arrivals,
    broke,
    pass,
    check: admitted.check,
    asked: asked.resolve,
  }
  const doors: Doors = {
    request: (request, response) => takeEarly(early, request, response),
    upgrade: (...given) => holdUpgrade(early, () => doors.upgrade(...given), given[1]),
  }
  const paths = ['/ws', ...socketPaths]
  const servers = await listenOn({ host, port: wanted, limits, socketPaths: paths, doors, broke })
  const [server] = servers
  const { port } = server.address() as AddressInfo
  admitted.open(port)
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => (stopped ??= stopAll(servers, arrivals))
  return {
    url: `http://${inUrl(host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)}:${port}`,
    port,
    server,
    limits,
    identity,
    lines,
    startedAt,
    closing,
    stop,
    admission: admitted,
    asked: asked.promise,
    open(request, upgrade) {
      Object.assign(doors, { request, upgrade })
      for (const one of servers) takeRequests(one, lines, () => clock.elapsed(), broke)
      arrivals.passAll()
    },
    close: (last) => closeAll(servers, stop, clock, last),
  }
}

type Early = HealthDeps &
  Pick<FrontOptions, 'log' | 'observe'> &
  Pick<Admission, 'check'> & {
    lines: Pipelining
    arrivals: EarlyArrivals
    broke: (fault: unknown) => void
    pass: RequestListener
    asked: () => void
  }

function takeEarly(early: Early, request: IncomingMessage, response: ServerResponse): void {
  const { lines, broke } = early
  const { socket } = request
  if (socket.destroyed || !lines.begin(socket)) return
  if (request.method === 'GET' && /^\/health(?:\?|$)/.test(request.url ?? ''))
    return answerHealth(early, request, response)
  const left = early.arrivals.hold({
    pass() {
      // It is counted again where it goes.
      lines.end(socket)
      early.pass(request, response)
    },
    decline: ({ headers, ...no }) =>
      answerPlainly(response, { ...no, headers: { ...headers, connection: 'close' } }),
  })
  response.once('close', contained(broke, left))
  early.asked()
}

/** As the route answers it. */
function answerHealth(early: Early, request: IncomingMessage, response: ServerResponse): void {
  const { log, observe, clock } = early
  const begunAt = clock.elapsed()
  const checked = early.check(request, true)
  const no = 'status' in checked ? checked : null
  if (no !== null) logDeclined(log, request, no)
  answerPlainly(response, no ?? { ...readHealth(early), headers: {} })
  const ended = (): void => {
    early.lines.end(request.socket)
    const ms = clock.elapsed() - begunAt
    logAnswered(log, request, 'status' in checked ? null : checked.who, response.statusCode, ms)
    observe?.('/health', response.statusCode, ms / 1000)
    early.asked()
  }
  response.once('close', contained(early.broke, ended))
}

function holdUpgrade({ arrivals, broke, asked }: Early, pass: () => void, socket: Duplex): void {
  socket.on(
    'error',
    contained(broke, () => socket.destroy()),
  )
  const left = arrivals.hold({ pass, decline: (no) => answerSocket(socket, no) })
  socket.once('close', contained(broke, left))
  asked()
}

async function stopAll(servers: readonly Server[], arrivals: EarlyArrivals): Promise<void> {
  arrivals.declineAll()
  await Promise.all(servers.map((one) => new Promise((resolve) => one.close(resolve))))
}

/** What blocks was told, and answers; what does not leave by itself in a moment is cut off. */
async function closeAll(
  servers: readonly Server[],
  stop: () => Promise<void>,
  clock: Clock,
  last: Closing | undefined,
): Promise<void> {
  const left = new AbortController()
  const cut = clock.sleep(partingMs, left.signal).then(
    () => {
      last?.terminate()
      for (const one of servers) one.closeAllConnections()
    },
    () => undefined,
  )
  await last?.close()
  await stop()
  left.abort()
  await cut
}
