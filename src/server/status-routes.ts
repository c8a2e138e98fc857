/** Whether the server lives, who it is, and what it counts. */
import { Health, Nodes, Numbers, NumbersQuery, ServerView } from '../wire/server.ts'
import { readHealth, uptimeSeconds } from './health.ts'
import { defineRoutes, say, type App, type Deps } from './route.ts'
import { wireNo, WireError } from './wire-error.ts'

const tag = 'status'

const nothingCounted = wireNo('not_found', 'This server counts nothing.')

export function statusRoutes(app: App, deps: Deps): void {
  const { version, metrics, numbers, cwd, identity } = deps
  const schema = {
    summary: 'Whether the server lives, and whether it can record anything',
    tags: [tag],
    response: { 200: Health, 503: Health, '4xx': WireError },
  }
  app.get('/health', { config: { public: true }, schema }, async (_request, reply) => {
    const { status, body } = readHealth(deps)
    return reply.code(status).send(body)
  })
  const route = defineRoutes(app, deps, tag)
  route(
    'GET',
    '/api/server',
    { summary: 'What this server is, and where it works', answers: { 200: ServerView } },
    async ({ desk }) =>
      desk.onlyUser('see the server') ?? {
        version,
        uptimeSeconds: uptimeSeconds(deps),
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
