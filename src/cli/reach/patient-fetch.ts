/**
 * Requests over node:http. Node's own `fetch` hangs up when no answer has begun after five minutes, but a
 * call may take as long as its deadline allows.
 */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Fetch } from '../../client/request.ts'

/** Most commands ask nobody, and TLS takes longer to load than they take. As a module it would load undici, too. */
const findRequest = ({ protocol }: URL): typeof import('node:http').request =>
  protocol === 'https:'
    ? process.getBuiltinModule('node:https').request
    : process.getBuiltinModule('node:http').request

export const patientFetch: Fetch = (url, { method = 'GET', headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const target = new URL(url)
    const request = findRequest(target)(
      target,
      { method, headers: headers as Record<string, string>, ...(signal == null ? {} : { signal }) },
      (message) => resolve(readAnswer(message)),
    )
    request.on('error', reject)
    request.end(typeof body === 'string' ? body : undefined)
  })

function readAnswer(message: IncomingMessage): Awaited<ReturnType<Fetch>> {
  const status = message.statusCode ?? 0
  return {
    status,
    ok: status >= 200 && status < 300,
    get body() {
      return Readable.toWeb(message) as ReadableStream<Uint8Array>
    },
    async text() {
      const chunks: Buffer[] = []
      for await (const chunk of message) chunks.push(chunk as Buffer)
      return Buffer.concat(chunks).toString('utf8')
    },
  }
}
