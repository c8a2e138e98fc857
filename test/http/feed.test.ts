import { connect } from 'node:net'
import { exchangeOf } from '../kits/askers.ts'
import { describe, expect, test } from 'vitest'
import { mintSessionToken } from '../../src/server/identity.ts'
import { listen, serve, until, type Frame, type Served } from '../kits/http.ts'

const seqs = (frames: readonly Frame[]): string[] =>
  frames.flatMap((frame) => (frame.type === 'event' && frame.seq !== undefined ? [frame.seq] : []))

/** What the log has of some sessions, as numbers. */
async function logged({ line }: Served, sessions?: readonly `ses_${string}`[]): Promise<string[]> {
  const found: string[] = []
  for (let after = 0; ;) {
    const page = await line.store.read(after, sessions === undefined ? {} : { sessions }, 500)
    if (page.events.length === 0) return found
    found.push(...page.events.map((stored) => String(stored.seq)))
    after = page.next
  }
}

type Stream = { text: string; status: number; ended: boolean; ids(): string[]; stop(): void }

async function stream(url: string, query = '', headers: Record<string, string> = {}): Promise<Stream> {
  const stop = new AbortController()
  const response = await fetch(`${url}/api/events${query}`, { headers, signal: stop.signal })
  const read: Stream = {
    text: '',
    status: response.status,
    ended: false,
    ids: () => [...read.text.matchAll(/^id: (\d+)$/gm)].map((match) => match[1] ?? ''),
    stop: () => stop.abort(),
  }
  const body = response.body ?? new ReadableStream()
  void (async () => {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) read.text += chunk
  })()
    .catch(() => undefined)
    .finally(() => (read.ended = true))
  return read
}

describe('server-sent events', () => {
  test('come from the beginning, from a number, or from now, each with its number', async () => {
    const served = await serve()
    const id = await served.open('echo')
    await served.post(`/api/sessions/${id}/messages`, { message: 'one' })
    await served.get(`/api/sessions/${id}/wait`)
    const all = await logged(served)
    const now = await stream(served.url)
    const [whole, rest, resumed] = [
      await stream(served.url, '?after=0'),
      await stream(served.url, `?after=${all[1]}`),
      await stream(served.url, '', { 'last-event-id': all[1] ?? '' }),
    ]
    await until(
      () =>
        whole.ids().length === all.length &&
        rest.ids().length === all.length - 2 &&
        resumed.ids().length === all.length - 2,
    )
    expect(whole.ids()).toEqual(all)
    expect(rest.ids()).toEqual(all.slice(2))
    expect(resumed.ids()).toEqual(all.slice(2))
    expect(now.ids()).toEqual([])
    await served.post(`/api/sessions/${id}/messages`, { message: 'two' })
    await served.get(`/api/sessions/${id}/wait`)
    const after = await logged(served)
    await until(() => whole.ids().length === after.length && now.ids().length === after.length - all.length)
    expect(whole.ids()).toEqual(after)
    expect(now.ids()).toEqual(after.slice(all.length))
    const data = JSON.parse(/^id: \d+\nevent: event\ndata: (.*)$/m.exec(whole.text)?.[1] ?? '') as Record<
      string,
      unknown
    >
    expect(Object.keys(data)).toEqual(['seq', 'at', 'sessionId', 'event'])
    expect(typeof data['seq']).toBe('string')
    for (const one of [whole, rest, resumed, now]) one.stop()
  })

  test('may be of some sessions alone, and show text as it streams without a number', async () => {
    const served = await serve()
    const [one, two, other] = [
      await served.open('talker'),
      await served.open('echo'),
      await served.open('echo'),
    ]
    const read = await stream(served.url, `?after=0&session=${one}&session=${two.slice(6)}`)
    for (const id of [one, two, other]) {
      await served.post(`/api/sessions/${id}/messages`, { message: 'x' })
      await served.get(`/api/sessions/${id}/wait`)
    }
    const wanted = await logged(served, [one, two])
    await until(() => read.ids().length === wanted.length)
    expect(read.ids()).toEqual(wanted)
    const [, delta] = /^event: delta\ndata: (.*"text":"one ".*)$/m.exec(read.text) ?? []
    expect(JSON.parse(delta ?? '{}')).toEqual({
      sessionId: expect.stringMatching(/^ses_\d+$/),
      session: expect.stringMatching(/^ses_\d+$/),
      turn: expect.stringMatching(/^turn_\d+$/),
      epoch: expect.any(Number),
      step: expect.any(Number),
      offset: 0,
      text: 'one ',
    })
    expect(read.text).not.toContain(`"sessionId":"${other}"`)
    read.stop()
  })

  test('a wrong cursor or session is refused before the stream begins', async () => {
    const { get } = await serve()
    for (const after of ['-1', '1.5', 'x', '0x10', '9'.repeat(16)])
      expect((await get(`/api/events?after=${after}`)).body.error).toMatchObject({
        code: 'bad_input',
        field: 'after',
      })
    expect((await get('/api/events', { 'last-event-id': 'x' })).body.error).toMatchObject({
      code: 'bad_input',
      field: 'after',
    })
    expect((await get('/api/events?session=ses_nobody')).body.error).toMatchObject({
      code: 'session_unknown',
    })
    expect((await get('/api/events?colour=red')).body.error).toMatchObject({
      code: 'bad_input',
      field: 'colour',
    })
  })

  test('a comment says now and then that the line is there, and the stream ends when the server stops', async () => {
    const served = await serve({ limits: { beatMs: 20 } })
    const read = await stream(served.url)
    await until(() => (read.text.match(/^: still here$/gm) ?? []).length >= 10)
    await served.server.close()
    await until(() => read.ended)
  })

  test('too many listeners are refused', async () => {
    const { url, get } = await serve({ limits: { listenersMax: 1 } })
    const read = await stream(url)
    expect((await get('/api/events')).status).toBe(429)
    const socket = await listen(url)
    expect((await socket.closed).code).toBe(1013)
    expect(socket.frames[0]?.error?.code).toBe('rate_limited')
    read.stop()
    await until(async () => {
      const again = await stream(url)
      again.stop()
      return again.status === 200
    })
  })
})

test('a stream that nobody reads is let go, and one that is read slowly is not', async () => {
  const served = await serve({ limits: { beatMs: 50 } })
  const id = await served.open('big')
  for (let n = 0; n < 12; n += 1) {
    await served.post(`/api/sessions/${id}/messages`, { message: 'x' })
    await served.get(`/api/sessions/${id}/wait`)
  }
  const { port } = served.server
  const [stuck, slow] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  const ended = { stuck: false, slow: false }
  stuck.on('error', () => undefined).on('close', () => (ended.stuck = true))
  slow.on('error', () => undefined).on('close', () => (ended.slow = true))
  for (const socket of [stuck, slow])
    socket.write(`GET /api/events?after=0 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
  stuck.pause()
  let bytes = 0
  slow.on('data', (chunk) => {
    bytes += chunk.length
    slow.pause()
    setTimeout(() => slow.resume(), 2)
  })
  await until(() => served.logged.some(({ message }) => message === 'a client that reads nothing was let go'))
  stuck.resume()
  await until(() => ended.stuck, 'the stuck one to have ended')
  await until(() => bytes > 5_000_000 || ended.slow)
  expect(ended.slow).toBe(false)
  slow.destroy()
}, 30_000)

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
