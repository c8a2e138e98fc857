import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'
import { expect, onTestFinished, test } from 'vitest'
import { feedSocket } from './feed-socket.ts'
import type { Feed } from './feed.ts'

test('a client may change its mind as often as it likes, if it waits for each answer', async () => {
  const feed = {
    writes: { hold: () => undefined, buffered: () => 0 },
    join: () => () => undefined,
    follow: () => ({ start: () => undefined, stop: () => undefined }),
    find: async () => ({ sessions: null }),
    resolveStart: Number,
  } as unknown as Feed
  const sockets = feedSocket({
    doors: {},
    feed,
    log: () => undefined,
    rate: { take: () => null },
    listenersMax: 10,
    bufferedBytesMax: 1000,
    admit: async () => ({ who: { kind: 'user' }, client: 'me' }),
  })
  const http = createServer()
  http.on('upgrade', (request, socket, head) => void sockets.upgrade(request, socket, head))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => {
    sockets.terminate()
    http.close()
  })
  const ws = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}/ws`)
  for (let n = 0; n < 40; n += 1) {
    const [data] = (await once(ws, 'message')) as [Buffer]
    expect(JSON.parse(data.toString())).toEqual({ type: 'subscribed', after: String(n), sessionIds: null })
    ws.send(JSON.stringify({ type: 'subscribe', after: n + 1 }))
  }
})
