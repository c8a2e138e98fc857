/** How a refusal reads over HTTP, at every door: one status for each code, one shape of an error. */
import { explain, type Refusal, type RefusalCode } from './refusal.ts'

/** Every refusal has its status; a new code does not compile without one. */
export const refusalStatus = {
  bad_input: 400,
  self_call: 400,
  reply_not_addressed: 400,
  not_authenticated: 401,
  not_allowed: 403,
  tool_disabled: 403,
  message_not_yours: 403,
  agent_unknown: 404,
  session_unknown: 404,
  message_unknown: 404,
  call_unknown: 404,
  question_unknown: 404,
  project_untrusted: 409,
  session_ambiguous: 409,
  session_busy: 409,
  cannot_restrict: 409,
  agent_unavailable: 409,
  call_cycle: 409,
  call_deadlock: 409,
  call_too_deep: 409,
  call_ended: 409,
  task_repeated: 409,
  message_already_sent: 409,
  message_changed: 409,
  message_taken: 409,
  flow_expired: 409,
  question_answered: 409,
  too_large: 413,
  context_too_large: 413,
  output_invalid: 422,
  too_many_calls: 429,
  queue_full: 429,
  too_many_descendants: 429,
  too_many_agents: 429,
  rate_limited: 429,
  budget_exhausted: 429,
  store_unavailable: 503,
} as const satisfies Record<RefusalCode, number>

export type ErrorOnWire = {
  error: { code: string; message: string; field?: string; details?: Record<string, unknown> }
}

/** `more` adds to the details, for what only the door knows. */
export function toWireError(refusal: Refusal, more: Record<string, unknown> = {}): ErrorOnWire {
  const { code, ...rest } = refusal
  const details = { ...rest, ...more }
  return {
    error: {
      code,
      message: explain(refusal),
      ...('field' in refusal ? { field: refusal.field } : {}),
      ...(Object.keys(details).length === 0 ? {} : { details }),
    },
  }
}

export function refusalHeaders(refusal: Refusal): Record<string, string> {
  if (refusal.code === 'rate_limited' || refusal.code === 'store_unavailable')
    return { 'retry-after': String(Math.max(1, Math.ceil(refusal.retryInMs / 1000))) }
  // RFC 9110, 11.6.1: an answer of 401 names a way to authenticate.
  if (refusal.code === 'not_authenticated') return { 'www-authenticate': 'Bearer realm="tieline"' }
  return {}
}
