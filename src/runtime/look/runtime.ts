/** What looking around needs of the runtime beyond the kernel. */
import type { Delta } from '../../wire/log.ts'
import type { Lists } from '../kernel/lists-port.ts'
import type { Runtime as Below } from '../kernel/runtime.ts'

export type Runtime = Below & {
  /** Nothing is decided by it. */
  lists: Lists
  readonly deltaListeners: Set<(delta: Delta) => void>
}
