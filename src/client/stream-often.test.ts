import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { expect, onTestFinished, test } from 'vitest'
import { tielineClient } from './client.ts'
import { surroundings } from './surroundings.ts'

test('a server that is asked too often ends no stream: it is asked again', async () => {
  const error = { code: 'rate_limited', message: 'Too many requests.' }
  const http = createServer((_request, response) =>
    response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify({ error })),
  )
  const sockets = new WebSocketServer({ server: http })
  let connections = 0
  sockets.on('connection', (socket) => {
    connections += 1
    if (connections < 3) return socket.terminate()
    socket.send(JSON.stringify({ type: 'subscribed', after: '0', sessionIds: null }))
    const event = { type: 'session.archived', session: 'ses_1', turn: null, cause: 'idle' }
    socket.send(JSON.stringify({ type: 'event', seq: '1', at: 1, sessionId: 'ses_1', event }))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => {
    sockets.clients.forEach((client) => client.terminate())
    http.close()
  })
  const client = tielineClient({
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    surroundings: { ...surroundings, sleep: async () => undefined },
  })
  for await (const { seq } of client.events({})) {
    expect([seq, connections]).toEqual(['1', 3])
    break
  }
})
