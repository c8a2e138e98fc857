/** How a request fails: the server refused it, or no server answered. */
import type { RefusalCode } from '../model/refusal.ts'

/** The closed union of refusals, and what a server of another version or a proxy may add. */
export type ErrorCode = RefusalCode | (string & {})

/** The body of a refused request. */
export type ErrorBody = { code: string; message: string; field?: string | undefined; details?: unknown }

/** The server refused the request. `message` says what would be right. */
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

/** No answer came: nothing listens there, or the connection broke and retries did not help. */
export class ServerUnreachable extends Error {
  readonly url: string
  constructor(url: string, cause: unknown) {
    // `fetch` only says that it failed; the reason is in its cause.
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
    super(`no Tieline server answers at ${url}: ${describeError(inner)}`, { cause })
    this.name = 'ServerUnreachable'
    this.url = url
  }
}

/** What a thrown value says, in one line. Errors of the system may have only a code. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' ? ((error as { code?: string }).code ?? error.name) : error.message
}
