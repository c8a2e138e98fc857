/**
 * The way out of a sandbox: an HTTP proxy, since a sandbox has a network of its own with nothing in it. It looks
 * up a name once and connects to the address that it has checked. Loopback and the addresses of this machine
 * are never reached.
 */
import { lookup } from 'node:dns/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BlockList, connect, isIPv6, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import { listen } from '../../model/contained.ts'
import { request as ask } from '../../runtime/kernel/node-http.ts'

/** `public`: addresses of the internet. `any`: those of the local network too. */
export type SandboxNetwork = 'none' | 'public' | 'any'

const connectMsMax = 30_000

/** This machine itself, whatever is allowed; with the addresses that clouds keep their keys at. */
const ownAddresses = '0.0.0.0/8 127.0.0.0/8 169.254.0.0/16 255.255.255.255/32 ::/127 fe80::/10'
const localAddresses =
  '10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/3 fc00::/7 ff00::/8'

/** Made when a sandbox first asks for the way out: what they are read with is a fiftieth of a server's start. */
const lists = new Map<string, BlockList>()

function isIn(text: string, address: string, family: 'ipv4' | 'ipv6'): boolean {
  const list = lists.get(text) ?? listAddresses(text)
  lists.set(text, list)
  return list.check(address, family)
}

function listAddresses(text: string): BlockList {
  const list = new BlockList()
  for (const [address = '', bits] of text.split(' ').map((one) => one.split('/')))
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4')
  return list
}

export function mayReach(network: SandboxNetwork, address: string): boolean {
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '').replace(/%.*$/, '')
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4'
  const own = Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === plain))
  if (network === 'none' || own || isIn(ownAddresses, plain, family)) return false
  // An address of IPv4 inside one of IPv6 is judged by neither list.
  if (/^(?:64:ff9b:|2002:|::ffff:)/i.test(plain)) return false
  return network === 'any' || !isIn(localAddresses, plain, family)
}

type Target = { host: string; port: number }

/** The address to connect to, or why not. */
async function resolveTarget(network: SandboxNetwork, { host }: Target): Promise<string | { why: string }> {
  if (network === 'none') return { why: 'The sandbox has no network (sandbox.network = "none").' }
  const found = await lookup(host.replace(/^\[|\]$/g, ''), { all: true }).catch(() => null)
  if (found === null || found.length === 0) return { why: `There is no address for ${host}.` }
  const allowed = found.find(({ address }) => mayReach(network, address))
  if (allowed !== undefined) return allowed.address
  return {
    why:
      `${host} is on this machine or its local network, which the sandbox does not reach` +
      (network === 'public' ? ' (sandbox.network = "any" allows the local network).' : '.'),
  }
}

function readTarget(text: string, portDefault: number): Target | null {
  const found = /^(\[[\da-f:.]+\]|[^:/@\s]+)(?::(\d{1,5}))?$/i.exec(text)
  return found?.[1] === undefined ? null : { host: found[1], port: Number(found[2] ?? portDefault) }
}

const ignore = (): void => undefined

/** `CONNECT host:port`: bytes go to and fro. */
export async function tunnel(
  network: SandboxNetwork,
  text: string,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  listen(client, 'error', ignore, () => client.destroy())
  const target = readTarget(text, 443)
  const address = target === null ? { why: 'This is no address.' } : await resolveTarget(network, target)
  if (target === null || typeof address !== 'string') {
    const why = typeof address === 'string' ? '' : address.why
    const head = 'HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n'
    return void client.end(`${head}${why}\n`)
  }
  // Who left while the address was looked for says so no more.
  if (client.destroyed) return
  const far: Socket = connect({ host: address, port: target.port, timeout: connectMsMax })
  const end = (): void => {
    far.destroy()
    client.destroy()
  }
  listen(far, 'error', end, end)
  listen(far, 'close', end, end)
  listen(client, 'close', end, end)
  listen(far, 'timeout', end, () => (far.connecting ? end() : undefined))
  listen(far, 'connect', end, () => {
    client.write('HTTP/1.1 200 Connected\r\n\r\n')
    far.write(head)
    client.pipe(far).pipe(client)
  })
}

/** `GET http://host/path`: asked for and passed back. */
export async function forward(
  network: SandboxNetwork,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null
  const target = url?.protocol === 'http:' ? readTarget(url.host, 80) : null
  const address = target === null ? { why: 'This is no address.' } : await resolveTarget(network, target)
  const decline = (status: number, why: string): void => {
    if (!response.headersSent) response.writeHead(status, { 'content-type': 'text/plain' })
    response.end(`${why}\n`)
  }
  if (url === null || target === null || typeof address !== 'string')
    return decline(403, typeof address === 'string' ? '' : address.why)
  if (response.destroyed) return
  const {
    'proxy-connection': _connection,
    'proxy-authorization': _authorization,
    ...headers
  } = request.headers
  const far = ask({
    host: address,
    port: target.port,
    method: request.method,
    path: url.pathname + url.search,
    headers,
    setHost: false,
    timeout: connectMsMax,
  })
  const broke = (fault: unknown): void => decline(502, `${target.host}: ${String(fault)}`)
  listen(far, 'error', broke, broke)
  listen(far, 'timeout', broke, () => far.destroy(new Error('it does not answer')))
  listen(response, 'close', broke, () => far.destroy())
  listen(far, 'response', broke, (answer: IncomingMessage) => {
    listen(answer, 'error', broke, () => response.destroy())
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  request.pipe(far)
}
