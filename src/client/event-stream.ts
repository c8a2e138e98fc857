/**
 * The events of the server as one endless sequence, over as many connections as it takes.
 *
 * S1  Nothing is skipped and nothing comes twice: every connection asks for what follows the last event that
 * was handed on.
 * S2  A connection that breaks is opened again, after pauses that grow up to a few seconds.
 * S3  For a slow reader a bounded number of events is queued here; beyond that the connection is closed, and
 * opened again when the reader has caught up.
 */
import { ownLimits, parseJson } from '../model/bounded-json.ts'
import { contained } from '../model/contained.ts'
import { explain, isRefusal } from '../model/refusal.ts'
import type { Delta, StreamedEvent } from '../wire/log.ts'
import { buildUrl, type Request, type RequestSettings } from './request.ts'
import { describeError, TielineError, type ErrorBody } from './tieline-error.ts'

export type EventsAsk = {
  /** Events after this cursor; by default those from now on. */
  after?: string | null
  /** Only the timelines of these sessions, at most 200; by default all. */
  sessions?: readonly string[]
  /** Ends the sequence. */
  signal?: AbortSignal
  /**
   * Text as it streams. It is not part of the sequence and may be lost; a new connection begins with what
   * running steps have said so far.
   */
  onDelta?: (delta: Delta) => void
  /** The connection is open and continues after a cursor, or was lost and is being opened again. */
  onConnection?: (state: { open: true; after: string | null } | { open: false; why: string }) => void
}

export type OpenSocket = (url: string) => WebSocket

export type StreamSettings = RequestSettings & { openSocket: OpenSocket; request: Request }

const firstPauseMs = 100
const pauseMsMax = 5000
const queuedMax = 4096
const badRequest = 400

export async function* eventStream(settings: StreamSettings, ask: EventsAsk): AsyncGenerator<StreamedEvent> {
  let after = ask.after ?? null
  let pauseMs = firstPauseMs
  const over = (): boolean => ask.signal?.aborted === true
  while (!over()) {
    const connection = connect(settings, ask, after)
    try {
      for await (const item of connection.items) {
        pauseMs = firstPauseMs
        after = item.seq // S1
        if ('event' in item) yield item
      }
    } finally {
      connection.close()
    }
    if (over()) return
    ask.onConnection?.({ open: false, why: connection.why() })
    if (connection.gaveUp()) continue
    await settings.surroundings.sleep(pauseMs, ask.signal)
    pauseMs = Math.min(pauseMs * 2, pauseMsMax) // S2
    await checkAccess(settings, ask.signal)
  }
}

/**
 * A browser does not say why a WebSocket was not opened, but a plain request does. Only a refusal ends the
 * sequence; a server that does not answer does not.
 */
async function checkAccess({ request }: StreamSettings, signal: AbortSignal | undefined): Promise<void> {
  try {
    await request('GET', '/api/sessions', { query: { limit: 1 }, signal, triesMax: 1 })
  } catch (error) {
    if (error instanceof TielineError && error.status >= 400 && error.status < 500 && error.status !== 429)
      throw error
  }
}

/** An event, or the cursor at which a subscription began. */
type Item = StreamedEvent | { seq: string }
type Frame =
  | ({ type: 'event' } & StreamedEvent)
  | ({ type: 'delta' } & Delta)
  | { type: 'subscribed'; after: string }
  | { type: 'error'; error: ErrorBody }

type Connection = { items: AsyncIterable<Item>; close(): void; why(): string; gaveUp(): boolean }

function connect(settings: StreamSettings, ask: EventsAsk, after: string | null): Connection {
  const queue: Item[] = []
  let [ended, gaveUp, why] = [false, false, 'it could not be opened']
  let refused: TielineError | null = null
  let wake = (): void => undefined
  const socket = settings.openSocket(buildSocketUrl(settings, ask.sessions ?? [], after))
  const end = (reason: string): void => {
    if (!ended) why = reason
    ended = true
    wake()
  }
  const put = (item: Item): void => {
    queue.push(item)
    gaveUp = queue.length >= queuedMax // S3
    if (gaveUp) socket.close()
    wake()
  }
  // A frame that cannot be read, or a callback that throws, ends this connection and not the program.
  const fail = (fault: unknown): void => {
    end(describeError(fault))
    socket.close()
  }
  const receive = (frame: Frame | null): void => {
    if (frame?.type === 'event') {
      const { seq, at, sessionId, event } = frame
      put({ seq, at, sessionId, event })
    }
    if (frame?.type === 'delta') ask.onDelta?.(frame)
    if (frame?.type === 'subscribed') {
      put({ seq: frame.after })
      ask.onConnection?.({ open: true, after: frame.after })
    }
    if (frame?.type === 'error' && frame.error.code !== 'rate_limited') {
      refused = new TielineError(frame.error, badRequest)
      end(frame.error.message)
    }
  }
  const onMessage = contained(fail, ({ data }: MessageEvent) => receive(parseFrame(data)))
  const onClose = contained(fail, ({ reason, code }: CloseEvent) => end(reason || `it was closed (${code})`))
  socket.addEventListener('message', onMessage)
  socket.addEventListener('close', onClose)
  socket.addEventListener('error', () => end('it broke or could not be opened'))
  const abort = (): void => end('it was ended here')
  ask.signal?.addEventListener('abort', abort, { once: true })
  const items = (async function* () {
    while (true) {
      const item = queue.shift()
      if (refused !== null) throw refused as TielineError
      else if (item !== undefined) yield item
      else if (ended || ask.signal?.aborted === true) return
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  })()
  return {
    items,
    why: () => why,
    gaveUp: () => gaveUp,
    close() {
      ask.signal?.removeEventListener('abort', abort)
      socket.close()
    },
  }
}

/** A browser cannot set headers here, so the token is in the address; the server never logs it. */
function buildSocketUrl(
  { url, token }: StreamSettings,
  sessions: readonly string[],
  after: string | null,
): string {
  const address = new URL(buildUrl(url.replace(/^http/, 'ws'), '/ws', { token, after }))
  for (const session of sessions) address.searchParams.append('session', session)
  return address.href
}

/** What is not JSON is no frame of ours. One that is too large to parse may be, and must not be skipped (S1). */
function parseFrame(data: unknown): Frame | null {
  if (typeof data !== 'string') return null
  const parsed = parseJson(data, 'frame', ownLimits)
  if (!isRefusal(parsed)) return parsed.value as Frame | null
  if (parsed.code === 'bad_input' && parsed.expected === 'JSON') return null
  throw new Error(`a frame could not be read: ${explain(parsed)}`)
}
