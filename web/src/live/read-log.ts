import type { StreamedEvent } from '../../../src/wire/log.ts'
import type { TielineClient } from '../../../src/client/client.ts'
import { after } from '../browser-clock.ts'

export type Piece = {
  /** The cursor before the first event. */
  after: number
  /** The number of the last event, which may belong to another session. */
  until: number
  sessions?: readonly string[]
}

/** R11: a filter may name at most this many sessions. */
const sessionsMax = 200
const silenceMs = 1500

/**
 * Reads a piece of the log. With a filter the last event of the piece may not be among those that arrive, so
 * the stream also ends after a while of silence. `enough` ends it early.
 */
export async function readLog(
  client: TielineClient,
  piece: Piece,
  take: (streamed: StreamedEvent) => void,
  signal: AbortSignal,
  enough: (streamed: StreamedEvent) => boolean = () => false,
): Promise<void> {
  if (piece.until <= piece.after) return
  const done = new AbortController()
  const end = (): void => done.abort()
  let hush = after(silenceMs * 4, end)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  const sessions =
    piece.sessions !== undefined && piece.sessions.length <= sessionsMax ? { sessions: piece.sessions } : {}
  try {
    for await (const streamed of client.events({
      after: String(piece.after),
      signal: done.signal,
      ...sessions,
    })) {
      const seq = Number(streamed.seq)
      hush()
      hush = after(silenceMs, end)
      if (seq <= piece.until) take(streamed)
      if (seq >= piece.until || enough(streamed)) return
    }
  } finally {
    hush()
    signal.removeEventListener('abort', end)
    done.abort()
  }
}
