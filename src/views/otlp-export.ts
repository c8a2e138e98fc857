/**
 * Sends spans to a collector. Nobody waits for it: what is added goes into a bounded queue, and a collector
 * that is slow, wrong or gone costs spans and one warning a minute, nothing else.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { parseJson } from '../model/bounded-json.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { otlpRequest, type Span } from './otlp-json.ts'
import type { TelemetrySettings } from './telemetry-settings.ts'
import { isRefusal } from '../model/refusal.ts'

export type OtlpExport = {
  add(spans: readonly Span[]): void
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>
  /** How many spans were given up. */
  dropped(): number
}

const triesMax = 5
const pauseMsFirst = 1000
const pauseMsMax = 30_000
const closeMs = 3000
const warnEveryMs = 60_000
const retryable = new Set([429, 502, 503, 504])

type Attempt =
  | { sent: true; rejected: number }
  | { sent: false; again: boolean; pauseMs: number | null; why: string }
type Parts = { settings: TelemetrySettings; clock: Clock; version: string; warn: (text: string) => void }

export function otlpExport({ settings, clock, version, warn }: Parts): OtlpExport {
  const queue: Span[] = []
  const over = new AbortController()
  let closing = false
  let dropped = 0
  let warnedAt = -Infinity
  let working: Promise<void> | null = null
  let pause: AbortController | null = null

  const giveUp = (spans: number, why: string): void => {
    dropped += spans
    if (clock.elapsed() - warnedAt < warnEveryMs) return
    warnedAt = clock.elapsed()
    warn(`telemetry: ${dropped} spans were not exported so far: ${why}. Nothing else is affected.`)
  }
  const sleep = async (ms: number): Promise<void> => {
    pause = new AbortController()
    await clock.sleep(ms, pause.signal).catch(() => undefined)
    pause = null
  }
  const deliver = async (batch: readonly Span[]): Promise<void> => {
    const body = otlpRequest(batch, settings.resource, version)
    for (let tries = 1; ; tries += 1) {
      const attempt = await post(body, settings, clock, over.signal)
      if (attempt.sent)
        return attempt.rejected === 0 ? undefined : giveUp(attempt.rejected, 'the collector rejected some')
      if (!attempt.again || tries === triesMax || closing) return giveUp(batch.length, attempt.why)
      await sleep(attempt.pauseMs ?? backOff(tries, batch[0]?.spanId ?? ''))
    }
  }
  const work = async (): Promise<void> => {
    while (queue.length > 0) {
      if (queue.length < settings.batchMax && !closing) await sleep(settings.delayMs)
      await deliver(queue.splice(0, settings.batchMax))
    }
    working = null
  }
  const begin = (): void => {
    working ??= work().catch((fault: unknown) => {
      working = null
      giveUp(queue.splice(0).length, fault instanceof Error ? fault.message : String(fault))
    })
  }
  return {
    dropped: () => dropped,
    add(spans) {
      if (closing) return
      const room = settings.queueMax - queue.length
      queue.push(...(spans.length > room ? spans.slice(0, room) : spans))
      if (spans.length > room)
        giveUp(spans.length - room, 'the queue is full, because the collector is too slow')
      if (queue.length === 0) return
      begin()
      if (queue.length >= settings.batchMax && working !== null) pause?.abort()
    },
    async close() {
      closing = true
      pause?.abort()
      const late = new AbortController()
      const timer = clock.sleep(closeMs, late.signal).then(
        () => over.abort(new Error('closed')),
        () => undefined,
      )
      await working
      late.abort()
      await timer
    },
  }
}

async function post(
  text: string,
  { url, headers, gzip: packed, timeoutMs }: TelemetrySettings,
  clock: Clock,
  over: AbortSignal,
): Promise<Attempt> {
  const timeout = new AbortController()
  const done = new AbortController()
  clock.sleep(timeoutMs, done.signal).then(
    () => timeout.abort(new Error(`no answer in ${timeoutMs} ms`)),
    () => undefined,
  )
  try {
    const body = packed ? new Uint8Array(await promisify(gzip)(text)) : text
    const response = await fetch(url, {
      method: 'POST',
      body,
      redirect: 'error',
      signal: AbortSignal.any([over, timeout.signal]),
      headers: {
        'user-agent': 'tieline',
        ...headers,
        'content-type': 'application/json',
        ...(packed ? { 'content-encoding': 'gzip' } : {}),
      },
    })
    const answer = await readStart(response)
    if (response.ok) return { sent: true, rejected: parseRejected(answer) }
    return {
      sent: false,
      again: retryable.has(response.status),
      pauseMs: parseRetryAfter(response.headers.get('retry-after')),
      why: `the collector at ${getHost(url)} answered ${response.status}`,
    }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const said = cause instanceof Error ? cause.message : String(cause)
    return {
      sent: false,
      again: !over.aborted,
      pauseMs: null,
      why: `the collector at ${getHost(url)} cannot be reached (${said})`,
    }
  } finally {
    done.abort()
  }
}

/** The address may hold a key. */
const getHost = (url: string): string => new URL(url).host

const answerBytesMax = 65_536

async function readStart(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    parts.push(part as Uint8Array)
    bytes += (part as Uint8Array).length
    if (bytes >= answerBytesMax) break
  }
  return Buffer.concat(parts).toString('utf8')
}

/** A collector may take a request and leave out some of it; it must not be asked again. */
function parseRejected(answer: string): number {
  const parsed = parseJson(answer, 'answer')
  // What else a collector says after a yes is of no importance.
  if (isRefusal(parsed)) return 0
  const rejected = Number(
    (parsed.value as { partialSuccess?: { rejectedSpans?: string | number } } | null)?.partialSuccess
      ?.rejectedSpans ?? 0,
  )
  return rejected > 0 ? rejected : 0
}

function parseRetryAfter(retryAfter: string | null): number | null {
  const seconds = Number(retryAfter ?? '')
  return retryAfter !== null && Number.isFinite(seconds) && seconds >= 0
    ? Math.min(seconds * 1000, pauseMsMax)
    : null
}

/** The jitter only has to differ between processes, so a span id is random enough. */
function backOff(tries: number, seed: string): number {
  const ms = Math.min(pauseMsMax, pauseMsFirst * 2 ** (tries - 1))
  return ms * (0.75 + (Number.parseInt(seed.slice(0, 2) || '0', 16) / 255) * 0.25)
}
