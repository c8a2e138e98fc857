import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { forward, tunnel } from './outward.ts'

/** Nobody has this address. */
const far = '192.0.2.1'

/** How many connections this process makes from now on. */
function connections(): { count: number } {
  const made = { count: 0 }
  const note = (message: unknown): void => {
    const { socket } = message as { socket: { destroy(): void } }
    made.count += 1
    socket.destroy()
  }
  subscribe('net.client.socket', note)
  onTestFinished(() => void unsubscribe('net.client.socket', note))
  return made
}

test('who leaves while the address of a tunnel is looked for has no connection made', async () => {
  const client = new PassThrough()
  const made = connections()
  const done = tunnel('any', `${far}:443`, client, Buffer.alloc(0))
  client.destroy()
  await done
  expect(made.count).toBe(0)
})

test('who leaves while the address of a request is looked for has nothing asked', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const arrived = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>
  const asked = request({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    path: `http://${far}/x`,
  })
  asked.on('error', () => undefined)
  asked.end()
  const [incoming, response] = await arrived
  const left = once(response, 'close')
  asked.destroy()
  await left
  const made = connections()
  await forward('any', incoming, response)
  expect(made.count).toBe(0)
})
