/**
 * Requests over node:http. Node's own `fetch` hangs up when no answer has begun after five minutes, but a
 * call may take as long as its deadline allows.
 */
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import type { Fetch } from '../../client/request.ts'

// As in runtime/kernel/node-http.ts: imported as a module it would load undici at every start.
const { request: httpRequest } = process.getBuiltinModule('node:http')

export const patientFetch: Fetch = (url, { method = 'GET', headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const target = new URL(url)
    const open = target.protocol === 'https:' ? httpsRequest : httpRequest
    const request = open(
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
