/**
 * What every group of routes is made of. A group is one file `<group>-routes.ts` with a function
 * `(app, deps) => void`; a route is a path, its shapes, and one call of the desk.
 */
import { createHash } from 'node:crypto'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { contained, faultText } from '../model/contained.ts'
import { isRefusal, badInput, type Refusal } from '../model/refusal.ts'
import type { Asker, Who } from '../runtime/desk/asker.ts'
import type { Desk, Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import type { Numbers } from '../wire/server.ts'
import { readClient } from './client-name.ts'
import { type Identity, nameAsker } from './identity.ts'
import type { LogSink } from './log-sink.ts'
import { toWireNo, WireError, type WireNo, wireNo } from './wire-error.ts'

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

export type Deps = {
  desks: Desks
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
export function requireWho(request: FastifyRequest): Who {
  if (request.who === null)
    throw new Error(`${request.method} ${request.routeOptions.url ?? ''} is public, so nobody is known`)
  return request.who
}

/** A request as the desk knows it: who asks, the id of the act, and whether the asker is still there. */
export function readAsker(
  { identity }: Pick<Deps, 'identity'>,
  request: FastifyRequest,
  act: string | null,
  signal: AbortSignal,
): Asker {
  return {
    who: requireWho(request),
    act,
    signal,
    trace: readTrace(request),
    open: identity.mode === 'open',
    client: { ...readClient(request.headers), seenIn: identity.seenIn(request) },
  }
}

type Shape<T> = z.ZodType<T> | undefined
type Asked<P, Q, B> = {
  desk: Desk
  params: P
  query: Q
  body: B
  request: FastifyRequest
  reply: FastifyReply
}

type Route<P, Q, B> = {
  summary: string
  description?: string
  params?: Shape<P>
  query?: Shape<Q>
  body?: Shape<B>
  /** What it answers with; the first status is the usual one. */
  answers: Record<number, z.ZodType>
  /** What this request was answered with, where it is not the usual. */
  status?: (answer: object, body: B) => number
  /**
   * When the server stops while somebody waits here: the wait ends with what is known, or the work goes on when
   * the server runs again and the asker is told so.
   */
  whenStopping?: 'waitEnds' | 'workGoesOn'
}

/**
 * `run` answers with a value or a Refusal; a null was answered already. A refusal has the status of its code,
 * at every route.
 */
export const defineRoutes =
  (app: App, deps: Deps, tag: string) =>
  <P, Q, B>(
    method: HTTPMethods,
    url: string,
    { summary, description, params, query, body, answers, status, whenStopping }: Route<P, Q, B>,
    run: (asked: Asked<P, Q, B>) => Promise<object | null>,
  ): void => {
    const usual = Number(Object.keys(answers)[0] ?? 200)
    app.route({
      method,
      url,
      schema: {
        summary,
        tags: [tag],
        ...(description === undefined ? {} : { description }),
        ...(params === undefined ? {} : { params }),
        ...(query === undefined ? {} : { querystring: query }),
        ...(body === undefined ? {} : { body }),
        response: { ...answers, '4xx': WireError },
      },
      async handler(request, reply) {
        const act = deriveActId(request, requireWho(request))
        if (isRefusal(act)) return answer(reply, usual, act)
        const signal = whenGone(reply, whenStopping === 'waitEnds' ? deps.closing : undefined)
        const desk = deps.desks.as(readAsker(deps, request, act.id, signal))
        const asked = { desk, params: request.params, query: request.query, body: request.body } as {
          desk: Desk
          params: P
          query: Q
          body: B
        }
        const work = run({ ...asked, request, reply })
        const given = await (whenStopping === 'workGoesOn' ? orStopping(deps.closing, work) : work)
        if (given === stopping) return say(reply, stoppingAnswer)
        return given === null ? reply : answer(reply, status?.(given, asked.body) ?? usual, given)
      },
    })
  }

/** Sends a value, or a refusal in the one shape with its own status. */
export const answer = (reply: FastifyReply, status: number, value: object): FastifyReply =>
  isRefusal(value) ? say(reply, toWireNo(value)) : reply.code(status).send(value)

export function say(reply: FastifyReply, no: WireNo): FastifyReply {
  // What was chosen for a good answer, like a content type, does not hold for this one.
  return reply
    .code(no.status)
    .headers(no.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(no.body)
}

/** Aborts when the client has gone before its answer was sent, or with `also`. */
export function whenGone(reply: FastifyReply, also?: AbortSignal): AbortSignal {
  const gone = new AbortController()
  const stop = (): void => gone.abort(also?.reason)
  // What has happened already is not said again.
  if (reply.raw.destroyed) gone.abort(new Error('the client has gone'))
  else if (also?.aborted === true) stop()
  if (gone.signal.aborted) return gone.signal
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
export function readTrace(request: FastifyRequest): string | null {
  const trace = request.headers['traceparent']
  return typeof trace === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(trace)
    ? trace
    : null
}

/**
 * A server that stops has not cancelled what a client waits for: the turn goes on when the server runs again,
 * and a retry finds its answer.
 */
const stopping = Symbol('the server stops')

function orStopping<T>(closing: AbortSignal, work: Promise<T>): Promise<T | typeof stopping> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(stopping)
    if (closing.aborted) stop()
    closing.addEventListener('abort', stop, { once: true })
    work.finally(() => closing.removeEventListener('abort', stop)).then(resolve, reject)
  })
}

const words =
  'The server stops. What you asked for goes on when it runs again. Ask again with the same ' +
  'Idempotency-Key to get the answer; without a key, look for the call in GET /api/calls.'

const stoppingAnswer = wireNo('unavailable', words, { 'retry-after': '5' })

/**
 * A retry with the same `Idempotency-Key` is the same act: the key becomes the act's own id, and the runtime
 * gives one effect to one id, also after a crash.
 */
const keyCharsMax = 255

/**
 * Null without a key. The route's pattern is hashed, not the path: a key used again for another target is a
 * mistake, and is told so.
 */
export function deriveActId(
  request: Pick<FastifyRequest, 'headers' | 'method' | 'routeOptions'>,
  who: Who,
): { id: string | null } | Refusal {
  const key = request.headers['idempotency-key']
  if (key === undefined) return { id: null }
  if (typeof key !== 'string' || key === '' || key.length > keyCharsMax || /\p{Cc}/u.test(key)) {
    return badInput('Idempotency-Key', key, `1 to ${keyCharsMax} characters without control characters`)
  }
  return {
    id: createHash('sha256')
      .update(JSON.stringify([nameAsker(who), request.method, request.routeOptions.url ?? '', key]))
      .digest('base64url'),
  }
}
