/**
 * Who came before the doors were there: kept in order until they are, so many and so long. Whoever leaves meanwhile
 * is forgotten.
 */
import type { Clock } from '../runtime/kernel/ports.ts'
import { notNow } from './admission.ts'
import type { WireNo } from './wire-error.ts'

export type Arrival = {
  /** To the doors. */
  pass(): void
  decline(no: WireNo): void
}

export type EarlyArrivals = {
  /** Returns what is called when it has left by itself. */
  hold(arrival: Arrival): () => void
  passAll(): void
  /** Also who comes later. */
  declineAll(): void
}

export type ArrivalLimits = { countMax: number; msMax: number; broke: (fault: unknown) => void }

export function earlyArrivals(
  clock: Pick<Clock, 'sleep'>,
  { countMax, msMax, broke }: ArrivalLimits,
): EarlyArrivals {
  const waiting = new Map<Arrival, AbortController>()
  let isClosed = false
  const leave = (arrival: Arrival): boolean => {
    waiting.get(arrival)?.abort()
    return waiting.delete(arrival)
  }
  const endAll = (end: (arrival: Arrival) => void): void => {
    for (const arrival of waiting.keys()) if (leave(arrival)) end(arrival)
  }
  return {
    hold(arrival) {
      if (isClosed || waiting.size >= countMax) {
        arrival.decline(notNow)
        return () => undefined
      }
      const left = new AbortController()
      waiting.set(arrival, left)
      clock.sleep(msMax, left.signal).then(
        () => void (leave(arrival) && arrival.decline(notNow)),
        (fault: unknown) => (left.signal.aborted ? undefined : broke(fault)),
      )
      return () => void leave(arrival)
    },
    passAll: () => endAll((arrival) => arrival.pass()),
    declineAll() {
      isClosed = true
      endAll((arrival) => arrival.decline(notNow))
    },
  }
}
