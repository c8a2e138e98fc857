/**
 * Folds what each session has used: its own turns, with everything that they called. Each turn counts when it ends,
 * for its session and for those of the turns above it. A session that a call made for itself has no row: what it has
 * used is in the record of that call.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { EventOf } from '../model/event.ts'
import { addSpent, recalledSpent, type Spent } from '../model/money.ts'

export const prepareSessionCosts = (db: DatabaseSync) => ({
  find: db.prepare('select session, made, caller_turn as above from turns where id = ?'),
  add: db.prepare(
    `insert into spent_sessions (session, tokens, spent, spent_plan, unpriced) values (?, ?, ?, ?, ?)
      on conflict do update set tokens = tokens + excluded.tokens, spent = spent + excluded.spent,
        spent_plan = spent_plan + excluded.spent_plan, unpriced = unpriced + excluded.unpriced`,
  ),
})
type CostWrites = ReturnType<typeof prepareSessionCosts>
/** What a turn is part of. */
export type Above = { session: string; made: number; above: string | null }

/** After the rows of these turns were written. A session is written once for all of them. */
export function applySessionCosts(
  writes: CostWrites,
  ended: readonly EventOf<'turn.ended'>[],
  known: ReadonlyMap<string, Above>,
): void {
  const sums = new Map<string, { tokens: number; spent: Spent }>()
  for (const { turn, tokensUsed, spent } of ended) {
    const own = recalledSpent(spent, tokensUsed)
    if (tokensUsed === 0 && own.nanoUsd === 0) continue
    for (const session of listSessions(writes, turn, known)) {
      const sum = sums.get(session)
      sums.set(session, {
        tokens: (sum?.tokens ?? 0) + tokensUsed,
        spent: sum === undefined ? own : addSpent(sum.spent, own),
      })
    }
  }
  for (const [session, { tokens, spent }] of sums)
    writes.add.run(session, tokens, spent.nanoUsd, spent.plan, spent.unpriced)
}

/** Each once, however often the way up comes by it. */
function listSessions(
  { find }: CostWrites,
  first: string | null,
  known: ReadonlyMap<string, Above>,
): ReadonlySet<string> {
  const sessions = new Set<string>()
  for (let turn = first; turn !== null;) {
    const row = known.get(turn) ?? (find.get(turn) as Above | undefined)
    if (row?.made === 0) sessions.add(row.session)
    turn = row?.above ?? null
  }
  return sessions
}
