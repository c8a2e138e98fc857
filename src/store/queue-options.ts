/** What a store is given by whoever opens it. */
import type { Millis } from '../model/id.ts'
import type { StoreHealth } from '../runtime/kernel/store-health.ts'
import type { Cleaner } from '../runtime/kernel/store-port.ts'

export type QueueOptions = {
  now: () => Millis
  /** Time that only passes, for pauses between tries. */
  elapsed: () => Millis
  /** Asked before the log, the views and the hints see an event. */
  cleaner: Cleaner
  /** Called once for each change. */
  onHealth: (health: StoreHealth) => void
  /** Calls it a moment later, unless the process ends before. */
  later?: (run: () => void) => void
}
