/** Reads outside transactions: the log, single rows, and what is due. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type SessionId, type TurnId, toCallId } from '../model/id.ts'
import type { Due, Store } from '../runtime/kernel/store-port.ts'
import { prepareEntryPages } from './entry-pages.ts'
import { prepareLogPages } from './log-pages.ts'
import { prepareFindEvent } from './log-row.ts'
import { arrays, parseGrants, selected } from './rows.ts'
import { sessionAt, sessionColumns, turnAt, turnColumns, type RawArray } from './rows.ts'

const turn = selected('t', turnColumns)
const session = selected('s', sessionColumns)
const leaseGone = 'not exists (select 1 from nodes n where n.id = t.node and n.until > ?1)'

function prepareAll(db: DatabaseSync) {
  const turns = (where: string): StatementSync =>
    arrays(db.prepare(`select ${turn} from turns t where ${where}`))
  return {
    refused: db.prepare('select seq from refused where call = ?'),
    session: arrays(db.prepare(`select ${session} from sessions s where s.id = ?`)),
    sessions: arrays(
      db.prepare(`select ${session} from sessions s where s.id > '' and (?1 is null or s.agent = ?1)
        and (?2 is null or s.kind = ?2) order by s.id desc limit +?3`),
    ),
    byFlow: turns(`t.id = 'turn_' || substr(?1, 6) or (t.flow = ?1 and t.caller is not null)
        or t.id in (select m.turn from messages m where m.flow = ?1 and m.sender is not null)
      order by t.opened_at, t.id limit +?2`),
    bySession: turns('t.live = 1 and t.session = ? order by t.id limit +?'),
    byCaller: turns(`t.pending = 1 and t.caller = (select session from turns where id = ?1)
      and t.caller_turn = ?1 order by t.id limit +?2`),
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
  }
}
type Reads = 'session' | 'sessions' | 'turns' | 'entriesByNumber' | 'due' | 'event' | 'refused' | 'read'

export function prepareReads(db: DatabaseSync): Pick<Store, Reads> {
  const statements = prepareAll(db)
  const grants = parseGrants(db)
  const findEvent = prepareFindEvent(db)
  return {
    async session(id) {
      const raw = statements.session.get(id) as RawArray | undefined
      return raw === undefined ? null : sessionAt(raw, 0)
    },
    async sessions({ agent = null, kind = null }, limit) {
      const rows = statements.sessions.all(agent, kind, limit) as unknown as RawArray[]
      return rows.map((raw) => sessionAt(raw, 0))
    },
    async turns(filter, limit) {
      const rows =
        filter.flow !== undefined
          ? statements.byFlow.all(filter.flow, limit)
          : filter.callerTurn !== undefined
            ? statements.byCaller.all(filter.callerTurn, limit)
            : statements.bySession.all(filter.session ?? '', limit)
      return (rows as unknown as RawArray[]).map((raw) => turnAt(raw, 0, grants))
    },
    entriesByNumber: prepareEntryPages(db),
    due: async (at, limit, after = null) => ({
      calls: listIds<TurnId>(statements.overdueCalls, at, limit).map(toCallId),
      ...pageSessions(
        listIds<SessionId>(statements.waiting, after ?? '', limit),
        listIds<SessionId>(statements.orphaned, at, limit, after ?? ''),
        limit,
      ),
      turns: listIds<TurnId>(statements.overdueTurns, at, limit),
      lost: listIds<TurnId>(statements.lost, at, limit),
    }),
    event: async (seq) => findEvent(seq),
    async refused(call) {
      const row = statements.refused.get(call) as { seq: number } | undefined
      return row === undefined ? null : findEvent(row.seq)
    },
    read: prepareLogPages(db),
  }
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
