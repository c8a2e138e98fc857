/** What the servers of the bench that are ours have in common. */
import type { SqliteStore } from '../../src/store/sqlite.ts'

/** The bench comes from one address, faster than any client may by default. */
export const noLimits = { requestsPerMinute: 1e9 }

export function logOf(store: SqliteStore): { bytes: number; events: number } {
  const { bytes } = store.db
    .prepare('select coalesce(sum(length(cast(events as blob))), 0) as bytes from log')
    .get() as { bytes: number }
  return { bytes, events: store.lastSeq() }
}
