/**
 * What every group of routes gets, and the few steps that all of them take. A group is one file
 * `<group>-routes.ts` with a function `(app, deps) => void`.
 */
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { contained, faultText } from '../model/contained.ts'
import type { SessionRow } from '../model/facts.ts'
import type { Refusal } from '../model/refusal.ts'
import type { Exchange, Who } from '../runtime/exchange.ts'
import type { Clock } from '../runtime/ports.ts'
import type { Numbers } from './answer-shapes.ts'
import type { Identity } from './identity.ts'
import type { LogSink } from './log-sink.ts'
import { coversSession } from './reach.ts'
import { isRefusal, wireNoOf, WireError, type WireNo } from './wire-error.ts'

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

export type Deps = {
  exchange: Exchange
  clock: Clock
  identity: Identity
  log: LogSink
  version: string
  /** The directory of sessions that clients are given. */
  cwd: string
  startedAt: number
  /** Aborts when the server stops: what blocks then answers at once. */
  closing: AbortSignal
  metrics: (() => Promise<string>) | null
  /** What the log adds up to, all of it or since a time. */
  numbers: ((since: number | null) => Promise<Numbers>) | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on public routes only. */
    who: Who | null
  }
  interface FastifyContextConfig {
    /** Needs no token: it tells nothing about sessions. */
    public?: boolean
  }
}

/** Routes that are not public are asked only after somebody was found. */
export function whoOf(request: FastifyRequest): Who {
  if (request.who === null)
    throw new Error(`${request.method} ${request.routeOptions.url ?? ''} is public, so nobody is known`)
  return request.who
}

/** Sends a value, or a refusal in the one shape with its own status. */
export const answer = (reply: FastifyReply, status: number, value: object): FastifyReply =>
  isRefusal(value) ? say(reply, wireNoOf(value)) : reply.code(status).send(value)

export function say(reply: FastifyReply, no: WireNo): FastifyReply {
  // What was chosen for a good answer, like a content type, does not hold for this one.
  return reply
    .code(no.status)
    .headers(no.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(no.body)
}

/** The session of a path or body, by id or unique part, if `who` may see it. */
export async function openSession(
  { exchange }: Deps,
  who: Who,
  idOrPart: string,
): Promise<SessionRow | Refusal> {
  const found = await exchange.findSession(idOrPart)
  if (isRefusal(found) || who.kind === 'user') return found
  return (await coversSession(exchange, who, found.id)) ? found : notYours(who, `see session ${found.id}`)
}

export const notYours = (who: Who, what: string): Refusal =>
  who.kind === 'turn'
    ? {
        code: 'not_allowed',
        agent: 'The token of a turn',
        what,
        allowed: ['the tools of its turn, at /mcp or POST /api/calls'],
      }
    : {
        code: 'not_allowed',
        agent: 'The token of a session',
        what,
        allowed: ['its own session', 'the sessions below it'],
      }

/** For what belongs to the user alone. */
export const onlyUser = (who: Who, what: string): Refusal | null =>
  who.kind === 'user' ? null : notYours(who, what)

/** Aborts when the client has gone before its answer was sent, or with `also`. */
export function whenGone(reply: FastifyReply, also?: AbortSignal): AbortSignal {
  const gone = new AbortController()
  const stop = (): void => gone.abort(also?.reason)
  also?.addEventListener('abort', stop, { once: true })
  reply.raw.once(
    'close',
    contained(
      (fault) => process.emitWarning(faultText(fault)),
      () => {
        also?.removeEventListener('abort', stop)
        if (!reply.raw.writableEnded) gone.abort(new Error('the client has gone'))
      },
    ),
  )
  return gone.signal
}

/** The W3C trace that the request belongs to; one that is malformed is none. */
export function traceOf(request: FastifyRequest): string | null {
  const trace = request.headers['traceparent']
  return typeof trace === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(trace)
    ? trace
    : null
}

type Requested = {
  summary: string
  tag: string
  description?: string
  params?: z.ZodType
  querystring?: z.ZodType
  body?: z.ZodType
}

/**
 * A route's schemas: what comes in is checked by them; what goes out is described by them, and tests hold it.
 */
export function shapes<const R extends Requested>(
  { tag, ...requested }: R,
  answers: Record<string, unknown>,
): Omit<R, 'tag'> & { tags: string[]; response: unknown } {
  return { ...requested, tags: [tag], response: { ...answers, '4xx': WireError } }
}

export const IdPath = z.strictObject({
  id: z.string().min(1).max(200).describe('an id, or a part that only one has'),
})
