/** What comes while the server listens and its doors are not loaded yet. */
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { openLine } from '../../src/open-line.ts'
import { openServer, type OpenServerOptions } from '../../src/open-server.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { openFront, type Front, type FrontOptions } from '../../src/server/front.ts'
import { openDoors } from '../../src/server/http.ts'
import { cli, project, start } from '../kits/cli.ts'
import { askAt, askRaw, declined, until, type Logged } from '../kits/http.ts'

type Early = { front: Front; logged: Logged[]; observed: unknown[][]; open: () => Promise<unknown> }

async function listenEarly(more: Partial<FrontOptions> = {}): Promise<Early> {
  const line = await openLine({ agents: { echo: { script: ({ task }) => `echo: ${task}` } } })
  const logged: Logged[] = []
  const observed: unknown[][] = []
  const both = {
    desks: line.desks,
    clock: systemClock,
    version: '9.9.9',
    log: (level: string, message: string, fields = {}) => void logged.push({ level, message, fields }),
    observe: (...seen: unknown[]) => void observed.push(seen),
  }
  const front = await openFront({
    ...both,
    host: '127.0.0.1',
    port: 0,
    auth: 'open',
    token: null,
    secret: Buffer.from('a secret for tests'),
    socketPaths: [],
    limits: {},
    ...more,
  })
  let close = (): Promise<void> => front.close()
  onTestFinished(async () => {
    await close()
    await line.close()
  })
  return {
    front,
    logged,
    observed,
    async open() {
      const http = await openDoors(front, { ...both, doors: [], pageDir: null, metrics: null, cwd: '/tmp' })
      close = () => http.close()
    },
  }
}

/** What comes on one connection, which is left open. */
function send(front: Front, text: string): { read: () => string; isClosed: () => boolean } {
  const socket = connect(front.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let read = ''
  let isClosed = false
  socket.on('error', () => undefined)
  socket.on('data', (data: Buffer) => (read += data.toString()))
  socket.on('close', () => (isClosed = true))
  socket.write(text)
  return { read: () => read, isClosed: () => isClosed }
}

const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code ?? '')

test('who asks before the doors are there waits, and is answered as usual', async () => {
  const { front, open } = await listenEarly()
  let answered = 0
  const count = <T>(answer: T): T => ((answered += 1), answer)
  const asked = [
    askAt(front.url, 'POST', '/api/agents/echo/messages', { message: 'tea' }).then(count),
    askAt(front.url, 'GET', '/api/server').then(count),
    askAt(front.url, 'HEAD', '/health').then(count),
    askAt(front.url, 'GET', '/nothing').then(count),
    askAt(front.url, 'POST', '/api/calls', '{').then(count),
  ]
  await front.asked
  for (let n = 0; n < 5; n += 1) expect((await askAt(front.url, 'GET', '/health')).status).toBe(200)
  expect(answered).toBe(0)
  await open()
  const [, server, head, nothing, broken] = await Promise.all(asked)
  expect([server?.status, server?.body.version]).toEqual([200, '9.9.9'])
  expect([head?.status, nothing?.status, broken?.status]).toEqual([200, 404, 400])
})

test('whether it lives is answered at once, exactly as it is later', async () => {
  const { front, open, logged, observed } = await listenEarly()
  const ask = async (path: string, headers = {}) => {
    const { status, body, headers: all } = await askRaw(front.url, { path, headers })
    return {
      status,
      body: { ...body, uptimeSeconds: 0 },
      headers: { ...all, date: '' },
      names: Object.keys(all).toSorted(),
    }
  }
  const foreign = { origin: 'http://evil.example' }
  const rebound = { host: 'evil.example' }
  const all = async () => [
    await ask('/health'),
    await ask('/health?since=1'),
    await ask('/health', { ...foreign, authorization: 'Bearer wrong' }),
    await ask('/health', rebound),
    await ask('/health', { 'sec-fetch-site': 'cross-site' }),
  ]
  const shown = (from: number) =>
    logged.slice(from).map((line) => ({ ...line, fields: { ...line.fields, ms: 0 } }))
  const early = await all()
  await until(() => observed.length === 5)
  expect(early.map(({ status }) => status)).toEqual([200, 200, 403, 403, 200])
  expect(early[0]?.body).toEqual({
    status: 'ok',
    version: '9.9.9',
    uptimeSeconds: 0,
    store: { status: 'ok', reason: null, cure: null, freeBytes: null, since: null },
  })
  const [before, many] = [shown(0), logged.length]
  await open()
  expect(await all()).toEqual(early)
  await until(() => observed.length === 10)
  expect(shown(many)).toEqual(before)
  expect(observed.slice(5).map(([route, status]) => [route, status])).toEqual(
    observed.slice(0, 5).map(([route, status]) => [route, status]),
  )
})

test('early questions count for the number that one may ask', async () => {
  const { front, open } = await listenEarly({ limits: { requestsPerMinute: 3 } })
  const ask = async (): Promise<number> => (await askAt(front.url, 'GET', '/health')).status
  expect([await ask(), await ask()]).toEqual([200, 200])
  await open()
  expect([await ask(), await ask()]).toEqual([200, 429])
})

