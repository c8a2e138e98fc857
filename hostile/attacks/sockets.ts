/** Frames on `/ws` and `/ws/host`. */
import WebSocket from 'ws'
import { deep, speak, type Attack, type Ending, type Family, type Target } from '../attack.ts'

type Sent = string | Buffer

/** Sends frames, and waits until the server hangs up, or for a moment. */
function frames({ url, signal }: Target, path: string, sent: readonly Sent[], reads = true): Promise<Ending> {
  return new Promise((resolve) => {
    const ws = new WebSocket(url.replace('http', 'ws') + path, { perMessageDeflate: false })
    let refused = false
    const over = (ending: Ending): void => {
      clearTimeout(quiet)
      signal.removeEventListener('abort', late)
      ws.terminate()
      resolve(ending)
    }
    const late = (): void => over('late')
    const quiet = setTimeout(() => over(refused ? 'refused' : 'served'), 1500)
    signal.addEventListener('abort', late, { once: true })
    ws.on('error', () => over('cut'))
    ws.on('close', (code) => over(code === 1006 ? 'cut' : 'refused'))
    ws.on('message', (data: Buffer) => (refused ||= data.includes('"error"')))
    ws.on('open', () => {
      if (!reads) ws.pause()
      for (const frame of sent) ws.send(frame)
    })
  })
}

const over = (
  kind: string,
  path: string,
  sent: (target: Target) => readonly Sent[],
  reads = true,
): Attack => ({ kind, try: (target) => frames(target, path, sent(target), reads) })
const depths = [50, 3000, 31_000]
const helloOf = (target: Target, more: object = {}): string =>
  JSON.stringify({
    type: 'hello',
    agent: `prog${target.random.below(20)}`,
    sessions: [{ id: `s${target.random.below(50)}`, cwd: target.cwd }],
    ...more,
  })
const handshake = (path: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    'upgrade: websocket',
    'connection: upgrade',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
    '',
  ].join('\r\n')

export const sockets: Family = {
  name: 'sockets',
  attacks: [
    over('ws: deep subscribe', '/ws', ({ random }) => [
      `{"type":"subscribe","sessionIds":${deep(random.pick(depths))}}`,
    ]),
    over('ws: deep after', '/ws', ({ random }) => [
      `{"type":"subscribe","after":${deep(random.pick(depths), '{"a":', '}')}}`,
    ]),
    over('ws: many names', '/ws', () => [
      JSON.stringify({ type: 'subscribe', sessionIds: Array.from({ length: 5000 }, (_, n) => `s${n}`) }),
    ]),
    over('ws: many subscribes', '/ws', () =>
      Array.from({ length: 300 }, () => '{"type":"subscribe","after":"0"}'),
    ),
    over('ws: places that are none', '/ws', () =>
      ['-1', '1e999', '99999999999999999999', '0x10', 'NaN', '\u0000'].map((after) =>
        JSON.stringify({ type: 'subscribe', after }),
      ),
    ),
    over('host: deltas of half keys, each as long as allowed', '/ws/host', (target) => [
      helloOf(target),
      ...Array.from({ length: 40 }, () =>
        JSON.stringify({ type: 'delta', turn: 'none', text: '-sk-'.repeat(16_000) }),
      ),
    ]),
    over('ws: too large', '/ws', () => ['x'.repeat(70_000)]),
    over('ws: binary and garbage', '/ws', () => [
      Buffer.alloc(1000, 0xff),
      '{"type":',
      'null',
      '[]',
      '""',
      '{"type":"subscribe","sessionIds":[null]}',
    ]),
    over('ws: all events, never read', '/ws', () => ['{"type":"subscribe","after":"0"}'], false),
    over('host: deep tool', '/ws/host', (target) => [
      helloOf(target),
      `{"type":"tool","turn":"t","id":"i","name":"read","input":${deep(target.random.pick(depths))}}`,
    ]),
    over('host: deep hello', '/ws/host', ({ random }) => [
      `{"type":"hello","agent":"a","sessions":${deep(random.pick(depths))}}`,
    ]),
    over('host: huge answer', '/ws/host', (target) => [
      helloOf(target),
      JSON.stringify({ type: 'answer', turn: 't', output: '-sk-'.repeat(500_000) }),
    ]),
    over('host: too large', '/ws/host', () => ['x'.repeat(5 * 1024 * 1024)]),
    over('host: many sessions', '/ws/host', (target) => [
      helloOf(target, {
        sessions: Array.from({ length: 3000 }, (_, n) => ({ id: `m${n}`, cwd: target.cwd })),
      }),
    ]),
    over('host: deltas of nobody', '/ws/host', (target) => [
      helloOf(target),
      ...Array.from({ length: 300 }, () =>
        JSON.stringify({ type: 'delta', turn: 'none', text: 'x'.repeat(1000) }),
      ),
    ]),
    { kind: 'ws: half of a handshake', try: (target) => speak(target, [handshake('/ws'), 'x'], 400) },
    {
      kind: 'ws: a frame that is none',
      try: (target) =>
        speak(
          target,
          [
            `${handshake('/ws')}\r\n`,
            Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
            Buffer.alloc(2000, 7),
          ],
          50,
        ),
    },
    {
      kind: 'ws: a frame of 2^62 bytes',
      try: (target) =>
        speak(
          target,
          [`${handshake('/ws/host')}\r\n`, Buffer.from([0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])],
          50,
        ),
    },
  ],
}
