import { once } from 'node:events'
import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { nextRound } from '../runtime/kernel/next-round.ts'
import { pipelining } from './pipelining.ts'
import { takeRequests } from './take-requests.ts'

const rethrow = (fault: unknown): never => {
  throw fault
}

test('requests behind the one that closed their connection reach nobody, however many one packet brings', async () => {
  let reached = 0
  const server = createServer(() => (reached += 1))
  takeRequests(server, pipelining(), () => 0, rethrow)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1500))
  await once(socket, 'close')
  expect(reached).toBe(64)
  server.close()
  await once(server, 'close')
})

test('of hundreds of requests in one round the first are taken at once, the rest a few in each, in order', async () => {
  let now = 0
  const taken: string[] = []
  // Each of them takes a millisecond.
  const server = createServer(({ url }) => {
    now += 1
    taken.push(url ?? '')
  })
  takeRequests(server, pipelining(), () => now, rethrow)
  const ask = (url: string): IncomingMessage => {
    const request = Object.assign(new IncomingMessage(new Socket()), { url })
    server.emit('request', request, new ServerResponse(request))
    return request
  }
  const asked = Array.from({ length: 200 }, (_, n) => `/${n}`)
  const requests = asked.map((url) => ask(url))
  const atOnce = taken.length
  expect(atOnce).toBeLessThan(20)
  await nextRound()
  const before = taken.length
  await nextRound()
  expect(taken.length - before).toBeLessThanOrEqual(8)
  // One that came later is behind those that wait, and one that has gone is left out.
  ask('/last')
  requests[150]?.socket.destroy()
  for (let n = 0; n < 40; n += 1) await nextRound()
  expect(taken).toEqual([...asked.filter((url) => url !== '/150'), '/last'])
  ask('/later')
  expect(taken.at(-1)).toBe('/later')
})
