/** Binds a host and a port: one server for each of its addresses, all with the same bounds and listeners. */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { contained } from '../model/contained.ts'
import { createServer } from '../runtime/kernel/node-http.ts'
import { headerBytesMax, keepAliveMs, type HttpLimits } from './http-limits.ts'
import { loggedPath } from './log-sink.ts'
import { answerBroken } from './plain-answer.ts'

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void
/** Asked for each time: who answers may change. */
export type Doors = { request: RequestListener; upgrade: Upgrade }

export type ListenOptions = {
  host: string
  port: number
  limits: Pick<HttpLimits, 'headersMsMax' | 'requestMsMax' | 'connectionsMax'>
  socketPaths: readonly string[]
  doors: Doors
  broke: (fault: unknown) => void
}

/** The first is the one that was asked for. */
export async function listenOn(options: ListenOptions): Promise<[Server, ...Server[]]> {
  const { host, port } = options
  const first = await bind(makeServer(options), host, port)
  if (host !== 'localhost') return [first]
  // It may mean both loopback addresses, and a client may take either.
  const { lookup } = await import('node:dns/promises')
  const bound = first.address() as AddressInfo
  const found = await lookup(host, { all: true }).catch(() => [])
  const others = found.filter(({ address }) => address !== bound.address)
  const more = others.map(({ address }) => bind(makeServer(options), address, bound.port).catch(() => null))
  return [first, ...(await Promise.all(more)).filter((server) => server !== null)]
}

async function bind(server: Server, host: string, port: number): Promise<Server> {
  await once(server.listen({ host, port }), 'listening')
  return server
}

function makeServer({ limits, socketPaths, doors, broke }: ListenOptions): Server {
  const server = createServer({
    headersTimeout: limits.headersMsMax,
    requestTimeout: limits.requestMsMax,
    connectionsCheckingInterval: Math.min(limits.headersMsMax, 5000),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: headerBytesMax,
    // Other upgrades, like curl's to HTTP/2, are declined by going on without them.
    shouldUpgradeCallback: ({ url, headers }: IncomingMessage) =>
      socketPaths.includes(loggedPath(url)) && headers.upgrade?.toLowerCase() === 'websocket',
  })
  server.maxConnections = limits.connectionsMax
  server.on(
    'request',
    contained(broke, (...given: Parameters<RequestListener>) => doors.request(...given)),
  )
  server.on(
    'upgrade',
    contained(broke, (...given: Parameters<Upgrade>) => doors.upgrade(...given)),
  )
  // RFC 9110, 10.1.1: an expectation that is not known may be ignored.
  server.on(
    'checkExpectation',
    contained(broke, (...given: Parameters<RequestListener>) => void server.emit('request', ...given)),
  )
  server.on('clientError', contained(broke, answerBroken))
  return server
}
