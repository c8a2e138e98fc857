/** Facts for the rules: one statement each, and only within the keys that the transaction holds. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Notices } from '../model/event.ts'
import type {
  Activation,
  BelowRow,
  Hop,
  MailFacts,
  MessageFacts,
  MessageRow,
  OpenFacts,
  QuestionFacts,
  SendFacts,
  SessionFacts,
  TurnFacts,
} from '../model/facts.ts'
import type { CallId, MessageId, Millis, SessionId, TurnId } from '../model/id.ts'
import { noticesShownMax } from '../model/limits.ts'
import { isWaiting, idSuffix } from '../model/mail.ts'
import { NeedsKeys, type Key, type Tx } from '../runtime/kernel/store-port.ts'
import { acceptedWith, readCounts, readMessage, prepareMail, waitingIn } from './mail.ts'
import {
  arrays,
  parseGrants,
  selected,
  sessionAt,
  sessionColumns,
  turnAt,
  turnColumns,
  type RawArray,
} from './rows.ts'

const turn = selected('t', turnColumns)
const session = selected('s', sessionColumns)

/**
 * Every session that `start` waits for, directly or not, with the one it was reached from. Waits are pending
 * blocking calls and waits for a session.
 */
const reach = `with recursive reach(session, via) as (
    select ?1, null
    union select t.session, r.session from reach r join turns t on t.pending = 1 and t.caller = r.session where t.background = 0
    union select w.target, r.session from reach r join waits w on w.waiter = r.session where w.until > ?2)
  select r.session as session, r.via as via, s.agent as agent from reach r cross join sessions s on s.id = r.session`

/**
 * A minute on both sides: after the wall clock was set back, what lies an hour ahead did not happen in the
 * last minute.
 */
const minuteMs = 60_000

const turnWidth = turnColumns.length
const sessionWidth = sessionColumns.length

export function prepareFacts(db: DatabaseSync) {
  const grants = parseGrants(db)
  const prepare = (sql: string): StatementSync => arrays(db.prepare(sql))
  return {
    grants,
    turn: prepare(
      `select ${turn}, ${session} from turns t join sessions s on s.id = t.session where t.id = ?`,
    ),
    activation: prepare(
      'select session, state, node, epoch, stopping, pending, outcome, tokens_used, tokens_below from turns where id = ?',
    ),
    session: prepare(`select ${session},
        (select until from nodes where id = t.node),
        (select count(*) from turns where live = 1 and session = s.id and state = 'queued'), ${turn}, ${selected('q', turnColumns)}
      from sessions s
      left join turns t on t.live = 1 and t.session = s.id and t.state = 'running'
      left join turns q on q.id = (select id from turns where live = 1 and session = s.id and state = 'queued' order by opened_seq limit 1)
      where s.id = ?`),
    open: prepare(`select ${turn}, ${session},
        (select count(*) from turns where pending = 1 and caller = t.session and background = 0),
        coalesce((select sum(made) from turns where flow = t.flow and caller is not null), 0) + (select count(*) from sessions where flow = t.flow),
        (select count(*) from turns where flow = t.flow and opened_at > ?2 and opened_at < ?5 and caller is not null),
        (select min(opened_at) from turns where flow = t.flow and opened_at > ?2 and opened_at < ?5 and caller is not null),
        exists (select 1 from turns where id = ?3) or exists (select 1 from refused where call = ?4)
      from turns t join sessions s on s.id = t.session where t.id = ?1`),
    send: prepare(`select
        coalesce((select sum(made) from turns where flow = ?1 and caller is not null), 0) + (select count(*) from sessions where flow = ?1),
        (select count(*) from messages where flow = ?1 and sent_at > ?2 and sent_at < ?5 and flow is not null),
        (select min(sent_at) from messages where flow = ?1 and sent_at > ?2 and sent_at < ?5 and flow is not null),
        max((select opened_at from turns where id = 'turn_' || substr(?1, 6)), coalesce((select max(accepted_at) from messages where flow = ?1 and accepted_by = 'user'), 0)),
        exists (with recursive up(id) as (
          select parent from sessions where id = ?3 union select s.parent from up join sessions s on s.id = up.id where s.parent is not null)
          select 1 from up where id = ?4)`),
    target: prepare(
      `select ${session}, (select count(*) from turns where live = 1 and session = s.id and state = 'queued') from sessions s where s.id = ?`,
    ),
    notices: prepare('select seq, about, text from notices where session = ? order by seq desc limit +?'),
    traced: prepare('select ended from traced where session = ? and key = ?'),
    question: prepare(
      'select q.turn, t.session, q.answer, q.answered_by, t.state from questions q join turns t on t.id = q.turn where q.id = ?',
    ),
    reach: db.prepare(reach),
    mail: prepareMail(db),
    below: prepare(`with recursive below(id, session) as (
        select id, session from turns where pending = 1 and caller = ?1 and caller_turn = ?2
        union select t.id, t.session from below b join turns t on t.pending = 1 and t.caller = b.session and t.caller_turn = b.id)
      select ${turn}, s.kind from below b join turns t on t.id = b.id join sessions s on s.id = t.session`),
  }
}
export type FactStatements = ReturnType<typeof prepareFacts>

