/**
 * Which Host and Origin a request may have. A page of another site can make a browser send requests here,
 * directly or under a name that it points at this machine (rebinding):
 * its Host is then not ours, or its Origin is not our Host.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Refusal } from '../model/refusal.ts'

export type HostGuard = {
  check(
    request: {
      headers: IncomingHttpHeaders
      socket?: { localAddress?: string | undefined; localPort?: number | undefined } | null
    },
    crossSite: 'refused' | 'allowed',
  ): Refusal | null
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
export const inUrl = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host)

export function hostGuard(bound: { host: string; port: number; allowed: readonly string[] }): HostGuard {
  const hosts = new Set<string>()
  for (const name of [inUrl(bound.host), ...loopbackNames]) {
    hosts.add(`${name}:${bound.port}`.toLowerCase())
    if (bound.port === 80) hosts.add(name.toLowerCase())
  }
  // Behind a proxy the name is the proxy's, with its port or without one.
  for (const name of bound.allowed) hosts.add(name.toLowerCase()).add(`${name}:${bound.port}`.toLowerCase())
  const isWildcard = bound.host === '0.0.0.0' || bound.host === '::'
  return {
    check({ headers, socket }, crossSite) {
      const host = headers.host?.toLowerCase() ?? ''
      if (!hosts.has(host) && !(isWildcard && host === ownAddress(socket)))
        return foreignHost(headers.host, hosts)
      const { origin } = headers
      if (
        origin !== undefined &&
        origin.toLowerCase() !== `http://${host}` &&
        origin.toLowerCase() !== `https://${host}`
      )
        return foreignOrigin(origin, host)
      const site = headers['sec-fetch-site']
      if (crossSite === 'refused' && (site === 'cross-site' || site === 'same-site'))
        return foreignOrigin(`a ${site} page`, host)
      return null
    },
  }
}

/**
 * Bound to every address, a request may name the one that it came in by: an address is never somebody else's
 * name.
 */
const ownAddress = (
  socket: { localAddress?: string | undefined; localPort?: number | undefined } | null | undefined,
): string | null =>
  socket?.localAddress === undefined
    ? null
    : `${inUrl(socket.localAddress.replace(/^::ffff:/, ''))}:${socket.localPort}`

const foreignHost = (host: string | undefined, hosts: ReadonlySet<string>): Refusal => ({
  code: 'not_allowed',
  agent:
    host === undefined
      ? 'A request without a Host header'
      : `A request with the Host header "${host.slice(0, 100)}"`,
  what: 'use this server',
  allowed: [...hosts],
})
const foreignOrigin = (origin: string, host: string): Refusal => ({
  code: 'not_allowed',
  agent: `A request from ${origin.slice(0, 100)}`,
  what: 'use this server',
  allowed: [`http://${host}`, 'programs, which send no Origin'],
})
