/** Facts for the rules: one statement each, and only within the keys that the transaction holds. */
import type { DatabaseSync } from 'node:sqlite'
import type { BelowRow, Hop, OpenFacts, SessionFacts, TurnFacts } from '../model/facts.ts'
import type { CallId, Millis, SessionId, TurnId } from '../model/id.ts'
import { NeedsKeys, type Key } from '../runtime/ports.ts'
import { selected, sessionColumns, sessionOfRaw, turnColumns, turnOfRaw, type Raw } from './rows.ts'

const turn = selected('t', turnColumns)
const session = selected('s', sessionColumns)

/** Every session that `start` waits for, directly or not, with the one it was reached from. Waits are pending blocking calls and waits for a session. */
const reach = `with recursive reach(session, via) as (
    select ?1, null
    union select t.session, r.session from reach r join turns t on t.pending = 1 and t.caller = r.session where t.background = 0
    union select w.target, r.session from reach r join waits w on w.waiter = r.session)
  select r.session as session, r.via as via, s.agent as agent from reach r cross join sessions s on s.id = r.session`

export function prepareFacts(db: DatabaseSync) {
  return {
    turn: db.prepare(`select ${turn}, ${session} from turns t join sessions s on s.id = t.session where t.id = ?`),
    session: db.prepare(`select ${session}, ${turn}, ${selected('q', turnColumns)},
        (select until from nodes where id = t.node) as runner_until,
        (select count(*) from turns where live = 1 and session = s.id and state = 'queued') as queued
      from sessions s
      left join turns t on t.live = 1 and t.session = s.id and t.state = 'running'
      left join turns q on q.id = (select id from turns where live = 1 and session = s.id and state = 'queued' order by id limit 1)
      where s.id = ?`),
    open: db.prepare(`select ${turn}, ${session},
        (select count(*) from turns where pending = 1 and caller = t.session) as open_calls,
        (select sum(made) from turns where flow = t.flow) as descendants,
        (select count(*) from turns where flow = t.flow and opened_at > ?2 and id <> t.id and caller is not null) as calls,
        (select min(opened_at) from turns where flow = t.flow and opened_at > ?2 and caller is not null) as oldest,
        exists (select 1 from turns where id = ?3) or exists (select 1 from refused where call = ?4) as known
      from turns t join sessions s on s.id = t.session where t.id = ?1`),
    target: db.prepare(`select ${session}, (select count(*) from turns where live = 1 and session = s.id and state = 'queued') as queued from sessions s where s.id = ?`),
    reach: db.prepare(reach),
    below: db.prepare(`with recursive below(id, session) as (
        select id, session from turns where pending = 1 and caller = ?1 and caller_turn = ?2
        union select t.id, t.session from below b join turns t on t.pending = 1 and t.caller = b.session and t.caller_turn = b.id)
      select ${turn}, s.kind as kind from below b join turns t on t.id = b.id join sessions s on s.id = t.session`),
  }
}
export type FactStatements = ReturnType<typeof prepareFacts>

/** Throws NeedsKeys for what is missing. */
export function need(held: ReadonlySet<string> | null, keys: readonly Key[]): void {
  if (held === null) return
  const missing = keys.filter((key) => !held.has(key))
  if (missing.length > 0) throw new NeedsKeys(missing)
}

export function turnFacts(statements: FactStatements, id: TurnId, held: ReadonlySet<string> | null): TurnFacts | null {
  const raw = statements.turn.get(id) as Raw | undefined
  if (raw === undefined) return null
  const row = turnOfRaw(raw, 't')
  need(held, [`session:${row.session}`])
  return { turn: row, session: sessionOfRaw(raw, 's') }
}

export function sessionFacts(statements: FactStatements, id: SessionId, now: Millis, held: ReadonlySet<string> | null): SessionFacts {
  need(held, [`session:${id}`])
  const raw = statements.session.get(id) as Raw | undefined
  if (raw === undefined) return { session: null, running: null, runnerAlive: false, queued: 0, next: null }
  return {
    session: sessionOfRaw(raw, 's'),
    running: raw['t_id'] === null ? null : turnOfRaw(raw, 't'),
    runnerAlive: ((raw['runner_until'] ?? 0) as number) > now,
    queued: raw['queued'] as number,
    next: raw['q_id'] === null ? null : turnOfRaw(raw, 'q'),
  }
}

export function openFacts(statements: FactStatements, query: { call: CallId; callerTurn: TurnId; target: SessionId | null }, now: Millis, held: ReadonlySet<string> | null): OpenFacts | null {
  const raw = statements.open.get(query.callerTurn, now - 60_000, `turn_${query.call.slice(5)}`, query.call) as Raw | undefined
  if (raw === undefined) return null
  const caller = { turn: turnOfRaw(raw, 't'), session: sessionOfRaw(raw, 's') }
  need(held, [`session:${caller.turn.session}`, `flow:${caller.turn.flow}`, `call:${query.call}`])
  return {
    known: raw['known'] === 1,
    caller,
    openCalls: raw['open_calls'] as number,
    descendants: (raw['descendants'] ?? 0) as number,
    callsLastMinute: raw['calls'] as number,
    oldestCallAt: raw['oldest'] as number | null,
    target: query.target === null ? null : targetFacts(statements, query.target, caller.turn.session, held),
  }
}

function targetFacts(statements: FactStatements, target: SessionId, caller: SessionId, held: ReadonlySet<string> | null): NonNullable<OpenFacts['target']> {
  need(held, [`session:${target}`])
  const raw = statements.target.get(target) as Raw | undefined
  if (raw === undefined) return { session: null, queued: 0, waitPath: null }
  return { session: sessionOfRaw(raw, 's'), queued: raw['queued'] as number, waitPath: waitPath(statements, target, caller, held) }
}

/** R5 depends on every session that was looked at, also where no path was found: all their keys are needed. */
function waitPath(statements: FactStatements, from: SessionId, to: SessionId, held: ReadonlySet<string> | null): Hop[] | null {
  const rows = statements.reach.all(from) as { session: SessionId; via: SessionId | null; agent: string }[]
  need(held, rows.map((row): Key => `session:${row.session}`))
  const first = new Map<SessionId, { via: SessionId | null; agent: string }>()
  for (const row of rows) if (!first.has(row.session)) first.set(row.session, row)
  if (!first.has(to)) return null
  const path: Hop[] = []
  for (let at: SessionId | null = to; at !== null; at = first.get(at)?.via ?? null) path.unshift({ session: at, agent: first.get(at)?.agent ?? '' })
  return path
}

export function belowFacts(statements: FactStatements, caller: SessionId, id: TurnId, held: ReadonlySet<string> | null): BelowRow[] {
  const rows = statements.below.all(caller, id) as Raw[]
  const below = rows.map((raw) => ({ turn: turnOfRaw(raw, 't'), sessionKind: raw['kind'] as BelowRow['sessionKind'] }))
  need(held, below.map(({ turn: row }): Key => `session:${row.session}`))
  return below
}