/** The newest that no turn was given, oldest first; null where there are none. */
export function noticeFacts(
  statements: FactStatements,
  session: SessionId,
  held: ReadonlySet<string> | null,
): Notices | null {
  need(held, [`session:${session}`])
  const rows = statements.notices.all(session, noticesShownMax) as unknown as RawArray[]
  const [newest] = rows
  return newest === undefined
    ? null
    : {
        upTo: newest[0] as number,
        texts: rows.toReversed().map(([, about, text]) => ({ about: about as string, text: text as string })),
      }
}

/** What a program outside has written down of one use of a tool. */
export function tracedFacts(
  statements: FactStatements,
  session: SessionId,
  key: string,
  held: ReadonlySet<string> | null,
): 'begun' | 'ended' | null {
  need(held, [`session:${session}`])
  const raw = statements.traced.get(session, key) as RawArray | undefined
  return raw === undefined ? null : raw[0] === 1 ? 'ended' : 'begun'
}

export function questionFacts(
  statements: FactStatements,
  id: string,
  held: ReadonlySet<string> | null,
): QuestionFacts | null {
  const raw = statements.question.get(id) as RawArray | undefined
  if (raw === undefined) return null
  need(held, [`session:${raw[1] as string}`])
  return {
    turn: raw[0] as TurnId,
    session: raw[1] as SessionId,
    answer: raw[2] as QuestionFacts['answer'],
    by: raw[3] as string | null,
    live: raw[4] === 'running',
  }
}

/**
 * A message is guarded by its own key, and while it waits by that of its receiver as well: whatever moves it
 * then stands on that timeline.
 */
export function messageFacts(
  { mail }: FactStatements,
  id: MessageId,
  held: ReadonlySet<string> | null,
): MessageFacts | null {
  const facts = readMessage(mail, id)
  if (facts === null || !isWaiting(facts) || held?.has(`session:${facts.to ?? ''}`) !== true)
    need(held, [`message:${idSuffix(id)}`])
  return facts
}

export function inboxFacts(
  { mail }: FactStatements,
  id: SessionId,
  ask: Parameters<Tx['inbox']>[1],
  held: ReadonlySet<string> | null,
): MessageRow[] {
  need(held, [`session:${id}`])
  return waitingIn(mail, id, ask)
}

export function acceptedFacts(
  { mail }: FactStatements,
  act: string,
  held: ReadonlySet<string> | null,
): MessageFacts | null {
  const facts = acceptedWith(mail, act)
  if (facts !== null) need(held, [`message:${idSuffix(facts.id)}`])
  return facts
}

export function mailFacts(
  { mail }: FactStatements,
  id: SessionId,
  held: ReadonlySet<string> | null,
): MailFacts {
  need(held, [`session:${id}`])
  return readCounts(mail, id)
}

/** Throws NeedsKeys for what is missing. */
export function need(held: ReadonlySet<string> | null, keys: readonly Key[]): void {
  if (held === null || keys.every((key) => held.has(key))) return
  throw new NeedsKeys(keys.filter((key) => !held.has(key)))
}

export function turnFacts(
  statements: FactStatements,
  id: TurnId,
  held: ReadonlySet<string> | null,
): TurnFacts | null {
  const raw = statements.turn.get(id) as RawArray | undefined
  if (raw === undefined) return null
  const row = turnAt(raw, 0, statements.grants)
  need(held, [`session:${row.session}`])
  return { turn: row, session: sessionAt(raw, turnWidth) }
}

export function activationFacts(
  statements: FactStatements,
  id: TurnId,
  held: ReadonlySet<string> | null,
): Activation | null {
  const raw = statements.activation.get(id) as RawArray | undefined
  if (raw === undefined) return null
  need(held, [`session:${raw[0] as string}`])
  return {
    state: raw[1] as Activation['state'],
    node: raw[2] as Activation['node'],
    epoch: raw[3] as number,
    stopping: raw[4] as Activation['stopping'],
    pending: raw[5] === 1,
    outcome: raw[6] as Activation['outcome'],
    tokensUsed: raw[7] as number,
    tokensBelow: raw[8] as number,
  }
}

