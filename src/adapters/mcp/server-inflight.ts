/** The calls that run, by who made them and under which id: a client of the 2025 revision cancels in a request of its own. */
import type { RequestId } from '@modelcontextprotocol/server'

export type CallKey = { who: string; connection: string | null; id: RequestId }

export type Inflight = {
  /** Aborts when the call is cancelled, or when one of the given signals does. */
  begin(key: CallKey, signals: readonly AbortSignal[]): { signal: AbortSignal; end(): void }
  cancel(key: CallKey): boolean
  /** Ends all that runs, since the server stops. */
  stop(): void
}

export function inflightCalls(): Inflight {
  const running = new Map<string, AbortController>()
  const stopping = new AbortController()
  return {
    begin(key, signals) {
      const own = new AbortController()
      const name = nameOf(key)
      if (name !== null) running.set(name, own)
      return {
        signal: AbortSignal.any([own.signal, stopping.signal, ...signals]),
        end() {
          if (name !== null && running.get(name) === own) running.delete(name)
        },
      }
    },
    cancel(key) {
      const name = nameOf(key)
      const found = name === null ? undefined : running.get(name)
      found?.abort(new Error('the client cancelled the request'))
      return found !== undefined
    },
    stop: () => stopping.abort(new Error('the server stops')),
  }
}

/** Without a connection's id two clients would cancel each other's calls: they count their requests from the same number. */
const nameOf = ({ who, connection, id }: CallKey): string | null => (connection === null ? null : JSON.stringify([who, connection, id]))
