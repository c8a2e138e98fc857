/** The web application: its shape checks, its routes, its answers to broken requests. */
import type { RequestListener, Server } from 'node:http'
import { isUtf8 } from 'node:buffer'
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { readInput } from '../model/read-input.ts'
import { isRefusal } from '../model/refusal.ts'
import { describeApi, docsRoutes } from './api-docs.ts'
import { callRoutes } from './call-routes.ts'
import type { Guards } from './guards.ts'
import { hookRoutes } from './hook-routes.ts'
import type { HttpLimits } from './http-limits.ts'
import { loggedPath } from './log-sink.ts'
import { mailRoutes } from './mail-routes.ts'
import { pageRoutes } from './page-routes.ts'
import { questionRoutes } from './tool-routes.ts'
import { say, type App, type Deps } from './route.ts'
import { sessionRoutes } from './session-routes.ts'
import { statusRoutes } from './status-routes.ts'
import { toolRoutes } from './tool-routes.ts'
import { RefusedInput, WireError, wireNo, faultToWireNo } from './wire-error.ts'
import { findExcess, inletLimits, notJson } from '../model/bounded-json.ts'

const idCharsMax = 200

/** `serverFactory` is given what answers requests, and has a server that listens already. */
export function createApp(
  limits: HttpLimits,
  { log, closing }: Pick<Deps, 'log' | 'closing'>,
  serverFactory: (answer: RequestListener) => Server,
): App {
  const app = fastify({
    logger: false,
    serverFactory: (answer) => serverFactory(answer as RequestListener),
    bodyLimit: limits.bodyBytesMax,
    return503OnClosing: false,
    routerOptions: { maxParamLength: idCharsMax },
    frameworkErrors: (error, _request, reply) =>
      void say(reply as never, faultToWireNo(error, limits.bodyBytesMax)),
    // The front answers those.
    clientErrorHandler: () => undefined,
    schemaController: {
      compilersFactory: { buildValidator: () => checkInput, buildSerializer: () => () => JSON.stringify },
    } as object,
  }).withTypeProvider<ZodTypeProvider>()
  app.setErrorHandler((error, request, reply) => {
    const no = closing.aborted
      ? wireNo('unavailable', 'The server stops. Try again.', { 'retry-after': '5' })
      : faultToWireNo(error, limits.bodyBytesMax)
    const fields = {
      method: request.method,
      path: loggedPath(request.url),
      stack: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }
    // Nobody is there to read it: most likely what was asked for was cancelled with its client.
    if (no.status >= 500 && no.body.error.code !== 'store_unavailable' && !closing.aborted)
      log(reply.raw.destroyed ? 'debug' : 'error', 'a request broke', fields)
    return say(reply, no)
  })
  return app
}

/**
 * Given from the start, so that the compilers for JSON Schema are not even loaded. The schemas of answers
 * describe them; checking each again would cost more than making it.
 */
const checkInput =
  ({ schema }: { schema: z.ZodType }) =>
  (data: unknown) => {
    const read = readInput(schema, data)
    return isRefusal(read) ? { error: new RefusedInput(read) } : { value: read.data }
  }

export async function mount(app: App, deps: Deps, guard: Guards, pageDir: string | null): Promise<void> {
  const known = knownRoutes(app)
  app.decorateRequest('who', null)
  guard.watch(app)
  jsonBodies(app)
  app.setNotFoundHandler((request, reply) => {
    const path = loggedPath(request.url)
    const methods = known.methodsOf(path)
    return methods.length === 0
      ? say(
          reply,
          wireNo('not_found', `There is nothing at ${path.slice(0, 200)}. /docs lists what there is.`),
        )
      : say(
          reply,
          wireNo(
            'method_not_allowed',
            `${path.slice(0, 200)} does not take ${request.method}. It takes ${methods.join(', ')}.`,
            { allow: methods.join(', ') },
          ),
        )
  })
  const describe = describeApi(app, deps.version)
  for (const routes of [
    sessionRoutes,
    mailRoutes,
    hookRoutes,
    callRoutes,
    questionRoutes,
    toolRoutes,
    statusRoutes,
  ])
    routes(app, deps)
  pageRoutes(app, deps, pageDir)
  docsRoutes(app, describe)
}

/** For whoever asks without upgrading; the rest of it is in the socket. */
export function socketRoute(app: App): void {
  const description =
    'A WebSocket. The server sends `{ type: "subscribed", after, sessionIds }`, `{ type: "event", ' +
    'seq, at, sessionId, event }`, `{ type: "delta", sessionId, turn, epoch, step, offset, text, remark? }` ' +
    'and `{ type: "error", error }`; the client may send `{ type: "subscribe", sessionIds?, after? ' +
    '}`, again and again. Without it, every event that it may see comes from now on. `?after`, ' +
    '`?session` and `?token` do the same at once.'
  app.get(
    '/ws',
    {
      schema: {
        summary: 'Live events over a WebSocket',
        description,
        tags: ['events'],
        response: { '4xx': WireError },
      },
    },
    async (_request, reply) =>
      say(
        reply,
        wireNo('upgrade_required', 'This is a WebSocket: ask for an upgrade, or use GET /api/events.', {
          upgrade: 'websocket',
          connection: 'upgrade',
        }),
      ),
  )
}

/** Which methods a path has, so that a wrong one is told from a path that does not exist. */
type KnownRoutes = { methodsOf(path: string): string[] }

/** Watches what is registered after it. */
function knownRoutes(app: App): KnownRoutes {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = routes.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() }
    for (const one of [method].flat()) known.methods.add(one)
    routes.set(url, known)
  })
  return {
    methodsOf: (path) =>
      [
        ...new Set(
          [...routes.values()]
            .filter(({ pattern }) => pattern.test(path))
            .flatMap(({ methods }) => [...methods]),
        ),
      ].sort(),
  }
}

const toPattern = (url: string): RegExp =>
  new RegExp(
    `^${url
      .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll(/:[A-Za-z]+/g, '[^/]+')}$`,
  )

// Bodies are JSON, whatever a program says of them; what a browser sends must say so, since a form of another
// site can send everything else.

/** What `curl -d` and `fetch` say when they are told nothing. */
const taken = ['application/json', 'application/x-www-form-urlencoded', 'text/plain', '']

type Done = (error: Error | null, body?: unknown) => void

function jsonBodies(app: App): void {
  const scope = app as unknown as FastifyInstance
  // Refuses `__proto__` and `constructor.prototype`, which would reach into objects that the body is copied
  // to.
  const parse = scope.getDefaultJsonParser('error', 'error') as (
    request: FastifyRequest,
    body: string,
    done: Done,
  ) => void
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    '*',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done: Done) => {
      const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
      if (!taken.includes(type) || (request.headers.origin !== undefined && type !== 'application/json'))
        return done(Object.assign(new Error('content type'), { code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' }))
      if (body.length === 0) return done(null, undefined)
      if (!isUtf8(body)) return done(new RefusedInput(notJson('body', 'bytes that are not UTF-8')))
      const text = body.toString('utf8')
      // The number of bytes was bounded while they came; depth and number of values are bounded before
      // anything is built of them.
      const excess = findExcess(text, 'body', inletLimits)
      if (excess !== null) return done(new RefusedInput(excess))
      parse(request, text, (error, value) =>
        done(error === null ? null : new RefusedInput(notJson('body', text)), value),
      )
    },
  )
}
