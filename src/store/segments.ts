/**
 * Where the entries of a conversation stand. A fork shares the first of another's by reference: they are read
 * where they were written, and nothing that is said later, on either side, is seen on the other.
 * Only a session's own entries are ever written, so a fork cannot change what it came from.
 */
import type { DatabaseSync } from 'node:sqlite'
import { prepareOnce } from './rows.ts'

/** Entries `first` to `last` of a conversation, which a session wrote as its own. */
export type Segment = { session: string; first: number; last: number }

const forkStatement = prepareOnce((db) => db.prepare('select fork_of, fork_n from sessions where id = ?'))

/** Newest first. `total` is how many entries the session has. */
export function listSegments(db: DatabaseSync, session: string, total: number): Segment[] {
  const statement = forkStatement(db)
  const segments: Segment[] = []
  for (let at: string | null = session, last = total; at !== null && last > 0;) {
    const row = statement.get(at) as { fork_of: string | null; fork_n: number } | undefined
    const shared: number = row?.fork_of == null ? 0 : row.fork_n
    if (last > shared) segments.push({ session: at, first: shared + 1, last })
    last = Math.min(last, shared)
    at = row?.fork_of ?? null
  }
  return segments
}

export const findSegment = (segments: readonly Segment[], n: number): Segment | undefined =>
  segments.find(({ first, last }) => first <= n && n <= last)
