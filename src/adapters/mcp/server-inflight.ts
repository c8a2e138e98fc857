/**
 * The calls that run, by who made them and under which id: a client of the 2025 revision cancels in a request
 * of its own.
 */
import type { RequestId } from '@modelcontextprotocol/server'

export type CallKey = { who: string; connection: string | null; id: RequestId }

export type Inflight = {
  begin(key: CallKey, signals: readonly AbortSignal[]): Begun
  cancel(key: CallKey): boolean
  /**
   * Ends the waiting for all that runs, since the server stops. It cancels nothing: what runs goes on when
   * the server runs again.
   */
  stop(): void
}

export type Begun = {
  /**
   * Aborts when the call is cancelled, or when one of the given signals does before `end`: a server that
   * stops ends its waiting first, and closes connections then.
   */
  signal: AbortSignal
  /** Aborts when the server stops. */
  stopping: AbortSignal
  end(): void
}

export function inflightCalls(): Inflight {
  const running = new Map<string, AbortController>()
  const stopping = new AbortController()
  return {
    begin(key, signals) {
      const own = new AbortController()
      const name = makeName(key)
      if (name !== null) running.set(name, own)
      const gone = AbortSignal.any([...signals])
      const abort = (): void => own.abort(gone.reason)
      if (gone.aborted) abort()
      else gone.addEventListener('abort', abort, { once: true })
      return {
        signal: own.signal,
        stopping: stopping.signal,
        end() {
          gone.removeEventListener('abort', abort)
          if (name !== null && running.get(name) === own) running.delete(name)
        },
      }
    },
    cancel(key) {
      const name = makeName(key)
      const found = name === null ? undefined : running.get(name)
      found?.abort(new Error('the client cancelled the request'))
      return found !== undefined
    },
    stop: () => stopping.abort(new Error('the server stops')),
  }
}

/**
 * Without a connection's id two clients would cancel each other's calls: they count their requests from the
 * same number.
 */
const makeName = ({ who, connection, id }: CallKey): string | null =>
  connection === null ? null : JSON.stringify([who, connection, id])
