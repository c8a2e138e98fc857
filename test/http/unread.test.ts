/**
 * Readers who never read: what is kept for them is bounded for each and for all, and whoever reads is served
 * as before.
 */
import { exchangeOf } from '../kits/askers.ts'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen, serve, until } from '../kits/http.ts'

function unread(port: number, path: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
  onTestFinished(() => void socket.destroy())
  return socket
}

test('a crowd that never reads is dropped once it holds too much, and a new connection is served', async () => {
  const served = await serve({ limits: { bufferedBytesTotalMax: 2 * 1024 * 1024 } })
  await Promise.all(Array.from({ length: 20 }, (_, index) => served.line.run('big', `task ${index}`)))
  const dropped = (): number =>
    served.logged.filter(({ message }) => message.includes('all together hold too much')).length
  for (let index = 0; index < 30; index += 1) unread(served.server.port, '/api/events?after=0')
  await until(() => dropped() >= 10, 'the slow ones to be dropped')
  expect((await served.get('/health')).status).toBe(200)
  const reader = await listen(served.url, '?after=0')
  const last = exchangeOf(served.line.desks).lastSeq()
  await until(() => reader.events().at(-1)?.seq === String(last), 'every event to come')
  expect(reader.events()).toHaveLength(last)
  await reader.close()
}, 60_000)
