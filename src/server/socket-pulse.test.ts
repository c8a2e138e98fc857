import { EventEmitter } from 'node:events'
import type { WebSocket } from 'ws'
import { expect, test } from 'vitest'
import { createPulse } from './socket-pulse.ts'

function openPulse() {
  const did: string[] = []
  const ws = Object.assign(new EventEmitter(), {
    ping: () => void did.push('ping'),
    terminate: () => void did.push('gone'),
  })
  const pulse = createPulse(ws as unknown as WebSocket, (fault) => did.push(String(fault)))
  const beat = (): void => {
    pulse.beat()
    pulse.beat()
  }
  return { ws, beat, did }
}

test.each(['pong', 'ping'])('a client that sends a %s is still there', (frame) => {
  const { ws, beat, did } = openPulse()
  for (let n = 0; n < 3; n += 1) {
    beat()
    ws.emit(frame, Buffer.alloc(0))
  }
  expect(did).toEqual(['ping', 'ping', 'ping'])
})

test('a client that says nothing from one question to the next is gone', () => {
  const { beat, did } = openPulse()
  beat()
  beat()
  expect(did).toEqual(['ping', 'gone'])
})
