/** Which sessions programs of the user have open, and what is quiet. */
import type { DatabaseSync } from 'node:sqlite'
import type { Millis, SessionId } from '../model/id.ts'
import type { Lists } from '../runtime/kernel/lists-port.ts'
import { readClient } from './facts.ts'
import { arrays, type RawArray } from './rows.ts'

export function clientLists(db: DatabaseSync): Pick<Lists, 'client' | 'quiet'> {
  const statements = {
    client: arrays(db.prepare('select program, open, quiet_until from clients where session = ?')),
    quiet: db.prepare(
      `select session, quiet_until as until from clients indexed by clients_quiet
        where quiet_until > 0 and quiet_until > ? order by quiet_until limit +?`,
    ),
  }
  return {
    client: async (id) => readClient(statements.client.get(id) as RawArray | undefined),
    quiet: async (after, limit) =>
      (statements.quiet.all(after, limit) as { session: SessionId; until: Millis }[]).map((row) => ({
        ...row,
      })),
  }
}
