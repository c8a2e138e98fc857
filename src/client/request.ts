/**
 * One request over `fetch`: JSON out, JSON in, a refusal thrown as a TielineError.
 *
 * A request is retried when its connection broke, or when the server is just starting or stopping. POSTs are
 * retried too: each has an Idempotency-Key, so that the server acts once.
 */
import { ownLimits, parseJson } from '../model/bounded-json.ts'
import { cwdHeader } from '../model/client-headers.ts'
import { explain, isRefusal } from '../model/refusal.ts'
import type { Surroundings } from './surroundings.ts'
import { ServerUnreachable, TielineError, type ErrorBody } from './tieline-error.ts'

/** The part of `fetch` that is used here. */
export type Fetch = (
  url: string,
  init: RequestInit,
) => Promise<Pick<Response, 'status' | 'ok' | 'body' | 'text'>>

export type RequestSettings = {
  url: string
  token: string | null
  name: string | null
  /** Where this program works. */
  cwd: string | null
  fetch: Fetch
  surroundings: Surroundings
}

/** Options of every request. */
export type Once = {
  signal?: AbortSignal | undefined
  /** An Idempotency-Key of your own, for retries that outlive this process. Null: no key and no retries. */
  key?: string | null | undefined
}

export type Ask = Once & {
  /** Null and undefined are left out. */
  query?: Readonly<Record<string, string | number | boolean | null | undefined>>
  body?: unknown
  /** By default four. */
  triesMax?: number
  /** A status that is an answer here, and an error elsewhere. */
  alsoTakes?: number
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type Request = <T>(method: Method, path: string, ask?: Ask) => Promise<T>

const triesMaxOrdinary = 4
const firstPauseMs = 100
const pauseFactor = 4
/** A server that is starting or stopping has not done anything. */
const unavailable = 503

export function requester(settings: RequestSettings): Request {
  return async <T>(method: Method, path: string, ask: Ask = {}): Promise<T> => {
    const url = buildUrl(settings.url, path, ask.query)
    const init = buildInit(settings, method, ask)
    const read = await retry(settings, ask, async (isLast) => {
      const response = await settings.fetch(url, init)
      const body = await response.text()
      if (response.status === unavailable && !isLast) throw new Error('the server is stopping or not ready')
      return { status: response.status, body }
    })
    return readAnswer(read, url, ask.alsoTakes) as T
  }
}

/** One response that is read as it arrives. There are no retries: the reader decides how to go on. */
export async function openStream(
  settings: RequestSettings,
  path: string,
  ask: Ask,
): Promise<ReadableStream<Uint8Array>> {
  const url = buildUrl(settings.url, path, ask.query)
  const init = buildInit(settings, 'POST', ask)
  const response = await retry(settings, { ...ask, triesMax: 1 }, () => settings.fetch(url, init))
  if (!response.ok || response.body === null) {
    readAnswer({ status: response.status, body: await response.text() }, url)
    throw createBadAnswer(url, response.status, 'nothing to read')
  }
  return response.body
}

async function retry<T>(
  settings: RequestSettings,
  { signal, key, triesMax = key === null ? 1 : triesMaxOrdinary }: Ask,
  attempt: (isLast: boolean) => Promise<T>,
): Promise<T> {
  for (let tries = 1, pauseMs = firstPauseMs; ; tries += 1, pauseMs *= pauseFactor) {
    try {
      return await attempt(tries >= triesMax)
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      if (tries >= triesMax) throw new ServerUnreachable(settings.url, error)
      await settings.surroundings.sleep(pauseMs, signal)
      signal?.throwIfAborted()
    }
  }
}

export function buildUrl(base: string, path: string, query: Ask['query'] = {}): string {
  const url = new URL(path.replace(/^\//, ''), base.endsWith('/') ? base : `${base}/`)
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

function buildInit(
  { token, name, cwd, surroundings }: RequestSettings,
  method: Method,
  { body, key, signal }: Ask,
): RequestInit {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token !== null) headers['authorization'] = `Bearer ${token}`
  if (name !== null) headers['user-agent'] = name
  if (cwd !== null) headers[cwdHeader] = encodeURIComponent(cwd)
  if (method === 'POST' && key !== null) headers['idempotency-key'] = key ?? surroundings.draw()
  if (body !== undefined) headers['content-type'] = 'application/json'
  return {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }
}

function readAnswer(
  { status, body }: { status: number; body: string },
  url: string,
  alsoTakes?: number,
): unknown {
  const parsed = body === '' ? null : parseJson(body, 'answer', ownLimits)
  const isJson = parsed === null || !isRefusal(parsed)
  const value = parsed === null || isRefusal(parsed) ? null : parsed.value
  const error = findError(value)
  const isOk = status >= 200 && status < 300
  if (isJson && (isOk || (status === alsoTakes && value !== null && error === null))) return value
  throw isOk || error === null ? createBadAnswer(url, status, body) : new TielineError(error, status)
}

/** JSON of a server, which may be another program. */
export function parseJsonAnswer(text: string): unknown {
  const parsed = parseJson(text, 'frame', ownLimits)
  if (isRefusal(parsed))
    throw new TielineError(
      { code: 'not_tieline', message: `The server said what no Tieline server says: ${explain(parsed)}` },
      200,
    )
  return parsed.value
}

function findError(parsed: unknown): ErrorBody | null {
  const error = (parsed as { error?: Partial<ErrorBody> } | null | undefined)?.error
  return typeof error?.code === 'string' && typeof error.message === 'string' ? (error as ErrorBody) : null
}

const shownMax = 200

/** The answer of another program on that port, or of a proxy. */
const createBadAnswer = (url: string, status: number, body: string): TielineError =>
  new TielineError(
    {
      code: 'not_tieline',
      message: `${url} answered ${status} with what no Tieline server says: ${body.slice(0, shownMax)}`,
    },
    status,
  )
