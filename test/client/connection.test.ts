/** The client when connections break: requests that are tried again, and events that go on. */
import { exchangeOf } from '../kits/askers.ts'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcp, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket as LibrarySocket } from 'ws'
import { tielineClient } from '../../src/client/client.ts'
import type { Fetch } from '../../src/client/request.ts'
import { surroundings } from '../../src/client/surroundings.ts'
import { ServerUnreachable } from '../../src/client/tieline-error.ts'
import { type OpenServerOptions, openServer } from '../../src/open-server.ts'
import { agents, readRefusal, scratch, started } from '../kits/client.ts'

describe('a connection that breaks', () => {
  test('after the server has acted is tried again with the same key, and nothing happens twice', async () => {
    const { served, cwd } = await started()
    const keys: (string | undefined)[] = []
    const lossy: Fetch = async (url, init) => {
      const answer = await fetch(url, init)
      keys.push((init.headers as Record<string, string>)['idempotency-key'])
      if (init.method === 'POST' && keys.length % 2 === 1) {
        await answer.text()
        throw new TypeError('fetch failed')
      }
      return answer
    }
    const client = tielineClient({
      url: served.url,
      fetch: lossy,
      surroundings: { ...surroundings, sleep: async () => undefined },
    })
    const { sessionId } = await client.sessions.create({ cwd, agent: 'helper' })
    await client.sessions.send(sessionId, { message: 'once' })
    expect(keys).toHaveLength(4)
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect([keys[1], keys[3]]).toEqual([keys[0], keys[2]])
    expect(keys[2]).not.toBe(keys[0])
    const plain = tielineClient({ url: served.url })
    await plain.sessions.wait(sessionId)
    expect((await plain.sessions.list()).sessions).toHaveLength(1)
    expect((await plain.sessions.history(sessionId)).messages).toHaveLength(2)
  })

  test('for good is told as such, after pauses that grow; without a key it is not tried again', async () => {
    const nobody = createTcp().listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const url = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`
    await new Promise((resolve) => nobody.close(resolve))
    const pauses: number[] = []
    const client = tielineClient({
      url,
      surroundings: { ...surroundings, sleep: async (ms) => void pauses.push(ms) },
    })
    const error = await client.sessions.send('ses_1', { message: 'x' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ServerUnreachable)
    expect((error as Error).message).toContain(`no Tieline server answers at ${url}: `)
    expect(pauses).toEqual([100, 400, 1600])
    await expect(client.health()).rejects.toBeInstanceOf(ServerUnreachable)
    await expect(client.sessions.create({ cwd: '/' }, { key: null })).rejects.toBeInstanceOf(
      ServerUnreachable,
    )
    expect(pauses).toHaveLength(3)
  })

  test('a server that is just stopping or starting is asked again', async () => {
    let asked = 0
    const busy = createServer((_request, response) => {
      asked += 1
      response
        .writeHead(asked < 3 ? 503 : 200, { 'content-type': 'application/json' })
        .end(asked < 3 ? '{"error":{"code":"unavailable","message":"later"}}' : '{"agents":[]}')
    }).listen(0, '127.0.0.1')
    await once(busy, 'listening')
    onTestFinished(() => void busy.close())
    const client = tielineClient({
      url: `http://127.0.0.1:${(busy.address() as AddressInfo).port}`,
      surroundings: { ...surroundings, sleep: async () => undefined },
    })
    expect(await client.agents()).toEqual([])
    asked = -1000
    expect(await readRefusal(client.agents())).toMatchObject({ code: 'unavailable', status: 503 })
  })
})

test('events reach a reader once and in order, through cut connections and a restart of the server', async () => {
  const directory = scratch()
  writeFileSync(join(directory, 'empty.json'), '{}')
  const options: OpenServerOptions = {
    agents,
    config: join(directory, 'empty.json'),
    dataDir: join(directory, 'data'),
    cwd: directory,
    port: 0,
    onWarning: () => undefined,
  }
  let served = await openServer(options)
  const sockets = new Set<LibrarySocket>()
  const openSocket = (url: string): WebSocket => {
    const socket = new LibrarySocket(url)
    sockets.add(socket)
    return socket as unknown as WebSocket
  }
  const client = tielineClient({ url: served.url })
  const cut = async (): Promise<void> => {
    await expect.poll(() => [...sockets].at(-1)?.readyState, { timeout: 10_000 }).toBe(LibrarySocket.OPEN)
    sockets.forEach((socket) => socket.terminate())
  }
  const read: string[] = []
  const stop = new AbortController()
  const reading = (async () => {
    for await (const { seq, sessionId, event, at } of tielineClient({ url: served.url, openSocket }).events({
      after: '0',
      signal: stop.signal,
    })) {
      expect(sessionId).toBe(event.session)
      expect(at).toBeGreaterThan(0)
      read.push(seq)
    }
  })()
  const { sessionId } = await client.sessions.create({ cwd: directory, agent: 'boss' })
  for (let round = 0; round < 12; round += 1) {
    await client.sessions.send(sessionId, { message: `round ${round}` })
    if (round % 4 === 0) await cut()
    await client.sessions.wait(sessionId)
  }
  const port = Number(new URL(served.url).port)
  await served.close()
  served = await openServer({ ...options, port })
  onTestFinished(() => served.close())
  await client.sessions.send(sessionId, { message: 'after the restart' })
  await client.sessions.wait(sessionId)
  const last = exchangeOf(served.line.desks).lastSeq()
  await expect.poll(() => read.at(-1), { timeout: 15_000 }).toBe(String(last))
  stop.abort()
  await reading
  expect(read).toEqual(Array.from({ length: last }, (_, index) => String(index + 1)))
  expect(sockets.size).toBeGreaterThan(3)
})

test('events of some sessions only, from now on', async () => {
  const { client, cwd } = await started()
  const [one, two] = [
    await client.sessions.create({ cwd, agent: 'helper' }),
    await client.sessions.create({ cwd, agent: 'helper' }),
  ]
  const seen = new Set<string>()
  let text = ''
  const stop = new AbortController()
  const open = Promise.withResolvers<void>()
  const reading = (async () => {
    for await (const { sessionId } of client.events({
      sessions: [two.sessionId],
      signal: stop.signal,
      onDelta: (delta) => (text += delta.text),
      onConnection: (state) => state.open && open.resolve(),
    }))
      seen.add(sessionId)
  })()
  await open.promise
  for (const { sessionId } of [one, two]) {
    await client.sessions.send(sessionId, { message: 'x' })
    await client.sessions.wait(sessionId)
  }
  await expect.poll(() => [seen.size, text]).toEqual([1, 'done: x'])
  stop.abort()
  await reading
  expect([...seen]).toEqual([two.sessionId])
  expect(await readRefusal(client.events({ sessions: ['ses_nope'] }).next())).toMatchObject({
    code: 'session_unknown',
  })
})
