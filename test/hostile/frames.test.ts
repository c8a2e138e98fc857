/**
 * Frames that nobody should send, to both sockets: deep, wide, huge, binary, cut off, malformed. The
 * connection may end; the server answers as before.
 */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { hostSocket } from '../../src/adapters/host/socket.ts'
import { openLine } from '../../src/open-line.ts'
import { serve, until, type Frame, type Served } from '../kits/http.ts'

const deep = (levels: number, open = '[', close = ']'): string => open.repeat(levels) + close.repeat(levels)

async function serveBoth(): Promise<Served> {
  const line = await openLine({ agents: { echo: { script: ({ task }) => `echo: ${task}` } } })
  onTestFinished(() => line.close())
  return serve({
    desks: line.desks,
    sockets: {
      '/ws/host': hostSocket({
        desks: line.desks,
        hub: line.hosts,
        mint: () => 'token',
        report: () => undefined,
      }),
    },
  })
}

type Said = { frames: Frame[]; code: number | null }

/** What is said to one frame, and whether the connection ends. */
async function say(url: string, path: string, frame: string | Buffer): Promise<Said> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}${path}`)
  const said: Said = { frames: [], code: null }
  ws.on('message', (data) => said.frames.push(JSON.parse((data as Buffer).toString()) as Frame))
  ws.on('close', (code) => (said.code = code))
  ws.on('error', () => undefined)
  await once(ws, 'open')
  ws.send(frame)
  await until(
    () => said.code !== null || said.frames.some(({ type }) => type === 'error' || type === 'cancel'),
    `an answer at ${path}`,
  )
  ws.terminate()
  return said
}

const errorIn = ({ frames }: Said): { code: string; field?: string } | undefined =>
  frames.find(({ type }) => type === 'error')?.error

describe('a frame that is nested too deep is refused by the name of its field, and the server goes on', () => {
  const frames: [string, string, string][] = [
    ['/ws', `{"type":"subscribe","sessionIds":${deep(31_000)}}`, 'sessionIds'],
    ['/ws', `{"type":"subscribe","after":${deep(9000, '{"a":', '}').replace('{"a":}', '{"a":1}')}}`, 'after'],
    ['/ws', deep(30_000), 'frame'],
    ['/ws/host', `{"type":"tool","turn":"t","id":"i","name":"n","input":${deep(3000)}}`, 'input'],
    ['/ws/host', `{"type":"tool","turn":"t","id":"i","name":"n","input":${deep(900_000)}}`, 'input'],
    ['/ws/host', `{"type":"hello","agent":"a","sessions":${deep(500_000)}}`, 'sessions'],
    ['/ws/host', `{"type":"answer","turn":${deep(500_000)}}`, 'turn'],
  ]
  test.each(frames)('%s %#', async (path, frame, field) => {
    const served = await serveBoth()
    const said = await say(served.url, path, frame)
    expect(errorIn(said)).toMatchObject({ code: 'bad_input', field })
    expect(served.logged.filter(({ level }) => level === 'error')).toEqual([])
    expect((await served.get('/health')).status).toBe(200)
  })
})

describe('a wide, huge, binary or malformed frame is refused or ends its connection', () => {
  const wide = (count: number): string => Array.from({ length: count }, (_, index) => `"k${index}":0`).join()
  const frames: [string, string, string | Buffer, string | number][] = [
    ['a wide object', '/ws', `{${wide(5000)}}`, 'bad_input'],
    ['a wide list', '/ws', `{"type":"subscribe","sessionIds":[${'1,'.repeat(30_000)}1]}`, 'bad_input'],
    ['a long text', '/ws', `{"type":"subscribe","sessionIds":["${'x'.repeat(60_000)}"]}`, 'bad_input'],
    ['a long name', '/ws', `{"${'x'.repeat(60_000)}":1}`, 'bad_input'],
    ['a long name that escapes', '/ws', `{"type":"subscribe","${'\\u0000'.repeat(10_000)}":1}`, 'bad_input'],
    ['more than a frame may hold', '/ws', 'x'.repeat(70_000), 1009],
    ['binary', '/ws', Buffer.alloc(1000, 255), 'bad_input'],
    ['half of a text', '/ws', '{"type":"subs', 'bad_input'],
    ['only backslashes', '/ws', `"${'\\'.repeat(60_001)}`, 'bad_input'],
    ['a prototype', '/ws', '{"__proto__":{"type":"subscribe"}}', 'bad_input'],
    ['a wide object', '/ws/host', `{"type":"hello","agent":"a",${wide(45_000)}}`, 'bad_input'],
    [
      'more values than are taken',
      '/ws/host',
      `{"type":"tool","turn":"t","id":"i","name":"n","input":[${'1,'.repeat(60_000)}1]}`,
      'bad_input',
    ],
    [
      'a turn that nobody has',
      '/ws/host',
      `{"type":"tool","turn":"t","id":"i","name":"n","input":[${'1,'.repeat(40_000)}1]}`,
      'cancel',
    ],
    ['more than a frame may hold', '/ws/host', 'x'.repeat(5_000_000), 1009],
    ['binary', '/ws/host', Buffer.alloc(100_000, 255), 'bad_input'],
    ['half of a text', '/ws/host', '{"type":"hello"', 'bad_input'],
  ]
  test.each(frames)('%s at %s', async (_name, path, frame, expected) => {
    const served = await serveBoth()
    const said = await say(served.url, path, frame)
    expect([errorIn(said)?.code, said.code, ...said.frames.map(({ type }) => type)]).toContain(expected)
    expect((await served.get('/health')).status).toBe(200)
  })
})

