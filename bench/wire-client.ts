/**
 * A minimal HTTP/1.1 client: one persistent connection, one request at a time. A heavier client would slow
 * down the fastest server most, and so flatter ours.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type WireAnswer = { status: number; body: string }

export type WireClient = {
  post(path: string, body: string): Promise<WireAnswer>
  get(path: string): Promise<WireAnswer>
  /** Drops the connection, even during a request. */
  destroy(): void
}

const headEnd = Buffer.from('\r\n\r\n')

export async function connectClient(url: string): Promise<WireClient> {
  const { hostname, port, host } = new URL(url)
  const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let received: Buffer = Buffer.alloc(0)
  let waiting: { resolve: (answer: WireAnswer) => void; reject: (error: Error) => void } | null = null
  const fail = (error: Error): void => {
    waiting?.reject(error)
    waiting = null
  }
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the connection was closed')))
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const answer = parseAnswer(received)
    if (answer === null) return
    received = received.subarray(answer.end)
    const { resolve } = waiting ?? { resolve: () => undefined }
    waiting = null
    resolve(answer)
  })
  const head = `host: ${host}\r\ncontent-type: application/json`
  const send = (text: string): Promise<WireAnswer> =>
    new Promise((resolve, reject) => {
      if (waiting !== null) return reject(new Error('this connection is waiting for an answer'))
      if (socket.destroyed) return reject(new Error('the connection is closed'))
      waiting = { resolve, reject }
      socket.write(text)
    })
  return {
    post: (path, body) =>
      send(`POST ${path} HTTP/1.1\r\n${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
    get: (path) => send(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`),
    destroy: () => socket.destroy(),
  }
}

/** Null until the whole answer is there. Every server of the bench sends a content length. */
function parseAnswer(bytes: Buffer): (WireAnswer & { end: number }) | null {
  const head = bytes.indexOf(headEnd)
  if (head === -1) return null
  const text = bytes.toString('latin1', 0, head)
  const length = /\r\ncontent-length: (\d+)/i.exec(text)
  if (length === null) throw new Error(`an answer without a length: ${text}`)
  const [start, end] = [head + headEnd.length, head + headEnd.length + Number(length[1])]
  return bytes.length < end
    ? null
    : { status: Number(text.slice(9, 12)), body: bytes.toString('utf8', start, end), end }
}
