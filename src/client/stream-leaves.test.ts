import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { tielineClient } from './client.ts'
import { surroundings } from './surroundings.ts'

/** Breaks so many times, and gives one event then. */
function openAfter(breaks: number): () => WebSocket {
  let opened = 0
  return () => {
    opened += 1
    const socket = Object.assign(new EventTarget(), { close: () => undefined })
    const event = { type: 'session.archived', session: 'ses_1', turn: null, cause: 'idle' }
    const data = JSON.stringify({ type: 'event', seq: '1', at: 1, sessionId: 'ses_1', event })
    const happens =
      opened > breaks
        ? new MessageEvent('message', { data })
        : Object.assign(new Event('close'), { reason: 'gone', code: 1006 })
    setImmediate(() => socket.dispatchEvent(happens))
    return socket as unknown as WebSocket
  }
}

test('a stream that was opened often has one listener at the signal of its reader, and none afterwards', async () => {
  const stop = new AbortController()
  const listeners = (): number => getEventListeners(stop.signal, 'abort').length
  const client = tielineClient({
    url: 'http://127.0.0.1:1',
    openSocket: openAfter(20),
    fetch: async () => Response.json({}),
    surroundings: { ...surroundings, sleep: async () => undefined },
  })
  for await (const { seq } of client.events({ signal: stop.signal })) {
    expect([seq, listeners()]).toEqual(['1', 1])
    break
  }
  expect(listeners()).toBe(0)
})
