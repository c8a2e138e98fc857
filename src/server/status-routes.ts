/** Whether the server lives, who it is, and what it counts. */
import { Health, Nodes, Numbers, NumbersQuery, ServerView } from '../wire/server.ts'
import type { StoreHealth } from '../runtime/kernel/store-health.ts'
import { defineRoutes, say, type App, type Deps } from './route.ts'
import { wireNo, WireError } from './wire-error.ts'

const tag = 'status'
/** Everybody may ask for it, so it does not name the directory. */
function showStore(health: StoreHealth): Health['store'] {
  if (health.state === 'ok') {
    const { checking } = health
    const fine = { status: 'ok' as const, reason: null, cure: null, freeBytes: null, since: null }
    return checking === undefined ? fine : { ...fine, checking }
  }
  const { reason, cure, freeBytes } = health.refusal
  return { status: 'unavailable', reason, cure, freeBytes, since: health.since }
}

const nothingCounted = wireNo('not_found', 'This server counts nothing.')

export function statusRoutes(app: App, deps: Deps): void {
  const { desks, clock, version, startedAt, metrics, numbers, cwd, identity } = deps
  const uptimeSeconds = (): number => Math.max(0, Math.floor((clock.elapsed() - startedAt) / 1000))
  const schema = {
    summary: 'Whether the server lives, and whether it can record anything',
    tags: [tag],
    response: { 200: Health, 503: Health, '4xx': WireError },
  }
  app.get('/health', { config: { public: true }, schema }, async (_request, reply) => {
    const health = desks.health()
    return reply
      .code(health.state === 'ok' ? 200 : 503)
      .send({ status: health.state, version, uptimeSeconds: uptimeSeconds(), store: showStore(health) })
  })
  const route = defineRoutes(app, deps, tag)
  route(
    'GET',
    '/api/server',
    { summary: 'What this server is, and where it works', answers: { 200: ServerView } },
    async ({ desk }) =>
      desk.onlyUser('see the server') ?? {
        version,
        uptimeSeconds: uptimeSeconds(),
        cwd,
        auth: identity.mode,
      },
  )
  route(
    'GET',
    '/api/nodes',
    { summary: 'The nodes that share this log, and what they run', answers: { 200: Nodes } },
    async ({ desk }) => desk.log.nodes(),
  )
  route(
    'GET',
    '/api/numbers',
    {
      summary: 'What it all adds up to: calls, outcomes, tokens, context, latencies',
      description:
        'Over the whole log, or since a time in the last day, by the minute. What was counted is kept over ' +
        'restarts. A long log that was never counted takes a moment, and `complete` is false meanwhile.',
      query: NumbersQuery,
      answers: { 200: Numbers },
    },
    async ({ desk, query, reply }) => {
      const refusal = desk.onlyUser('read the numbers')
      if (refusal !== null || numbers !== null)
        return refusal ?? (await numbers?.(query.since ?? null)) ?? null
      say(reply, nothingCounted)
      return null
    },
  )
  route(
    'GET',
    '/metrics',
    { summary: 'Counters, as Prometheus reads them', answers: {} },
    async ({ desk, reply }) => {
      const refusal = desk.onlyUser('read the metrics')
      if (refusal !== null) return refusal
      if (metrics === null) say(reply, nothingCounted)
      else void reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics())
      return null
    },
  )
}
