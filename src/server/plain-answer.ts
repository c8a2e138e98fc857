/** Answers that need no web application: of a server that still loads it, and of connections that are no requests. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { headerBytesMax } from './http-limits.ts'
import { securityHeaders } from './response-headers.ts'
import { wireNo, type WireNo } from './wire-error.ts'

const contentType = { 'content-type': 'application/json; charset=utf-8' }

/** As the application would answer. */
export function answerPlainly(
  response: ServerResponse,
  { status, headers, body }: Omit<WireNo, 'body'> & { body: object },
): void {
  const text = JSON.stringify(body)
  const length = { 'content-length': Buffer.byteLength(text) }
  response.writeHead(status, { ...securityHeaders.api, ...headers, ...contentType, ...length }).end(text)
}

/** For a connection that nothing reads any more; it ends. */
export function answerSocket(socket: Duplex, { status, headers, body }: WireNo): void {
  const text = JSON.stringify(body)
  const all = {
    ...headers,
    ...contentType,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} No\r\n${lines.join('')}\r\n${text}`, () => socket.destroy())
}

/** What is not HTTP, comes too slowly or has too much in its headers never gets as far as a route. */
export function answerBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  const no =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? wireNo('request_timeout', 'The request did not come in time.')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? wireNo('headers_too_large', `The headers have more than ${headerBytesMax} bytes.`)
        : wireNo('bad_request', 'This is not HTTP/1.1.')
  answerSocket(socket, no)
}
