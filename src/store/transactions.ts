/**
 * The log as it was written: what was decided together stays together, so that another store folds it to the
 * same views.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { StoredEvent } from '../model/event.ts'
import { eventsIn } from './log-row.ts'

export function* transactionsOf(db: DatabaseSync): Generator<{ at: number; events: StoredEvent[] }> {
  for (const raw of db.prepare('select seq, at, events from log order by seq').iterate()) {
    const row = raw as unknown as { seq: number; at: number; events: string }
    const events = eventsIn(row.seq, row.events)
    yield {
      at: row.at,
      events: events.map((event, index) => ({ seq: row.seq - events.length + index + 1, at: row.at, event })),
    }
  }
}
