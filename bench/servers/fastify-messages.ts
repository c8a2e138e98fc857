/** A bare Fastify route with the same zod schemas and the same shape of answer, and nothing behind it. */
import { fastify } from 'fastify'
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { IdPath } from '../../src/wire/scalars.ts'
import { NewMessage } from '../../src/wire/sessions.ts'
import type { BenchServer } from '../server-process.ts'

export async function start(): Promise<BenchServer> {
  const app = fastify({ logger: false }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  let count = 0
  app.post(
    '/api/sessions/:id/messages',
    { schema: { params: IdPath, body: NewMessage } },
    async (request, reply) => {
      const suffix = String(1_763_000_000_000_000 + (count += 1))
      return reply.code(202).send({
        messageId: `msg_${suffix}`,
        status: request.body.delivery === 'now' ? 'queued' : 'dispatched',
        sessionId: request.params.id,
        turn: `turn_${suffix}`,
        flow: `flow_${suffix}`,
      })
    },
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, close: () => app.close() }
}
