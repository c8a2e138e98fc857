/** Refusals on this wire: as at every other door. */
import type { FastifyReply } from 'fastify'
import { errorOf, headersOf, statusOf } from '../../model/refusal-on-wire.ts'
import type { Refusal } from '../../model/refusal.ts'

export const refuse = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
  reply.code(statusOf[refusal.code]).headers(headersOf(refusal)).send(errorOf(refusal))
