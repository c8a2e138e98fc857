/**
 * What a sandbox reaches of the outside: a Unix socket of ours, bound into it. Requests for the server itself
 * go to the server, where only a token makes them somebody; all others are for the way out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { contained, listen } from '../../model/contained.ts'
import { createServer } from '../../runtime/kernel/node-http.ts'
import { forward, tunnel, type SandboxNetwork } from './outward.ts'

/** The server as far as a sandbox may ask it. */
export type ServerDoor = {
  url: string
  handle(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

export type InnerDoor = { path: string; close(): Promise<void> }

export type InnerDoorOptions = {
  network: SandboxNetwork
  server: () => ServerDoor | null
  report: (fault: unknown) => void
}

export async function openInnerDoor({ network, server, report }: InnerDoorOptions): Promise<InnerDoor> {
  // Made by mkdtemp, the directory is its owner's alone.
  const directory = await mkdtemp(join(tmpdir(), 'tieline-door-'))
  const path = join(directory, 'door')
  const http = createServer()
  listen(http, 'request', report, (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/') !== true) return forward(network, request, response)
    const at = server()
    return at === null ? void response.writeHead(404).end() : at.handle(request, response)
  })
  listen(http, 'connect', report, (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    tunnel(network, request.url ?? '', socket, head),
  )
  listen(http, 'upgrade', report, (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const at = request.url?.startsWith('/') === true ? server() : null
    return at === null ? void socket.destroy() : at.upgrade(request, socket, head)
  })
  listen(http, 'clientError', report, (_fault: unknown, socket: Duplex) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    http.once('error', contained(report, reject))
    http.listen(path, resolve)
  })
  http.unref()
  return {
    path,
    async close() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
      await rm(directory, { recursive: true, force: true })
    },
  }
}
