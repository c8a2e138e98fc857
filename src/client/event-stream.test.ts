import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket as ServerSocket } from 'ws'
import { expect, onTestFinished, test } from 'vitest'
import type { StreamedEvent } from '../wire/log.ts'
import { tielineClient } from './client.ts'
import { surroundings, type Surroundings } from './surroundings.ts'
import { TielineError } from './tieline-error.ts'

/**
 * A feed of numbered events over a real socket: it sends what is after the cursor that it is asked for, and
 * breaks off when it is told to.
 */
async function feed(total: number, script: (connection: number) => { breakAfter?: number } = () => ({})) {
  const asked: (string | null)[] = []
  const http: Server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
  )
  const sockets = new WebSocketServer({ server: http })
  sockets.on('connection', (socket: ServerSocket, request) => {
    const after = new URL(request.url ?? '', 'http://x').searchParams.get('after')
    asked.push(after)
    void sendAll(socket, Number(after ?? 0), total, script(asked.length))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => {
    sockets.clients.forEach((client) => client.terminate())
    http.close()
  })
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, asked, http, sockets }
}

async function sendAll(
  socket: ServerSocket,
  after: number,
  total: number,
  { breakAfter = Infinity }: { breakAfter?: number },
): Promise<void> {
  socket.send(JSON.stringify({ type: 'subscribed', after: String(after), sessionIds: null }))
  for (let seq = after + 1; seq <= total && socket.readyState === socket.OPEN; seq += 1) {
    if (seq - after > breakAfter) return socket.terminate()
    socket.send(
      JSON.stringify({
        type: 'event',
        seq: String(seq),
        at: seq,
        sessionId: 'ses_1',
        event: { type: 'session.archived', session: 'ses_1', turn: null, cause: 'idle' },
      }),
    )
    if (seq % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Pauses are remembered, and take no time. */
function hasty(): { pauses: number[]; surroundings: Surroundings } {
  const pauses: number[] = []
  return { pauses, surroundings: { ...surroundings, sleep: async (ms) => void pauses.push(ms) } }
}

async function take(events: AsyncIterable<StreamedEvent>, count: number): Promise<number[]> {
  const seqs: number[] = []
  for await (const { seq } of events) {
    seqs.push(Number(seq))
    if (seqs.length === count) break
  }
  return seqs
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

test('S1: a connection that breaks again and again gives every event once and in order', async () => {
  const server = await feed(300, (connection) => (connection < 12 ? { breakAfter: connection * 3 } : {}))
  const client = tielineClient({ url: server.url, surroundings: hasty().surroundings })
  expect(await take(client.events({ after: '0' }), 300)).toEqual(upTo(300))
  expect(server.asked.length).toBe(12)
  expect(server.asked.slice(0, 3)).toEqual(['0', '3', '9'])
})

test('S1: nothing is lost when the connection breaks between the subscription and the first event', async () => {
  const server = await feed(0)
  const client = tielineClient({ url: server.url, surroundings: hasty().surroundings })
  server.sockets.removeAllListeners('connection')
  const asked: (string | null)[] = []
  server.sockets.on('connection', (socket: ServerSocket, request) => {
    const after = new URL(request.url ?? '', 'http://x').searchParams.get('after')
    asked.push(after)
    if (asked.length > 1) return void sendAll(socket, Number(after), 43, {})
    socket.send(JSON.stringify({ type: 'subscribed', after: '41' }))
    setTimeout(() => socket.terminate(), 20)
  })
  expect(await take(client.events(), 2)).toEqual([42, 43])
  expect(asked).toEqual([null, '41'])
})

test('S2: pauses grow up to a bound while no server answers, and start again when one does', async () => {
  const { pauses, surroundings: quick } = hasty()
  const server = await feed(10, (connection) => (connection === 1 ? { breakAfter: 5 } : {}))
  const { port } = new URL(server.url)
  const client = tielineClient({ url: server.url, surroundings: quick })
  const states: boolean[] = []
  const events = client.events({ after: '0', onConnection: ({ open }) => states.push(open) })
  expect(await take({ [Symbol.asyncIterator]: () => ({ next: () => events.next() }) }, 5)).toEqual(upTo(5))
  server.sockets.clients.forEach((socket) => socket.terminate())
  await new Promise((resolve) => server.http.close(resolve))
  const next = events.next()
  await expect.poll(() => pauses.length).toBeGreaterThan(9)
  server.http.listen(Number(port), '127.0.0.1')
  expect((await next).value?.seq).toBe('6')
  expect(pauses.slice(0, 8)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000])
  expect(states[0]).toBe(true)
  expect(states.at(-1)).toBe(true)
  expect(states).toContain(false)
  await events.return(undefined)
})

test('S3: a slow reader is sent no more than it can hold, and misses nothing', async () => {
  const server = await feed(12_000)
  const client = tielineClient({ url: server.url, surroundings: hasty().surroundings })
  const events = client.events({ after: '0' })
  expect((await events.next()).value?.seq).toBe('1')
  await expect.poll(() => server.sockets.clients.size, { timeout: 15_000 }).toBe(0)
  expect(server.asked).toEqual(['0'])
  expect(await take(events, 11_999)).toEqual(upTo(12_000).slice(1))
  expect(server.asked.length).toBeGreaterThan(1)
})

test('a refusal ends it, a server that does not answer does not', async () => {
  const server = await feed(0)
  server.sockets.removeAllListeners('connection')
  server.sockets.on('connection', (socket: ServerSocket) =>
    socket.send(
      JSON.stringify({
        type: 'error',
        error: { code: 'session_unknown', message: 'There is no session "ses_x".' },
      }),
    ),
  )
  const failure = await take(tielineClient({ url: server.url }).events({ sessions: ['ses_x'] }), 1).catch(
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(TielineError)
  expect(failure).toMatchObject({ code: 'session_unknown' })
})

test('an aborted signal ends it without an error, also while it waits', async () => {
  const server = await feed(0)
  const stop = new AbortController()
  const events = tielineClient({ url: server.url }).events({ signal: stop.signal })
  const next = events.next()
  await expect.poll(() => server.asked.length).toBe(1)
  stop.abort()
  expect(await next).toEqual({ done: true, value: undefined })
  await expect.poll(() => server.sockets.clients.size).toBe(0)
})

test('a reader that stops leaves no connection behind', async () => {
  const server = await feed(5)
  expect(await take(tielineClient({ url: server.url }).events({ after: '0' }), 3)).toEqual([1, 2, 3])
  await expect.poll(() => server.sockets.clients.size).toBe(0)
})

test('streamed text comes beside the events, and an unknown frame is ignored', async () => {
  const server = await feed(0)
  server.sockets.removeAllListeners('connection')
  server.sockets.on('connection', (socket: ServerSocket) => {
    for (const frame of [
      'not json',
      { type: 'later' },
      { type: 'subscribed', after: '7' },
      {
        type: 'delta',
        sessionId: 'ses_1',
        session: 'ses_1',
        turn: 'turn_1',
        epoch: 1,
        step: 0,
        offset: 0,
        text: 'hel',
      },
    ])
      socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
    void sendAll(socket, 7, 8, {})
  })
  const texts: string[] = []
  expect(
    await take(
      tielineClient({ url: server.url }).events({
        onDelta: ({ text, session }) => texts.push(`${session}:${text}`),
      }),
      1,
    ),
  ).toEqual([8])
  expect(texts).toEqual(['ses_1:hel'])
})
