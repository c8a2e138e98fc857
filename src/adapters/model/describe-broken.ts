/**
 * What broke, in words that are recorded and shown: a code, the cause, no secrets; and whether asking again
 * can help.
 */
import { AISDKError, APICallError } from '@ai-sdk/provider'
import { textAt } from '../../model/json.ts'
import { createMasker } from '../../model/mask-secrets.ts'
import { secretMark } from '../../model/secret-mark.ts'
import { preview } from '../../model/text.ts'
import type { ProviderFaultCode } from '../../runtime/kernel/faults.ts'
import { BadStream, Stalled, StreamError } from './receive.ts'

export type Broken = {
  code: ProviderFaultCode
  detail: string
  status: number | null
  retry: boolean
  retryAfterMs: number | null
  /** Nobody took the connection, so nothing was asked for. */
  unreached: boolean
}

const detailCharsMax = 500

const garbageNames = new Set(['AI_JSONParseError', 'AI_TypeValidationError', 'AI_InvalidResponseDataError'])
/** What the providers' own parsers throw as plain errors on a stream they do not understand. */
const garbageWords = /^(unsupported (chunk|delta)|expected a normalized)/i
/** What broken connections are called by those who read from them. */
const cutWords = /\b(terminated|other side closed|socket|ECONNRESET|EPIPE|premature)\b/i

export function describeBroken(error: unknown, redact: (text: string) => string): Broken {
  const broken = classify(error instanceof StreamError ? error.cause : error)
  return { ...broken, detail: preview(redact(broken.detail.replaceAll(/\s+/g, ' ').trim()), detailCharsMax) }
}

function classify(error: unknown): Broken {
  if (error instanceof Stalled) return plain('provider_stalled', error.message)
  if (error instanceof BadStream)
    return error.kind === 'cut' ? cut(error.message) : plain('provider_garbage', error.message)
  // The provider's package read on before it handed the stream over, and its own error hides what we found.
  if (APICallError.isInstance(error) && error.cause instanceof BadStream) return classify(error.cause)
  if (APICallError.isInstance(error)) return classifyApiCall(error)
  if (AISDKError.isInstance(error)) {
    if (error.message.includes('without a finish reason')) return cut(error.message)
    return plain(garbageNames.has(error.name) ? 'provider_garbage' : 'provider_error', error.message)
  }
  if (error instanceof Error) return classifyError(error)
  return classifyUnknown(error)
}

function classifyApiCall(error: APICallError): Broken {
  const status = error.statusCode ?? null
  const answered = status !== null && status >= 400
  // A success status on an error means that the connection broke while the body was read.
  if (!answered && status !== null) return { ...cut(describeCause(error)), status }
  return {
    code: 'provider_error',
    detail: answered ? `${status} ${error.message}` : describeCause(error),
    status,
    retry: answered ? isTransient(status) : error.isRetryable,
    retryAfterMs: readRetryAfter(error.responseHeaders ?? {}),
    unreached: !answered && isUnreached(error),
  }
}

function classifyError(error: Error): Broken {
  if (garbageWords.test(error.message)) return plain('provider_garbage', error.message)
  if (cutWords.test(error.message)) return cut(error.message)
  return plain('provider_error', error.message === '' ? error.name : error.message)
}

/** Errors inside a stream are plain objects, each provider's in its own shape. */
function classifyUnknown(error: unknown): Broken {
  if (error === null || typeof error !== 'object') return plain('provider_error', String(error))
  const { message, type, statusCode } = error as { message?: unknown; type?: unknown; statusCode?: unknown }
  const status = typeof statusCode === 'number' ? statusCode : null
  const words = [status, type, message].filter((word) => typeof word === 'string' || typeof word === 'number')
  const detail = words.length > 0 ? words.join(' ') : 'an error without a message'
  return { ...plain('provider_error', detail), status, retry: status !== null && isTransient(status) }
}

/** Not this request is wrong: nobody's would be answered now. */
export const isUnavailable = ({ code, status, retry }: Broken): boolean =>
  code === 'provider_stalled' || retry || (status !== null && loggedOut.includes(status))

/** The key is not taken, or nothing is left on it. */
const loggedOut = [401, 402, 403]

const isTransient = (status: number): boolean => status === 408 || status === 429 || status >= 500

const plain = (code: ProviderFaultCode, detail: string): Broken => ({
  code,
  detail,
  status: null,
  retry: false,
  retryAfterMs: null,
  unreached: false,
})

/** The connection broke before the answer was whole: a retry may help. */
const cut = (detail: string): Broken => ({ ...plain('provider_cut', detail), retry: true })

const unreachedCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** Found in the causes of an error: a host with several addresses has one for each. */
function isUnreached(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > causesMax) return false
  if (unreachedCodes.has(textAt(error, 'code'))) return true
  if (error instanceof AggregateError)
    return error.errors.length > 0 && error.errors.every((one) => isUnreached(one, depth + 1))
  return isUnreached(error.cause, depth + 1)
}

const causesMax = 5

function describeCause(error: Error): string {
  const { cause } = error
  const code = textAt(cause, 'code')
  const words =
    cause instanceof Error && cause.message !== '' && !error.message.includes(cause.message)
      ? `${error.message} (${cause.message})`
      : error.message
  return words.trim().endsWith(':') ? `${words} ${code}` : words
}

/** Both are durations in the providers that we know; a date is rare and then our own pause is used. */
function readRetryAfter(headers: Record<string, string>): number | null {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (Number.isFinite(ms) && ms >= 0) return ms
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(headers['retry-after'] ?? '')
    ? Number.parseFloat(headers['retry-after'] ?? '')
    : Number.NaN
  return Number.isFinite(seconds) ? seconds * 1000 : null
}

const masker = createMasker([], { strict: true })

/** Masks what looks like a key, and every value that is known to be one. */
export const redactor =
  (secrets: () => readonly string[]) =>
  (text: string): string => {
    let clean = text
    for (const secret of secrets()) if (secret.length >= 6) clean = clean.replaceAll(secret, secretMark)
    return masker.text(clean)
  }
