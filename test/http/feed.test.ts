import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { listen, serve, until } from '../kits/http.ts'
import { logged, stream } from '../kits/feed.ts'

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
