/** How a client's request fails: the server said no, or there was no server to say anything. */
import type { RefusalCode } from '../model/refusal.ts'

/** The closed union of refusals, and what a server of another version, or a proxy before it, may say. */
export type ErrorCode = RefusalCode | (string & {})

/** What a server answers instead of what was asked for. */
export type ErrorBody = { code: string; message: string; field?: string | undefined; details?: unknown }

/** The server refused. `message` says what would be right. */
export class TielineError extends Error {
  readonly code: ErrorCode
  readonly field: string | null
  readonly details: unknown
  readonly status: number
  constructor(body: ErrorBody, status: number) {
    super(body.message)
    this.name = 'TielineError'
    this.code = body.code
    this.field = body.field ?? null
    this.details = body.details ?? null
    this.status = status
  }
}

/** No answer came: nobody listens there, or the connection broke and trying again did not help. */
export class ServerUnreachable extends Error {
  readonly url: string
  constructor(url: string, cause: unknown) {
    super(`no Tieline server answers at ${url}: ${causeWords(cause)}`, { cause })
    this.name = 'ServerUnreachable'
    this.url = url
  }
}

/** `fetch` says only that it failed; why stands in its cause. */
function causeWords(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause.cause
  if (inner instanceof Error)
    return inner.message === '' ? ((inner as { code?: string }).code ?? inner.name) : inner.message
  return cause.message === '' ? ((cause as { code?: string }).code ?? cause.name) : cause.message
}
