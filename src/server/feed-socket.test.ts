import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'
import { expect, onTestFinished, test } from 'vitest'
import { feedSocket } from './feed-socket.ts'
import type { Feed } from './feed.ts'

/** The door to a feed, and what connects to it. */
async function openDoor(feed: object) {
  const sockets = feedSocket({
    doors: {},
    feed: feed as Feed,
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
  return { sockets, ws: new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}/ws`) }
}

test('a socket that is closed while its sessions are looked for follows nothing', async () => {
  const found = Promise.withResolvers<{ sessions: null }>()
  const told: string[] = []
  const feed = {
    writes: { hold: () => undefined, buffered: () => 0 },
    join: () => () => void told.push('left'),
    follow: () => ({ start: () => told.push('start'), stop: () => told.push('stop') }),
    find: () => found.promise,
    resolveStart: () => 0,
  }
  const { sockets, ws } = await openDoor(feed)
  await once(ws, 'open')
  ws.close()
  await expect.poll(() => sockets.count()).toBe(0)
  found.resolve({ sessions: null })
  await expect.poll(() => told).toEqual(['left', 'stop'])
})

test('a client may change its mind as often as it likes, if it waits for each answer', async () => {
  const feed = {
    writes: { hold: () => undefined, buffered: () => 0 },
    join: () => () => undefined,
    follow: () => ({ start: () => undefined, stop: () => undefined }),
    find: async () => ({ sessions: null }),
    resolveStart: Number,
  }
  const { ws } = await openDoor(feed)
  for (let n = 0; n < 40; n += 1) {
    const [data] = (await once(ws, 'message')) as [Buffer]
    expect(JSON.parse(data.toString())).toEqual({ type: 'subscribed', after: String(n), sessionIds: null })
    ws.send(JSON.stringify({ type: 'subscribe', after: n + 1 }))
  }
})
