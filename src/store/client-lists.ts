/** Of single sessions: which programs of the user have them open, what is quiet, and what they have used. */
import type { DatabaseSync } from 'node:sqlite'
import type { Millis, SessionId } from '../model/id.ts'
import { nothingSpent, type Spent } from '../model/money.ts'
import type { Lists } from '../runtime/kernel/lists-port.ts'
import { readClient } from './facts.ts'
import { arrays, type RawArray } from './rows.ts'

export function clientLists(db: DatabaseSync): Pick<Lists, 'client' | 'quiet' | 'spentBy'> {
  const statements = {
    client: arrays(db.prepare('select program, open, quiet_until from clients where session = ?')),
    spent: db.prepare(
      'select tokens, spent as nanoUsd, spent_plan as plan, unpriced from spent_sessions where session = ?',
    ),
    quiet: db.prepare(
      `select session, quiet_until as until from clients indexed by clients_quiet
        where quiet_until > 0 and quiet_until > ? order by quiet_until limit +?`,
    ),
  }
  return {
    async spentBy(id) {
      const row = statements.spent.get(id) as Record<'tokens' | keyof Spent, number> | undefined
      const { tokens, ...spent } = row ?? { tokens: 0, ...nothingSpent }
      return { tokens, spent }
    },
    client: async (id) => readClient(statements.client.get(id) as RawArray | undefined),
    quiet: async (after, limit) =>
      (statements.quiet.all(after, limit) as { session: SessionId; until: Millis }[]).map((row) => ({
        ...row,
      })),
  }
}
