/** The feed of events over a WebSocket. */
import { connect } from 'node:net'
import { exchangeOf } from '../kits/askers.ts'
import { describe, expect, test } from 'vitest'
import { mintSessionToken } from '../../src/server/identity.ts'
import { listen, serve, until } from '../kits/http.ts'
import { seqs, logged, stream } from '../kits/feed.ts'

describe('the socket', () => {
  test('sends every event from where it begins, and takes a new filter and cursor at any time', async () => {
    const served = await serve()
    const [one, other] = [await served.open('echo'), await served.open('echo')]
    const socket = await listen(served.url)
    await until(() => socket.frames.length === 1)
    expect(socket.frames[0]).toEqual({
      type: 'subscribed',
      after: String(exchangeOf(served.line.desks).lastSeq()),
      sessionIds: null,
    })
    for (const id of [one, other]) {
      await served.post(`/api/sessions/${id}/messages`, { message: 'x' })
      await served.get(`/api/sessions/${id}/wait`)
    }
    const all = await logged(served)
    await until(() => seqs(socket.frames).length === all.length - 2)
    expect(seqs(socket.frames)).toEqual(all.slice(2))
    expect(Object.keys(socket.events()[0] ?? {})).toEqual(['type', 'seq', 'at', 'sessionId', 'event'])
    const before = socket.frames.length
    socket.say({ type: 'subscribe', sessionIds: [other], after: '0' })
    const wanted = await logged(served, [other])
    await until(() => socket.frames.length === before + 1 + wanted.length)
    expect(socket.frames[before]).toEqual({ type: 'subscribed', after: '0', sessionIds: [other] })
    expect(seqs(socket.frames.slice(before))).toEqual(wanted)
    socket.say({ type: 'subscribe', sessionIds: [] })
    await until(() => socket.frames.at(-1)?.type === 'subscribed')
    const silent = socket.frames.length
    await served.post(`/api/sessions/${one}/messages`, { message: 'y' })
    await served.get(`/api/sessions/${one}/wait`)
    expect(socket.frames.length).toBe(silent)
    await socket.close()
  })

  test('a number of another log, beyond the end of this one, is from now on', async () => {
    const served = await serve()
    const socket = await listen(served.url, '?after=999999')
    await until(() => socket.frames.length === 1)
    expect(socket.frames[0]).toMatchObject({
      type: 'subscribed',
      after: String(exchangeOf(served.line.desks).lastSeq()),
    })
    await served.open('echo')
    await until(() => socket.events().length === 1)
    await socket.close()
  })

  test('begins at once where the address says so', async () => {
    const served = await serve()
    const [one] = [await served.open('echo'), await served.open('echo')]
    const socket = await listen(served.url, `?after=0&session=${one}`)
    const wanted = await logged(served, [one])
    await until(() => seqs(socket.frames).length === wanted.length)
    expect(seqs(socket.frames)).toEqual(wanted)
    await socket.close()
  })

  test('shows text as it streams', async () => {
    const served = await serve()
    const id = await served.open('talker')
    const socket = await listen(served.url)
    await until(() => socket.frames.length === 1)
    await served.post(`/api/sessions/${id}/messages`, { message: 'x' })
    await until(() => socket.frames.filter((frame) => frame.type === 'delta').length >= 2)
    expect(socket.frames.find((frame) => frame.type === 'delta')).toMatchObject({
      sessionId: id,
      session: id,
      offset: 0,
      text: 'one ',
    })
    await socket.close()
  })

  test('answers bad frames with what is wrong, and closes after too many', async () => {
    const { url } = await serve()
    const socket = await listen(url)
    for (const frame of [
      '{',
      'null',
      '[]',
      '{"type":"dance"}',
      '{"type":"subscribe","after":-1}',
      '{"type":"subscribe","after":1.5}',
      '{"type":"subscribe","sessionIds":"all"}',
      '{"type":"subscribe","sessionIds":["ses_nobody"]}',
      '{"type":"subscribe","more":1}',
    ])
      socket.say(frame)
    socket.ws.send(Buffer.from([1, 2, 3]))
    const { code, reason } = await socket.closed
    expect([code, reason]).toEqual([1008, 'too many bad frames'])
    const errors = socket.frames.filter((frame) => frame.type === 'error')
    expect(errors).toHaveLength(10)
    for (const { error } of errors) expect(['bad_input', 'session_unknown']).toContain(error?.code)
  })

  test('takes only so many frames before it has answered, and says so', async () => {
    const { url, line } = await serve()
    const gate = Promise.withResolvers<void>()
    const session = line.store.session.bind(line.store)
    line.store.session = async (id) => (await gate.promise, session(id))
    const socket = await listen(url)
    for (let n = 0; n < 20; n += 1)
      socket.say({ type: 'subscribe', sessionIds: ['ses_0123456789abcdefghijklmno'] })
    await until(() => socket.frames.some(({ error }) => error?.code === 'bad_input'))
    gate.resolve()
    await socket.close()
  })

  test('frames count as requests of their client', async () => {
    const { url } = await serve({ limits: { requestsPerMinute: 4 } })
    const socket = await listen(url)
    for (let n = 0; n < 5; n += 1) socket.say({ type: 'subscribe' })
    await until(() => socket.frames.some(({ type }) => type === 'error'))
    expect(socket.frames.find(({ type }) => type === 'error')?.error).toMatchObject({ code: 'rate_limited' })
    await socket.close()
  })

  test('a place that somebody has left is free again', async () => {
    const { url } = await serve({ limits: { listenersMax: 1 } })
    const first = await listen(url)
    await until(() => first.frames.length === 1)
    const second = await listen(url)
    expect([(await second.closed).code, second.frames]).toMatchObject([
      1013,
      [{ type: 'error', error: { code: 'rate_limited' } }],
    ])
    await first.close()
    // The server may notice a moment later than its client that it has left.
    await until(async () => {
      const third = await listen(url)
      await until(() => third.frames.length === 1)
      return third.frames[0]?.type === 'subscribed'
    })
  })

  test('closes with 1009 on a frame that is too large', async () => {
    const { url } = await serve()
    const socket = await listen(url)
    socket.say(`{"type":"${'x'.repeat(65 * 1024)}"}`)
    expect((await socket.closed).code).toBe(1009)
  })

  test('declines what is no handshake, and other paths are not sockets', async () => {
    const { url } = await serve()
    const { port } = new URL(url)
    const talk = (lines: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () =>
          socket.write(`${lines}\r\nhost: 127.0.0.1:${port}\r\n\r\n`),
        )
        let text = ''
        socket.on('data', (chunk) => (text += chunk.toString()))
        socket.on('close', () => resolve(text))
      })
    expect(
      await talk(
        'GET /ws HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13',
      ),
    ).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/)
    expect(
      await talk(
        'GET /ws HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 7\r\n' +
          'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      ),
    ).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/)
    expect(await talk('GET /health HTTP/1.1\r\nconnection: upgrade, close\r\nupgrade: h2c')).toMatch(
      /^HTTP\/1\.1 200/,
    )
    expect(await talk('GET /health HTTP/1.1\r\nconnection: upgrade, close\r\nupgrade: websocket')).toMatch(
      /^HTTP\/1\.1 200/,
    )
  })

  test('drops a peer that does not answer, and keeps one that does', async () => {
    const served = await serve({ limits: { beatMs: 40 } })
    const alive = await listen(served.url)
    const dead = await listen(served.url)
    dead.ws.on('ping', () => undefined)
    ;(dead.ws as unknown as { _autoPong: boolean })._autoPong = false
    expect((await dead.closed).code).toBe(1006)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(alive.ws.readyState).toBe(alive.ws.OPEN)
    await served.server.close()
    expect((await alive.closed).code).toBe(1001)
  })

  test('of a session shows that session and what is below it, also what comes later, and nothing else', async () => {
    const served = await serve()
    const own = await served.open('external')
    const child = await served.open('boss', { parent: own })
    const other = await served.open('boss')
    const headers = { authorization: `Bearer ${mintSessionToken(served.secret, own)}` }
    const socket = await listen(served.url, '?after=0', headers)
    const events = await stream(served.url, '?after=0', headers)
    for (const id of [other, child]) {
      await served.post(`/api/sessions/${id}/messages`, { message: 'part' })
      await served.get(`/api/sessions/${id}/wait`)
    }
    const late = await served.open('echo', { parent: child })
    await served.post(`/api/sessions/${late}/messages`, { message: 'x' })
    await served.get(`/api/sessions/${late}/wait`)
    // The call of the child made a session of its own, which is below it too.
    const all = (await served.line.store.read(0, {}, 500)).events
    const below = new Set<string>([own])
    for (const { event } of all)
      if (event.type === 'session.created' && event.parent !== null && below.has(event.parent))
        below.add(event.session)
    const wanted = all.filter(({ event }) => below.has(event.session)).map(({ seq }) => String(seq))
    expect(below.size).toBeGreaterThanOrEqual(4)
    await until(() => seqs(socket.frames).length >= wanted.length && events.ids().length >= wanted.length)
    expect(seqs(socket.frames)).toEqual(wanted)
    expect(events.ids()).toEqual(wanted)
    socket.say({ type: 'subscribe', sessionIds: [other] })
    await until(() => socket.frames.at(-1)?.type === 'error')
    expect(socket.frames.at(-1)?.error?.code).toBe('not_allowed')
    events.stop()
    await socket.close()
  })
})
