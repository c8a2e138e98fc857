/**
 * A minimal collector of OTLP over HTTP: it keeps what it receives, and answers as the test says.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

export type ReceivedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  flags: number
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  status: { code?: number }
  /** Values as they are, not as OTLP wraps them. */
  attributes: Record<string, unknown>
}
export type Answer = { status: number; body?: unknown; headers?: Record<string, string> } | 'hang'
export type Collector = {
  url: string
  requests: { path: string; headers: IncomingHttpHeaders; bytes: number; resource: Record<string, unknown> }[]
  spans: ReceivedSpan[]
  /** The next answers; then 200 again. */
  answers: Answer[]
  /** Resolves when so many requests have come. */
  received(requests: number): Promise<void>
  close(): Promise<void>
}

type Attribute = {
  key: string
  value: {
    stringValue?: string
    intValue?: string
    doubleValue?: number
    boolValue?: boolean
    arrayValue?: { values: Attribute['value'][] }
  }
}
type WireSpan = Omit<ReceivedSpan, 'attributes'> & { attributes: Attribute[] }
type Request = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { scope: { name: string }; spans: WireSpan[] }[]
  }[]
}

const readValue = (value: Attribute['value']): unknown =>
  value.stringValue ??
  value.boolValue ??
  value.doubleValue ??
  (value.intValue === undefined ? value.arrayValue?.values.map(readValue) : Number(value.intValue))
const readAttributes = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]))

export async function collector(): Promise<Collector> {
  const waiting: { requests: number; resolve: () => void }[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const raw = Buffer.concat(parts)
      const body = JSON.parse(
        (request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString('utf8'),
      ) as Request
      const answer = mine.answers.shift() ?? { status: 200, body: {} }
      const [first] = body.resourceSpans
      mine.requests.push({
        path: request.url ?? '',
        headers: request.headers,
        bytes: raw.length,
        resource: readAttributes(first?.resource.attributes ?? []),
      })
      if (answer !== 'hang' && answer.status === 200)
        mine.spans.push(
          ...(first?.scopeSpans[0]?.spans ?? []).map((span) => ({
            ...span,
            attributes: readAttributes(span.attributes),
          })),
        )
      for (const one of waiting.filter(({ requests }) => mine.requests.length >= requests)) one.resolve()
      if (answer === 'hang') return
      response
        .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
        .end(JSON.stringify(answer.body ?? {}))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const mine: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    spans: [],
    answers: [],
    received: (requests) =>
      new Promise((resolve) =>
        mine.requests.length >= requests ? resolve() : void waiting.push({ requests, resolve }),
      ),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return mine
}
