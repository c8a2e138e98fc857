/** Uses an address as a client does, and describes the answer. */
import { once } from 'node:events'
import WebSocket from 'ws'
import type { Address, Answered } from './addresses.ts'
import { createAsk, type Body } from './server.ts'
import { describeShape, type Shape } from './shape.ts'

export async function askAddress(
  url: string,
  tokens: Readonly<Record<string, string>>,
  address: Address,
): Promise<Answered> {
  const token = tokens[address.as ?? 'user'] ?? ''
  if (address.method === 'WS') return listen(url, token, address)
  if (address.method === 'SSE') return readStream(url, token, address)
  const { status, type, body } = await createAsk(url, token)(
    address.method,
    address.path,
    address.body,
    address.headers,
  )
  const shape = type === 'text/event-stream' ? describeEvents(body) : describeShape(body, address.depth ?? 6)
  const code = body?.error?.code
  return { status, type, shape, ...(typeof code === 'string' ? { code } : {}) }
}

/** How many events or frames are read of what would go on for ever. */
const framesMax = 12
const silenceMs = 1500

const describeEvents = (text: string): Shape => {
  const data = [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, line]) => JSON.parse(line ?? '') as Body)
  return Object.assign({}, ...data.map((each) => ({ [nameFrame(each)]: describeShape(each) }))) as Shape
}

const nameFrame = (frame: Body): string =>
  [frame.type ?? frame.message_type, frame.event?.type].filter((part) => part !== undefined).join(' ')

async function readStream(url: string, token: string, { path }: Address): Promise<Answered> {
  const leaving = new AbortController()
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${token}` },
    signal: leaving.signal,
  })
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8')
    if (text.split('\ndata:').length > framesMax) break
  }
  leaving.abort()
  const events = text.split('\n\n').slice(0, framesMax).join('\n\n')
  return { status: response.status, type, shape: describeEvents(events) }
}

/** Sends all frames, and reads until it is silent. */
async function listen(url: string, token: string, address: Address): Promise<Answered> {
  const { path, frames = [], body } = address
  const ws = new WebSocket(url.replace('http', 'ws') + path, {
    headers: { authorization: `Bearer ${token}` },
  })
  const heard: Body[] = []
  const silent = Promise.withResolvers<void>()
  let timer = setTimeout(silent.resolve, 10_000)
  ws.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Body
    heard.push(frame)
    const to = frame.type === 'welcome' ? frame.sessions[0].sessionId : undefined
    if (to !== undefined) void createAsk(url, token)('POST', `/api/sessions/${to}/messages`, body)
    if (frame.type === 'turn') for (const answer of answerTurn(frame.turn)) ws.send(JSON.stringify(answer))
    clearTimeout(timer)
    timer = setTimeout(silent.resolve, silenceMs)
  })
  await once(ws, 'open')
  for (const frame of frames) ws.send(JSON.stringify(frame))
  await silent.promise
  ws.close()
  const shapes = heard.map((frame) => ({ [nameFrame(frame)]: describeShape(frame) }))
  return { status: 101, type: 'websocket', shape: Object.assign({}, ...shapes) as Shape }
}

/** What a connected program sends when it is given a turn. */
const answerTurn = (turn: string): object[] => [
  { type: 'tool', turn, id: 'use-1', name: 'list-session', input: {} },
  { type: 'delta', turn, text: 'It is ' },
  { type: 'answer', turn, output: 'It is done.', usage: { input: 1, output: 1 } },
]
