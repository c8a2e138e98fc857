/** What calls need of the runtime beyond the rooms below. */
import type { Runtime as Below } from '../turns/runtime.ts'

export type Runtime = Below & {
  /** The agent that `subagent` runs; null is the caller's own definition. */
  subagent: string | null
}
