/**
 * Bodies are JSON, whatever a program says of them; what a browser sends must say so, since a form of another
 * site can send everything else.
 */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { findExcess, inletLimits, notJson } from '../model/bounded-json.ts'
import { RefusedInput } from './wire-error.ts'
import type { App } from './route.ts'

/** What `curl -d` and `fetch` say when they are told nothing. */
const taken = ['application/json', 'application/x-www-form-urlencoded', 'text/plain', '']

type Done = (error: Error | null, body?: unknown) => void

export function jsonBodies(app: App): void {
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