test('requests that wait on one connection are answered in order, and no more than one may send at once', async () => {
  const { front, open } = await listenEarly()
  const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${front.port}\r\n\r\n`
  const few = send(front, ask('/nothing') + ask('/health') + ask('/api/server').repeat(62))
  const many = send(front, ask('/nothing').repeat(65))
  await until(() => many.isClosed())
  expect(few.read()).toBe('')
  await open()
  await until(() => statuses(few.read()).length === 64)
  expect(statuses(few.read())).toEqual(['404', ...Array.from({ length: 63 }, () => '200')])
})

test('a WebSocket that comes early is connected when the doors are there', async () => {
  const { front, open } = await listenEarly()
  const frames: unknown[] = []
  const ws = new WebSocket(front.url.replace('http', 'ws') + '/ws')
  onTestFinished(() => ws.terminate())
  ws.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())))
  await front.asked
  expect((await askAt(front.url, 'GET', '/health')).status).toBe(200)
  expect(ws.readyState).toBe(ws.CONNECTING)
  await open()
  await until(() => frames.length === 1)
  expect(frames[0]).toMatchObject({ type: 'subscribed' })
  expect(await declined(front.url, '', { origin: 'http://evil.example' })).toMatchObject({ status: 403 })
})

test('a stop while the doors load tells all who wait, and waits for nobody', async () => {
  const { front } = await listenEarly()
  const came = [once(front.server, 'request'), once(front.server, 'upgrade')]
  const asked = askAt(front.url, 'GET', '/api/server')
  const socket = declined(front.url)
  await Promise.all(came)
  await front.close()
  const { status, headers, body } = await asked
  expect([status, headers.get('retry-after'), body.error.code]).toEqual([503, '1', 'unavailable'])
  expect(await socket).toMatchObject({ status: 503 })
  await expect(askAt(front.url, 'GET', '/health')).rejects.toThrow('fetch failed')
})

const countTimers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

const inDirectory = (more: OpenServerOptions): OpenServerOptions => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-early-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  return { dataDir, port: 0, onWarning: () => undefined, ...more }
}

test('doors that cannot be opened end the server with their fault, and nothing is left of it', async () => {
  const told: string[] = []
  const waiting: Promise<{ status: number }>[] = []
  const options = inDirectory({
    onListening({ url }) {
      told.push(url)
      waiting.push(askAt(url, 'GET', '/api/server'))
    },
  })
  Object.defineProperty(options, 'mcpFixtures', {
    enumerable: true,
    get() {
      if (told.length > 0) throw new Error('no doors today')
      return undefined
    },
  })
  await expect(openServer(options)).rejects.toThrow('no doors today')
  expect(await waiting[0]).toMatchObject({ status: 503 })
  await expect(askAt(told[0] ?? '', 'GET', '/health')).rejects.toThrow('fetch failed')
  expect(existsSync(join(options.dataDir ?? '', 'server.json'))).toBe(false)
  // The directory is free.
  const again = await openServer(inDirectory({ dataDir: options.dataDir ?? '' }))
  await again.close()
})

test('a server that was closed while its doors were loaded left timers behind, and its program went on', async () => {
  let closed: Promise<void> | undefined
  const options = inDirectory({ onListening: (at) => void (closed = at.close()) })
  const before = countTimers()
  await expect(openServer(options)).rejects.toThrow('closed before its doors were open')
  await closed
  await until(() => countTimers() <= before)
})

test('who is told of the address can find the server, and is answered', async () => {
  const asked: Promise<{ status: number }>[] = []
  const found: boolean[] = []
  const options = inDirectory({
    onListening({ url, dataDir }) {
      found.push(existsSync(join(dataDir, 'server.json')))
      asked.push(askAt(url, 'GET', '/health'), askAt(url, 'GET', '/api/server'))
    },
  })
  const server = await openServer(options)
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200])
  expect(found).toEqual([true])
  await server.close()
})

test('turns that an earlier process left go on when the doors are there', async () => {
  const seen: string[] = []
  const ended = Promise.withResolvers<string>()
  const held = { script: () => (seen.push('runs'), ended.promise) }
  const options = inDirectory({ agents: { held } })
  const first = await openServer(options)
  void first.line.run('held', 'go').catch(() => undefined)
  await until(() => seen.length === 1)
  await first.close()
  const again = { ...options, onListening: () => void seen.push('listens') }
  Object.defineProperty(again, 'mcpFixtures', {
    enumerable: true,
    get: () => (seen.includes('listens') ? void seen.push('opens its doors') : undefined),
  })
  const second = await openServer(again)
  await until(() => seen.length === 4)
  // Whatever looks at the option more than once.
  expect([...new Set(seen)]).toEqual(['runs', 'listens', 'opens its doors'])
  expect(seen.at(-1)).toBe('runs')
  ended.resolve('done')
  await second.close()
})

test('SIGTERM right after the address ends it cleanly', { timeout: 120_000 }, async () => {
  const { cwd, data } = project()
  const server = start(cwd, ['serve', '--json'])
  await server.says('"url"')
  server.child.kill('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 143, err: '' })
  expect(existsSync(join(data, 'server.json'))).toBe(false)
  expect(await cli(cwd, 'check')).toMatchObject({ code: 0 })
})
