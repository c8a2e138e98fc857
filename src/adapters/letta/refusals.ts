/** Refusals on this wire: as at every other door. */
import type { FastifyReply } from 'fastify'
import { toWireError, refusalHeaders, refusalStatus } from '../../model/refusal-on-wire.ts'
import type { Refusal } from '../../model/refusal.ts'

export const refuse = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
  reply.code(refusalStatus[refusal.code]).headers(refusalHeaders(refusal)).send(toWireError(refusal))
