/** What all nodes of a simulated world share. */
import type { Event } from '../src/model/event.ts'
import type { NodeId } from '../src/model/id.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'
import type { Bug } from './bug.ts'
import type { Disk } from './disk.ts'
import type { Beat } from './leases.ts'
import type { Overlap } from './overlap.ts'
import type { Recorder } from './record-works.ts'
import type { Scheduler } from './scheduler.ts'
import type { Versions } from './versions.ts'

/** A transaction that has written, in the order of the log; `seen` once the checker has found it there. */
export type Mark = { node: NodeId; stale: boolean; seen: boolean }

export type Shared = {
  store: SqliteStore
  /** Where works overlap; null where they run one after another. */
  overlap: Overlap | null
  /** Null where the store is in memory. */
  disk: Disk | null
  /** Null where all nodes are of one version. */
  versions: Versions | null
  scheduler: Scheduler
  marks: Mark[]
  /** Whose commit an event came from: a hint carries the event only to that node. */
  writers: WeakMap<Event, NodeId>
  bug: Bug | null
  /** Notes what is done, for another engine; null where nobody wants to know. */
  recorder: Recorder | null
  latencyMs: number
  fail: (why: string) => void
  /** Lets the checker read what is new in the log. */
  check: () => void
  rerun: (count: number) => void
  /** Said before it reaches the store and after. */
  beat: (node: NodeId, beat: Beat) => void
}
