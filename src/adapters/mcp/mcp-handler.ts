/** Behind the MCP door: the protocol in both revisions, and one request on it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createMcpHandler, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { findExcess, inletLimits } from '../../model/bounded-json.ts'
import { listen } from '../../model/contained.ts'
import { type Refusal, explain, isRefusal } from '../../model/refusal.ts'
import type { McpDoorDeps, McpIdentity } from './serve.ts'
import { connectionId, programIn } from './server-client.ts'
import { serverFor, type Asker, type FactoryDeps } from './server-factory.ts'
import { inflightCalls } from './server-inflight.ts'
import { progressMsDefault } from './server-progress.ts'
import { isBlocking } from './server-tools.ts'
import { within } from './stdio-transport.ts'

const connectionHeader = 'mcp-session-id'
const stopMsMax = 500

export type McpHandler = {
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  close(): Promise<void>
}

export function mcpHandler(deps: McpDoorDeps, identity: McpIdentity): McpHandler {
  const inflight = inflightCalls()
  const answering = new Set<Promise<void>>()
  const askers = new WeakMap<Request, Asker>()
  const { progressMs = progressMsDefault } = deps
  const factory: FactoryDeps = { ...deps, progressMs, inflight, fixtures: null }
  const make = ({ requestInfo }: { requestInfo?: Request }) =>
    serverFor((requestInfo === undefined ? undefined : askers.get(requestInfo)) ?? null, factory)
  const onerror = (): void => undefined
  // What may take long is a stream from its first byte, so that nobody in between gives it up; all else is
  // one body.
  const quick = createMcpHandler(make, { onerror })
  const streamed = createMcpHandler(make, { onerror, responseMode: 'sse', bus: quick.bus })
  factory.fixtures = deps.fixtures?.(quick.notify) ?? null
  return {
    handle,
    async close() {
      // A client that waits gets an answer, unless something does not stop: then its connection just ends.
      inflight.stop()
      await within(Promise.all(answering), stopMsMax, deps.clock)
      await Promise.all([quick.close(), streamed.close()])
    },
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    // A client that left before anything was begun has asked for nothing.
    if (reply.raw.destroyed) return reply.hijack()
    const who = identity.of(request)
    if (isRefusal(who)) return reply.code(401).send({ error: { code: who.code, message: explain(who) } })
    const gone = new AbortController()
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    listen(reply.raw, 'close', deps.report, () => {
      answering.delete(closed)
      resolve()
      gone.abort(new Error('the client has gone'))
    })
    const excess = typeof request.body === 'string' ? findExcess(request.body, 'body', inletLimits) : null
    if (excess !== null) return reply.code(400).send(refusedMessage(excess))
    const message = parseMessage(request.body)
    if (message?.method === 'tools/call') answering.add(closed)
    const web = webRequest(request, gone.signal)
    const connection = web.headers.get(connectionHeader)
    const program = programIn(connection)
    const seenIn = identity.seenIn(request)
    askers.set(web, { who, headers: web.headers, program, connection, seenIn, signal: gone.signal })
    const cancelled = message?.method === 'notifications/cancelled' ? message.params.requestId : undefined
    if (cancelled !== undefined) inflight.cancel({ who: JSON.stringify(who), connection, id: cancelled })
    const blocks = message?.method === 'tools/call' && isBlocking(message.params.name ?? '')
    const parsed = message === null ? {} : { parsedBody: message.whole }
    const response = await (blocks ? streamed : quick).fetch(web, parsed)
    if (message?.method === 'initialize' && response.ok) {
      const id = connectionId(message.params.clientInfo?.name ?? '', deps.ids.next())
      response.headers.set(connectionHeader, id)
    }
    return reply.send(blocks ? sendOpening(response) : response)
  }
}

/**
 * Headers leave with the first byte. A comment is one that says nothing, and the client knows at once that
 * its call has begun.
 */
function sendOpening(response: Response): Response {
  const type = response.headers.get('content-type')
  if (response.body === null || type?.startsWith('text/event-stream') !== true) return response
  const opening = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(': begun\n\n')),
  })
  return new Response(response.body.pipeThrough(opening), response)
}

const Message = z.object({
  method: z.string().catch(''),
  params: z
    .object({
      name: z.string().optional().catch(undefined),
      requestId: z.union([z.string(), z.number()]).optional().catch(undefined),
      clientInfo: z.object({ name: z.string() }).optional().catch(undefined),
    })
    .catch({}),
})

/** JSON-RPC 2.0, 5.1: the id of a request that could not be read is null. */
const refusedMessage = (refusal: Refusal): object => ({
  jsonrpc: '2.0',
  id: null,
  error: { code: ProtocolErrorCode.InvalidRequest, message: explain(refusal), data: refusal },
})

/** What the door itself looks at. Null for what is not JSON: the protocol has its own answer to that. */
function parseMessage(body: unknown): (z.infer<typeof Message> & { whole: unknown }) | null {
  if (typeof body !== 'string' || body === '') return null
  try {
    const whole: unknown = JSON.parse(body)
    return { ...(Message.safeParse(whole).data ?? { method: '', params: {} }), whole }
  } catch {
    return null
  }
}

function webRequest(request: FastifyRequest, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  const body = typeof request.body === 'string' && request.body !== '' ? request.body : undefined
  // The address is ours, whatever the Host header says: nothing is decided by it.
  return new Request(`http://127.0.0.1${request.url}`, {
    method: request.method,
    headers,
    signal,
    ...(body === undefined ? {} : { body }),
  })
}
