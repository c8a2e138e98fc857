/** What nobody was told of and a sweep finds by looking: what is overdue, waits, or was left by a node that is gone. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { toCallId, type SessionId, type TurnId } from '../model/id.ts'
import { nextRound } from '../runtime/kernel/next-round.ts'
import type { Due, Store } from '../runtime/kernel/store-port.ts'

const leaseGone = 'not exists (select 1 from nodes n where n.id = t.node and n.until > ?1)'

const prepareAll = (db: DatabaseSync) => ({
  overdueCalls: db.prepare(
    `select id from turns where live = 1 and session > '' and pending = 1 and call_deadline <= ? limit +?`,
  ),
  waiting: db.prepare(`select distinct q.session as id from turns q
    where q.live = 1 and q.session > ?1 and q.state = 'queued' and not exists (
      select 1 from turns r where r.live = 1 and r.session = q.session and r.state = 'running')
    order by q.session limit +?2`),
  orphaned: db.prepare(`select distinct t.session as id from turns t
    where t.live = 1 and t.session > ?3 and t.state = 'running' and ${leaseGone}
    order by t.session limit +?2`),
  lost: db.prepare(`select t.id as id from turns t join sessions s on s.id = t.session
    where t.live = 1 and t.session > '' and t.state = 'running' and s.kind = 'external' and ${leaseGone}
    limit +?2`),
  overdueTurns: db.prepare(
    `select id from turns where live = 1 and session > '' and state = 'running' and deadline <= ? limit +?`,
  ),
})

export function prepareDue(db: DatabaseSync): Store['due'] {
  const statements = prepareAll(db)
  return (at, limit, after = null) => findDue(statements, at, limit, after)
}

/** Each looks at all that live: with thousands of them others run in between. */
async function findDue(
  { overdueCalls, waiting, orphaned, overdueTurns, lost }: ReturnType<typeof prepareAll>,
  at: number,
  limit: number,
  after: SessionId | null,
): Promise<Due> {
  const calls = listIds<TurnId>(overdueCalls, at, limit).map(toCallId)
  await nextRound()
  const queued = listIds<SessionId>(waiting, after ?? '', limit)
  await nextRound()
  const sessions = pageSessions(queued, listIds<SessionId>(orphaned, at, limit, after ?? ''), limit)
  await nextRound()
  const turns = listIds<TurnId>(overdueTurns, at, limit)
  await nextRound()
  return { calls, ...sessions, turns, lost: listIds<TurnId>(lost, at, limit) }
}

const listIds = <Id extends string>(statement: StatementSync, ...values: (string | number)[]): Id[] =>
  (statement.all(...values) as { id: Id }[]).map(({ id }) => id)

/** The first of both, in order; where there may be more, `next` is the last of them. */
function pageSessions(
  waiting: readonly SessionId[],
  orphaned: readonly SessionId[],
  limit: number,
): Pick<Due, 'sessions' | 'next'> {
  const both = [...new Set([...waiting, ...orphaned])].sort()
  const sessions = both.slice(0, limit)
  const isMore = waiting.length === limit || orphaned.length === limit || both.length > limit
  return { sessions, next: isMore ? (sessions.at(-1) ?? null) : null }
}
