import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { openFront } from './front.ts'

/** No time passes: who sleeps is woken, or leaves. */
function stillClock(): { clock: Clock; wakeAll: () => void } {
  const sleepers = new Set<() => void>()
  const clock: Clock = {
    now: () => 0,
    elapsed: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        sleepers.add(resolve)
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      }),
  }
  return { clock, wakeAll: () => sleepers.forEach((wake) => wake()) }
}

async function listen() {
  const { clock, wakeAll } = stillClock()
  const front = await openFront({
    desks: { runs: () => false } as unknown as Desks,
    clock,
    host: '127.0.0.1',
    port: 0,
    auth: 'tokens',
    token: 'right',
    secret: Buffer.from('a secret'),
    version: '1',
    socketPaths: [],
    log: () => undefined,
    limits: {},
  })
  return { front, wakeAll }
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a server that everybody has left is closed at once', async () => {
  const { front, wakeAll } = await listen()
  let isClosed = false
  const closing = front.close().then(() => (isClosed = true))
  await front.stop()
  for (let n = 0; n < 5; n += 1) await soon()
  expect(isClosed).toBe(true)
  wakeAll()
  await closing
})

test('a WebSocket that has left before the doors were there does not come in', async () => {
  const { front, wakeAll } = await listen()
  const held: Duplex[] = []
  onTestFinished(async () => {
    for (const socket of held) socket.destroy()
    const closed = front.close()
    wakeAll()
    await closed
  })
  const upgrade = 'connection: Upgrade\r\nupgrade: websocket\r\n'
  const knock = async (): Promise<{ leave: () => Promise<void> }> => {
    const came = once(front.server, 'upgrade') as Promise<[unknown, Duplex]>
    const socket = connect(front.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(`GET /ws HTTP/1.1\r\nhost: 127.0.0.1:${front.port}\r\n${upgrade}\r\n`)
    const [, inside] = await came
    held.push(inside)
    const left = new Promise<void>((resolve) => inside.once('close', () => resolve()))
    return { leave: () => (socket.resetAndDestroy(), left) }
  }
  const first = await knock()
  await knock()
  await first.leave()
  const entered: boolean[] = []
  front.open(
    () => undefined,
    (_request, socket) => void entered.push(socket.destroyed),
  )
  expect(entered).toEqual([false])
})
