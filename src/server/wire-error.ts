/** How a no reads on the wire: one shape everywhere, one status for each code. */
import { z } from 'zod'
import { explain, type Refusal, type RefusalCode } from '../model/refusal.ts'

/** Every refusal has its status; a new code does not compile without one. */
export const statusOf = {
  bad_input: 400, self_call: 400, reply_not_addressed: 400,
  not_authenticated: 401,
  not_allowed: 403, tool_disabled: 403, message_not_yours: 403,
  agent_unknown: 404, session_unknown: 404, message_unknown: 404, call_unknown: 404, question_unknown: 404,
  session_ambiguous: 409, session_busy: 409, call_cycle: 409, call_deadlock: 409, call_too_deep: 409, call_ended: 409, task_repeated: 409, message_already_sent: 409, message_taken: 409, flow_expired: 409, question_answered: 409,
  too_large: 413, context_too_large: 413,
  output_invalid: 422,
  too_many_calls: 429, queue_full: 429, too_many_descendants: 429, rate_limited: 429, budget_exhausted: 429,
} as const satisfies Record<RefusalCode, number>

/** What only a wire can say: no rule of the runtime was asked. */
export const wireStatusOf = {
  bad_request: 400, not_found: 404, method_not_allowed: 405, request_timeout: 408, unsupported_media_type: 415, upgrade_required: 426, headers_too_large: 431, bug: 500, unavailable: 503,
} as const
export type WireCode = keyof typeof wireStatusOf

export const WireError = z.looseObject({
  error: z.looseObject({
    code: z.string().describe('one of a closed list; what a program decides by'),
    message: z.string().describe('what happened, and what to do next'),
    field: z.string().optional().describe('the part of the request that is wrong'),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
}).meta({ id: 'Error' })
export type WireError = z.infer<typeof WireError>

export type WireNo = { status: number; body: WireError; headers: Record<string, string> }

const noHeaders: Record<string, string> = {}

/** `more` adds to the details, for what only the wire knows. */
export function wireNoOf(refusal: Refusal, more: Record<string, unknown> = {}): WireNo {
  const { code, ...rest } = refusal
  const details = { ...rest, ...more }
  const body: WireError = { error: { code, message: explain(refusal), ...('field' in refusal ? { field: refusal.field } : {}), ...(Object.keys(details).length === 0 ? {} : { details }) } }
  return { status: statusOf[code], body, headers: headersOf(refusal) }
}

function headersOf(refusal: Refusal): Record<string, string> {
  if (refusal.code === 'rate_limited') return { 'retry-after': String(Math.max(1, Math.ceil(refusal.retryInMs / 1000))) }
  // RFC 9110, 11.6.1: an answer of 401 names a way to authenticate.
  if (refusal.code === 'not_authenticated') return { 'www-authenticate': 'Bearer realm="tieline"' }
  return noHeaders
}

export const wireNo = (code: WireCode, message: string, headers: Record<string, string> = noHeaders): WireNo => ({ status: wireStatusOf[code], body: { error: { code, message } }, headers })

export const isRefusal = (answer: object): answer is Refusal => 'code' in answer

/** What Fastify and Node throw, by their codes; everything else that is not a client's mistake is a bug of ours. */
export function wireNoOfError(error: unknown, bodyBytesMax: number): WireNo {
  if (error instanceof RefusedInput) return wireNoOf(error.refusal)
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return wireNo413(bodyBytesMax)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return wireNo('unsupported_media_type', 'The content type of the body is not taken. Send JSON, with content-type: application/json.')
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return wireNo('bad_request', 'The body does not have the length that content-length says.')
  if (code === 'FST_ERR_BAD_URL') return wireNo('bad_request', 'The path is not a valid URL: a percent sign must begin an encoded character.')
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return wireNo('not_found', 'A part of the path is too long to be an id.')
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 && typeof code === 'string' && code.startsWith('FST_ERR')) return wireNo('bad_request', 'The request could not be read.')
  return wireNo('bug', 'Something broke in the server. It has been logged; trying again may help.')
}

const wireNo413 = (bodyBytesMax: number): WireNo => ({
  status: 413, headers: noHeaders,
  body: { error: { code: 'too_large', message: `The body has more than ${bodyBytesMax} bytes. Shorten it, or put it into a file and pass the path.`, field: 'body', details: { field: 'body', bytesMax: bodyBytesMax } } },
})

/** Input that does not parse, on its way through Fastify's validation to the error handler. */
export class RefusedInput extends Error {
  readonly refusal: Refusal
  readonly statusCode: number
  constructor(refusal: Refusal) {
    super(explain(refusal))
    this.refusal = refusal
    this.statusCode = statusOf[refusal.code]
  }
}
