/** What Letta's clients may ask for and this door does not have: a clear answer that names what is there instead. */
import type { FastifyInstance, HTTPMethods } from 'fastify'

type Missing = { method: HTTPMethods; url: string; what: string; instead: string }

const messages = 'POST /v1/agents/:id/messages (blocking) or …/messages/stream'
const missing: readonly Missing[] = [
  {
    method: 'POST',
    url: '/v1/agents/:id/messages/async',
    what: 'Messages that are answered later',
    instead: messages,
  },
  {
    method: 'PATCH',
    url: '/v1/agents/:id',
    what: 'Changing an agent',
    instead: 'DELETE /v1/agents/:id and POST /v1/agents',
  },
  {
    method: 'PATCH',
    url: '/v1/agents/:id/messages/:message',
    what: 'Changing a message',
    instead: 'GET /v1/agents/:id/messages, which reads the conversation',
  },
  ...(['GET', 'POST'] as const).flatMap((method) =>
    ['/v1/conversations', '/v1/conversations/*'].map((url) => ({
      method,
      url,
      what: 'Conversations beside the one that each agent has',
      instead: `${messages}, or POST /api/sessions for another session of the same agent`,
    })),
  ),
]

export function mountMissing(scope: FastifyInstance): void {
  for (const { method, url, what, instead } of missing)
    for (const path of url.endsWith('*') ? [url] : [url, `${url}/`])
      scope.route({
        method,
        url: path,
        schema: { hide: true } as object,
        handler: (_request, reply) => {
          const message = `${what} is not offered here. Use ${instead} instead.`
          return reply.code(501).send({ detail: message, error: { code: 'not_implemented', message } })
        },
      })
}