export function sessionFacts(
  statements: FactStatements,
  id: SessionId,
  now: Millis,
  held: ReadonlySet<string> | null,
): SessionFacts {
  need(held, [`session:${id}`])
  const raw = statements.session.get(id) as RawArray | undefined
  if (raw === undefined) return { session: null, running: null, runnerAlive: false, queued: 0, next: null }
  const [running, next] = [sessionWidth + 2, sessionWidth + 2 + turnWidth]
  return {
    session: sessionAt(raw, 0),
    running: raw[running] === null ? null : turnAt(raw, running, statements.grants),
    runnerAlive: ((raw[sessionWidth] ?? 0) as number) > now,
    queued: raw[sessionWidth + 1] as number,
    next: raw[next] === null ? null : turnAt(raw, next, statements.grants),
  }
}

export function openFacts(
  statements: FactStatements,
  query: { call: CallId; callerTurn: TurnId; target: SessionId | null },
  now: Millis,
  held: ReadonlySet<string> | null,
): OpenFacts | null {
  const raw = statements.open.get(
    query.callerTurn,
    now - minuteMs,
    `turn_${query.call.slice(5)}`,
    query.call,
    now + minuteMs,
  ) as RawArray | undefined
  if (raw === undefined) return null
  const caller = { turn: turnAt(raw, 0, statements.grants), session: sessionAt(raw, turnWidth) }
  need(held, [`session:${caller.turn.session}`, `flow:${caller.turn.flow}`, `call:${query.call}`])
  const at = turnWidth + sessionWidth
  return {
    known: raw[at + 4] === 1,
    caller,
    openCalls: raw[at] as number,
    descendants: raw[at + 1] as number,
    callsLastMinute: raw[at + 2] as number,
    oldestCallAt: raw[at + 3] as number | null,
    target:
      query.target === null ? null : targetFacts(statements, query.target, caller.turn.session, now, held),
  }
}

/** `flow` is the sender's, or that of the message itself where no turn sends it. */
export function sendFacts(
  statements: FactStatements,
  query: { senderTurn: TurnId | null; flow: string; target: SessionId },
  now: Millis,
  held: ReadonlySet<string> | null,
): SendFacts {
  const sender = query.senderTurn === null ? null : turnFacts(statements, query.senderTurn, held)
  const flow = sender?.turn.flow ?? query.flow
  need(held, [`flow:${flow}`])
  const target = sessionFacts(statements, query.target, now, held)
  const raw = statements.send.get(
    flow,
    now - minuteMs,
    sender?.session.id ?? '',
    query.target,
    now + minuteMs,
  ) as unknown as RawArray
  const onPath =
    sender !== null &&
    sender.turn.grant.path.some((hop, index, path) => index < path.length - 1 && hop.session === query.target)
  return {
    sender,
    target,
    callback: sender !== null && (raw[4] === 1 || onPath),
    descendants: raw[0] as number,
    messagesLastMinute: raw[1] as number,
    oldestMessageAt: raw[2] as number | null,
    flowStartedAt: (raw[3] ?? now) as number,
  }
}

function targetFacts(
  statements: FactStatements,
  target: SessionId,
  caller: SessionId,
  now: Millis,
  held: ReadonlySet<string> | null,
): NonNullable<OpenFacts['target']> {
  need(held, [`session:${target}`])
  const raw = statements.target.get(target) as RawArray | undefined
  if (raw === undefined) return { session: null, queued: 0, waitPath: null }
  return {
    session: sessionAt(raw, 0),
    queued: raw[sessionWidth] as number,
    waitPath: waitPath(statements, target, caller, now, held),
  }
}

/**
 * R5 depends on every session that was looked at, also where no path was found: all their keys are needed.
 */
function waitPath(
  statements: FactStatements,
  from: SessionId,
  to: SessionId,
  now: Millis,
  held: ReadonlySet<string> | null,
): Hop[] | null {
  const rows = statements.reach.all(from, now) as {
    session: SessionId
    via: SessionId | null
    agent: string
  }[]
  need(
    held,
    rows.map((row): Key => `session:${row.session}`),
  )
  const first = new Map<SessionId, { via: SessionId | null; agent: string }>()
  for (const row of rows) if (!first.has(row.session)) first.set(row.session, row)
  if (!first.has(to)) return null
  const path: Hop[] = []
  for (let at: SessionId | null = to; at !== null; at = first.get(at)?.via ?? null)
    path.unshift({ session: at, agent: first.get(at)?.agent ?? '' })
  return path
}

export function belowFacts(
  statements: FactStatements,
  caller: SessionId,
  id: TurnId,
  held: ReadonlySet<string> | null,
): BelowRow[] {
  const rows = statements.below.all(caller, id) as unknown as RawArray[]
  const below = rows.map((raw) => ({
    turn: turnAt(raw, 0, statements.grants),
    sessionKind: raw[turnWidth] as BelowRow['sessionKind'],
  }))
  need(
    held,
    below.map(({ turn: row }): Key => `session:${row.session}`),
  )
  return below
}
