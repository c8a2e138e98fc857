/** Whether events reach us: the first connection, and the moment at which a lost one is given up. */
import type { EventsAsk } from '../../client/event-stream.ts'
import { ServerUnreachable } from '../../client/tieline-error.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'

export type Connection = {
  /** Resolves when events come: what is sent afterwards is not missed. */
  ready: Promise<void>
  /** Rejects when it was away for too long, or broke for good; never resolves. */
  lost: Promise<never>
  broken(error: unknown): void
  changed: NonNullable<EventsAsk['onConnection']>
}

/** A server of this machine that has gone is soon replaced; another one may come back. */
export const readAwayMsMax = ({ remote }: { remote: boolean }): number => (remote ? 60_000 : 3000)

export function connectionTo(url: string, awayMsMax: number, signal: AbortSignal): Connection {
  const { promise: ready, resolve: opened, reject: failed } = Promise.withResolvers<void>()
  const { promise: lost, reject: giveUp } = Promise.withResolvers<never>()
  let back: AbortController | null = null
  // Whoever waits for nothing need not hear of it.
  ready.catch(() => undefined)
  lost.catch(() => undefined)
  const broken = (error: unknown): void => {
    failed(error)
    giveUp(error)
  }
  return {
    ready,
    lost,
    broken,
    changed(state) {
      if (state.open) {
        back?.abort()
        back = null
        return opened()
      }
      // Counted from the first loss: tries that fail do not begin it anew.
      if (back !== null) return
      back = new AbortController()
      const { why } = state
      void systemClock.sleep(awayMsMax, AbortSignal.any([back.signal, signal])).then(
        () => broken(new ServerUnreachable(url, new Error(why))),
        () => undefined,
      )
    },
  }
}
