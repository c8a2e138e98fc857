/** How a no reads on the wire: one shape everywhere, one status for each code. */
import { z } from 'zod'
import { DamagedRow } from '../model/damaged-row.ts'
import { toWireError, refusalHeaders, refusalStatus } from '../model/refusal-on-wire.ts'
import { explain, type Refusal } from '../model/refusal.ts'
import { storeRefusal } from '../runtime/kernel/faults.ts'
import { UnknownId } from '../runtime/kernel/scope.ts'

/** What only a wire can say: no rule of the runtime was asked. */
export const wireStatus = {
  bad_request: 400,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  unsupported_media_type: 415,
  upgrade_required: 426,
  headers_too_large: 431,
  bug: 500,
  unavailable: 503,
} as const
export type WireCode = keyof typeof wireStatus

export const WireError = z
  .looseObject({
    error: z.looseObject({
      code: z.string().describe('one of a closed list; what a program decides by'),
      message: z.string().describe('what happened, and what to do next'),
      field: z.string().optional().describe('the part of the request that is wrong'),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
  })
  .meta({ id: 'Error' })
export type WireError = z.infer<typeof WireError>

export type WireNo = { status: number; body: WireError; headers: Record<string, string> }

const noHeaders: Record<string, string> = {}

/** `more` adds to the details, for what only the wire knows. */
export function toWireNo(refusal: Refusal, more: Record<string, unknown> = {}): WireNo {
  return {
    status: refusalStatus[refusal.code],
    body: toWireError(refusal, more),
    headers: refusalHeaders(refusal),
  }
}

export const wireNo = (
  code: WireCode,
  message: string,
  headers: Record<string, string> = noHeaders,
): WireNo => ({ status: wireStatus[code], body: { error: { code, message } }, headers })

/**
 * What Fastify and Node throw, by their codes; everything else that is not a client's mistake is a bug of
 * ours.
 */
export function faultToWireNo(error: unknown, bodyBytesMax: number): WireNo {
  if (error instanceof RefusedInput) return toWireNo(error.refusal)
  const unavailable = storeRefusal(error)
  if (unavailable !== null) return toWireNo(unavailable)
  if (error instanceof UnknownId) return wireNo('not_found', error.message)
  if (error instanceof DamagedRow) return wireNo('bug', error.message)
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return wireNo413(bodyBytesMax)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return wireNo(
      'unsupported_media_type',
      'The content type of the body is not taken. Send JSON, with content-type: application/json.',
    )
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH')
    return wireNo('bad_request', 'The body does not have the length that content-length says.')
  if (code === 'FST_ERR_BAD_URL')
    return wireNo(
      'bad_request',
      'The path is not a valid URL: a percent sign must begin an encoded character.',
    )
  if (code === 'FST_ERR_MAX_PARAM_LENGTH')
    return wireNo('not_found', 'A part of the path is too long to be an id.')
  if (
    typeof statusCode === 'number' &&
    statusCode >= 400 &&
    statusCode < 500 &&
    typeof code === 'string' &&
    code.startsWith('FST_ERR')
  )
    return wireNo('bad_request', 'The request could not be read.')
  return wireNo('bug', 'Something broke in the server. It has been logged; trying again may help.')
}

const wireNo413 = (bodyBytesMax: number): WireNo => ({
  status: 413,
  headers: noHeaders,
  body: {
    error: {
      code: 'too_large',
      message: `The body has more than ${bodyBytesMax} bytes. Shorten it, or put it into a file and pass the path.`,
      field: 'body',
      details: { field: 'body', bytesMax: bodyBytesMax },
    },
  },
})

/** Input that does not parse, on its way through Fastify's validation to the error handler. */
export class RefusedInput extends Error {
  readonly refusal: Refusal
  readonly statusCode: number
  constructor(refusal: Refusal) {
    super(explain(refusal))
    this.refusal = refusal
    this.statusCode = refusalStatus[refusal.code]
  }
}