async function upgraded(served: Served, path: string): Promise<Socket> {
  const socket = connect(served.server.port, '127.0.0.1')
  socket.on('error', () => undefined)
  const request = [
    `GET ${path} HTTP/1.1`,
    `host: 127.0.0.1:${served.server.port}`,
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
  ]
  socket.write(`${request.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  return socket
}

/** Bytes that are no frames, frames that end too early, and frames that the protocol forbids. */
const raw: [string, Buffer][] = [
  ['a reserved operation', Buffer.from([0x83, 0x80, 0, 0, 0, 0])],
  ['an unmasked frame', Buffer.from([0x81, 0x02, 0x68, 0x69])],
  ['reserved bits', Buffer.from([0xf1, 0x80, 0, 0, 0, 0])],
  ['a length of 2^63', Buffer.from([0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0])],
  ['a long ping', Buffer.from([0x89, 0xfe, 0xff, 0xff, 0, 0, 0, 0])],
  ['half of a header', Buffer.from([0x81])],
  ['half of a frame', Buffer.from([0x81, 0xfe, 0x10, 0x00, 0, 0, 0, 0, 0x7b])],
  ['text that is no UTF-8', Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28])],
  ['a continuation of nothing', Buffer.from([0x80, 0x80, 0, 0, 0, 0])],
  ['a close with a wrong code', Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0, 1])],
  ['plain HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['zeros', Buffer.alloc(10_000)],
]

test.each(['/ws', '/ws/host'])(
  'bytes that are no frames, and connections that are cut off in the middle of one, end alone: %s',
  async (path) => {
    const served = await serveBoth()
    for (const [name, bytes] of raw) {
      for (const leave of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
        const socket = await upgraded(served, path)
        socket.write(bytes)
        leave(socket)
        await new Promise((resolve) => (socket.destroyed ? resolve(null) : socket.once('close', resolve)))
        expect({ name, status: (await served.get('/health')).status }).toEqual({ name, status: 200 })
      }
    }
    expect(served.logged.filter(({ level }) => level === 'error')).toEqual([])
    await until(() => served.server.sockets() === 0, 'every socket to be forgotten')
  },
)

test('what breaks inside of a message handler closes that connection with 1011, and no other', async () => {
  const served = await serve({
    sockets: {
      '/ws/broken': (ws, _who, onFault) =>
        void ws.on('message', () => onFault(new Error('broken on purpose'))),
      '/ws/unopened': () => {
        throw new Error('broken at once')
      },
    },
  })
  const other = new WebSocket(`${served.url.replace('http', 'ws')}/ws`)
  await once(other, 'open')
  for (const path of ['/ws/broken', '/ws/unopened']) {
    const ws = new WebSocket(`${served.url.replace('http', 'ws')}${path}`)
    ws.on('open', () => ws.send('x'))
    const [code] = (await once(ws, 'close')) as [number]
    expect(code).toBe(1011)
  }
  expect(other.readyState).toBe(other.OPEN)
  expect(
    served.logged
      .filter(({ level }) => level === 'error')
      .map(({ fields }) => String(fields['stack']).split('\n')[0]),
  ).toEqual(['Error: broken on purpose', 'Error: broken at once'])
  other.terminate()
})
