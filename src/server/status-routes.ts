/** Whether the server lives, and what it counts. */
import { z } from 'zod'
import type { StoreHealth } from '../runtime/store-health.ts'
import { Health, Numbers, Server } from './answer-shapes.ts'
import { answer, onlyUser, say, shapes, whoOf, type App, type Deps } from './route.ts'
import { wireNo } from './wire-error.ts'

const tag = 'status'

/** Everybody may ask for it, so it does not name the directory. */
function storeStatus(health: StoreHealth): Health['store'] {
  if (health.state === 'ok') return { status: 'ok', reason: null, cure: null, freeBytes: null, since: null }
  const { reason, cure, freeBytes } = health.refusal
  return { status: 'unavailable', reason, cure, freeBytes, since: health.since }
}

export function statusRoutes(
  app: App,
  { exchange, clock, version, startedAt, metrics, numbers, cwd, identity }: Deps,
): void {
  const uptimeSeconds = (): number => Math.max(0, Math.floor((clock.elapsed() - startedAt) / 1000))
  const described = { summary: 'Whether the server lives, and whether it can record anything', tag }
  app.get(
    '/health',
    { config: { public: true }, schema: shapes(described, { 200: Health, 503: Health }) },
    async (_request, reply) => {
      const store = storeStatus(exchange.storeHealth())
      return reply
        .code(store.status === 'ok' ? 200 : 503)
        .send({ status: store.status, version, uptimeSeconds: uptimeSeconds(), store })
    },
  )

  app.get(
    '/api/server',
    { schema: shapes({ summary: 'What this server is, and where it works', tag }, { 200: Server }) },
    async (request, reply) =>
      answer(
        reply,
        200,
        onlyUser(whoOf(request), 'see the server') ?? {
          version,
          uptimeSeconds: uptimeSeconds(),
          cwd,
          auth: identity.mode,
        },
      ),
  )

  const description =
    'Over the whole log, or since a time in the last day, by the minute. Nothing is counted before somebody asks for the first time; then a long log takes a moment, and `complete` is false.'
  const Since = z.strictObject({
    since: z.coerce.number().int().min(0).optional().describe('milliseconds since 1970'),
  })
  app.get(
    '/api/numbers',
    {
      schema: shapes(
        {
          summary: 'What it all adds up to: calls, outcomes, tokens, context, latencies',
          description,
          tag,
          querystring: Since,
        },
        { 200: Numbers },
      ),
    },
    async (request, reply) => {
      const refusal = onlyUser(whoOf(request), 'read the numbers')
      if (refusal !== null) return answer(reply, 403, refusal)
      return numbers === null
        ? say(reply, wireNo('not_found', 'This server counts nothing.'))
        : answer(reply, 200, await numbers(request.query.since ?? null))
    },
  )

  app.get(
    '/metrics',
    { schema: shapes({ summary: 'Counters, as Prometheus reads them', tag }, {}) },
    async (request, reply) => {
      const refusal = onlyUser(whoOf(request), 'read the metrics')
      if (refusal !== null) return answer(reply, 403, refusal)
      if (metrics === null) return say(reply, wireNo('not_found', 'This server counts nothing.'))
      return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics())
    },
  )
}
