/** Tracks whether events arrive: the first connection, and when to give up on a lost one. */
import type { EventsAsk } from '../../client/event-stream.ts'
import { ServerUnreachable } from '../../client/tieline-error.ts'
import { actLater } from './wait.ts'

export type Connection = {
  /** Resolves when events arrive, so that nothing sent afterwards is missed. */
  ready: Promise<void>
  /** Rejects when the server was away for too long, or the stream failed; never resolves. */
  lost: Promise<never>
  fail(error: unknown): void
  onConnection: NonNullable<EventsAsk['onConnection']>
}

/** A server of this machine is soon replaced; a remote one may come back. */
export const readAwayMsMax = ({ remote }: { remote: boolean }): number => (remote ? 60_000 : 3000)

export function trackConnection(url: string, awayMsMax: number, signal: AbortSignal): Connection {
  const { promise: ready, resolve: open, reject: refuse } = Promise.withResolvers<void>()
  const { promise: lost, reject: giveUp } = Promise.withResolvers<never>()
  let back: AbortController | null = null
  // Nobody has to wait for either of them.
  ready.catch(() => undefined)
  lost.catch(() => undefined)
  const fail = (error: unknown): void => {
    refuse(error)
    giveUp(error)
  }
  return {
    ready,
    lost,
    fail,
    onConnection(state) {
      if (state.open) {
        back?.abort()
        back = null
        return open()
      }
      // Counted from the first loss: failed retries do not extend it.
      if (back !== null) return
      back = new AbortController()
      const { why } = state
      actLater(awayMsMax, AbortSignal.any([back.signal, signal]), () =>
        fail(new ServerUnreachable(url, new Error(why))),
      )
    },
  }
}
