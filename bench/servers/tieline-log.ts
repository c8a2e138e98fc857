/** What the Tieline servers of the bench share. */
import type { OpenStore } from '../../src/store/sqlite.ts'

/** The bench sends more from one address than the default limit allows. */
export const noLimits = { requestsPerMinute: 1e9 }

export function measureLog(store: OpenStore): { bytes: number; events: number } {
  const { bytes } = store.db
    .prepare('select coalesce(sum(length(cast(events as blob))), 0) as bytes from log')
    .get() as { bytes: number }
  return { bytes, events: store.lastSeq() }
}
