/**
 * A retry with the same `Idempotency-Key` is the same act: the key becomes the act's own id, and the runtime
 * gives one effect to one id, also after a crash.
 */
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { badInput, type Refusal } from '../model/refusal.ts'
import type { Who } from '../runtime/desk/asker.ts'
import { nameAsker } from './identity.ts'

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
