/** Facts for the rules: one statement each, and only within the keys that the transaction holds. */
import type { Event } from '../model/event.ts'
import type { Notices } from '../model/event-parts.ts'
import type { Activation, BelowRow, Hop, MessageFacts, OpenFacts } from '../model/facts.ts'
import type { QuestionFacts, SendFacts, SessionFacts, TurnFacts, TurnRow } from '../model/facts.ts'
import type { CallId, MessageId, Millis, SessionId, TurnId } from '../model/id.ts'
import { noticesShownMax } from '../model/limits.ts'
import type { ClientFacts } from '../model/presence.ts'
import { isWaiting, idSuffix } from '../model/mail.ts'
import { type Key, NeedsKeys, type Tx } from '../runtime/kernel/store-port.ts'
import type { FactStatements } from './fact-statements.ts'
import { acceptedWith, readCounts, readMessage, waitingIn } from './mail.ts'
import type { Live } from './live.ts'
import { type RawArray, sessionAt, sessionColumns, turnAt, turnColumns } from './rows.ts'

/** What a transaction reads with. `held` null is the global key. */
export type Reading = {
  readonly sql: FactStatements
  now: Millis
  held: ReadonlySet<string> | null
  /** Asked before the views, where they may be behind; `sql` then brings them up to date. */
  live?: Live
}

/** On both sides: after the wall clock was set back, what lies an hour ahead is not of the last minute. */
const minuteMs = 60_000

const turnWidth = turnColumns.length
const sessionWidth = sessionColumns.length

/** The facts that one work may read, and where its events wait until it returns. */
export function createTx(reading: Reading, events: Event[]): Tx {
  const needSession = (id: string): void => need(reading, [`session:${id}`])
  return {
    now: reading.now,
    turn: async (id) => turnFacts(reading, id),
    activation: async (id) => activationFacts(reading, id),
    session: async (id) => sessionFacts(reading, id),
    open: async (query) => openFacts(reading, query),
    send: async (query) => sendFacts(reading, query),
    question: async (id) => questionFacts(reading, id),
    async permitted(session, tool) {
      needSession(session)
      return reading.sql.permission.get(session, tool) !== undefined
    },
    async seen(session, flow) {
      needSession(session)
      return reading.sql.seen.get(flow) !== undefined
    },
    notices: async (session) => noticeFacts(reading, session),
    async traced(session, key) {
      needSession(session)
      const raw = reading.sql.traced.get(session, key) as RawArray | undefined
      return raw === undefined ? null : raw[0] === 1 ? 'ended' : 'begun'
    },
    async announced(session, messages) {
      needSession(session)
      return new Set(messages.filter((id) => reading.sql.announced.get(session, id) !== undefined))
    },
    async client(session) {
      needSession(session)
      return readClient(reading.sql.client.get(session) as RawArray | undefined)
    },
    async woken(session, since) {
      needSession(session)
      return Number((reading.sql.woken.get(session, since) as RawArray | undefined)?.[0] ?? 0)
    },
    message: async (id) => messageFacts(reading, id),
    async inbox(id, ask) {
      needSession(id)
      return waitingIn(reading.sql.mail, id, ask)
    },
    async accepted(act) {
      const facts = acceptedWith(reading.sql.mail, act)
      if (facts !== null) need(reading, listGuards(facts.id, facts))
      return facts
    },
    async mail(id) {
      needSession(id)
      return readCounts(reading.sql.mail, id)
    },
    below: async (turn) => belowFacts(reading, turn),
    append: (...more) => {
      events.push(...more)
    },
  }
}

export const readClient = (raw: RawArray | undefined): ClientFacts => ({
  program: (raw?.[0] as string | undefined) ?? '',
  open: raw?.[1] === 1,
  quietUntil: (raw?.[2] as number | undefined) ?? 0,
})

/** Throws NeedsKeys for what is missing. */
export function need({ held }: Pick<Reading, 'held'>, keys: readonly Key[]): void {
  if (held === null) return
  for (const key of keys) if (!held.has(key)) throw new NeedsKeys(keys.filter((one) => !held.has(one)))
}

/** The newest notices that no turn was given, oldest first; null where there are none. */
function noticeFacts(reading: Reading, session: SessionId): Notices | null {
  need(reading, [`session:${session}`])
  if (reading.live?.hasSession(session) === true) return null
  const rows = reading.sql.notices.all(session, noticesShownMax) as unknown as RawArray[]
  const [newest] = rows
  if (newest === undefined) return null
  const texts = rows.toReversed().map(([, about, text]) => ({ about: about as string, text: text as string }))
  return { upTo: newest[0] as number, texts }
}

function questionFacts(reading: Reading, id: string): QuestionFacts | null {
  const raw = reading.sql.question.get(id) as RawArray | undefined
  if (raw === undefined) return null
  need(reading, [`session:${raw[1] as string}`])
  return {
    turn: raw[0] as TurnId,
    session: raw[1] as SessionId,
    answer: raw[2] as QuestionFacts['answer'],
    by: raw[3] as string | null,
    live: raw[4] === 'running',
  }
}

function messageFacts(reading: Reading, id: MessageId): MessageFacts | null {
  const facts = readMessage(reading.sql.mail, id)
  need(reading, listGuards(id, facts))
  return facts
}

/**
 * A message is guarded by its own key, and while it waits by its receiver's: who takes the oldest from an inbox
 * has no other. While the turn that it opened is queued, it is guarded by both, because that turn starts under
 * the key of its session, and says how far the message is. A person who accepts what a turn sent lets the flow of that
 * turn go on for longer, so while such a message waits it is guarded by its flow's key, too.
 */
function listGuards(id: MessageId, facts: MessageFacts | null): Key[] {
  const own: Key = `message:${idSuffix(id)}`
  const receiver: Key = `session:${facts?.to ?? ''}`
  if (facts !== null && isWaiting(facts)) {
    const { sent } = facts
    return sent === null || sent.senderTurn === null ? [receiver] : [receiver, `flow:${sent.flow}`]
  }
  return facts?.status === 'queued' ? [own, receiver] : [own]
}

export function turnFacts(reading: Reading, id: TurnId): TurnFacts | null {
  const known = reading.live?.turn(id)
  if (known !== undefined) {
    need(reading, [`session:${known.turn.session}`])
    return known
  }
  const raw = reading.sql.turn.get(id) as RawArray | undefined
  if (raw === undefined) return null
  const turn = turnAt(raw, 0, reading.sql.grants)
  need(reading, [`session:${turn.session}`])
  return { turn, session: sessionAt(raw, turnWidth) }
}

function activationFacts(reading: Reading, id: TurnId): Activation | null {
  const known = reading.live?.activation(id)
  if (known !== undefined) {
    const { session, ...activation } = known
    need(reading, [`session:${session}`])
    return activation
  }
  const raw = reading.sql.activation.get(id) as RawArray | undefined
  if (raw === undefined) return null
  need(reading, [`session:${raw[0] as string}`])
  return {
    state: raw[1] as Activation['state'],
    node: raw[2] as Activation['node'],
    epoch: raw[3] as number,
    stopping: raw[4] as Activation['stopping'],
    pending: raw[5] === 1,
    outcome: raw[6] as Activation['outcome'],
    tokensUsed: raw[7] as number,
    tokensBelow: raw[8] as number,
    nanoUsdBelow: raw[9] as number,
  }
}

export function sessionFacts(reading: Reading, id: SessionId): SessionFacts {
  need(reading, [`session:${id}`])
  const known = reading.live?.session(id, reading.now)
  if (known !== undefined) return known
  const { sql, now } = reading
  const raw = sql.session.get(id) as RawArray | undefined
  if (raw === undefined) return { session: null, running: null, runnerAlive: false, queued: 0, next: null }
  const [running, next] = [sessionWidth + 2, sessionWidth + 2 + turnWidth]
  return {
    session: sessionAt(raw, 0),
    running: raw[running] === null ? null : turnAt(raw, running, sql.grants),
    runnerAlive: ((raw[sessionWidth] ?? 0) as number) > now,
    queued: raw[sessionWidth + 1] as number,
    next: raw[next] === null ? null : turnAt(raw, next, sql.grants),
  }
}

function openFacts(
  reading: Reading,
  { call, callerTurn, target }: Parameters<Tx['open']>[0],
): OpenFacts | null {
  const known = target === null ? reading.live?.open(callerTurn, reading.now) : undefined
  if (known !== undefined) {
    needCaller(reading, known.caller.turn, call)
    return { ...known, target: null }
  }
  const { sql, now } = reading
  const raw = sql.open.get(callerTurn, now - minuteMs, now + minuteMs) as RawArray | undefined
  if (raw === undefined) return null
  const caller = { turn: turnAt(raw, 0, sql.grants), session: sessionAt(raw, turnWidth) }
  needCaller(reading, caller.turn, call)
  const at = turnWidth + sessionWidth
  return {
    caller,
    openCalls: raw[at] as number,
    descendants: raw[at + 1] as number,
    callsLastMinute: raw[at + 2] as number,
    oldestCallAt: raw[at + 3] as number | null,
    target: target === null ? null : targetFacts(reading, target, caller.turn.session),
  }
}

const needCaller = (reading: Reading, { session, flow }: TurnRow, call: CallId): void =>
  need(reading, [`session:${session}`, `flow:${flow}`, `call:${call}`])

/** `flow` is the sender's, or that of the message itself where no turn sends it. */
function sendFacts(
  reading: Reading,
  { senderTurn, flow: own, target: id }: Parameters<Tx['send']>[0],
): SendFacts {
  const { sql, now } = reading
  const sender = senderTurn === null ? null : turnFacts(reading, senderTurn)
  const flow = sender?.turn.flow ?? own
  need(reading, [`flow:${flow}`])
  const target = sessionFacts(reading, id)
  const from = sender?.session.id ?? ''
  const raw = sql.send.get(flow, now - minuteMs, now + minuteMs, from, id) as unknown as RawArray
  const onPath = sender?.turn.grant.path.slice(0, -1).some((hop) => hop.session === id) ?? false
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
  reading: Reading,
  target: SessionId,
  caller: SessionId,
): NonNullable<OpenFacts['target']> {
  need(reading, [`session:${target}`])
  const raw = reading.sql.target.get(target) as RawArray | undefined
  if (raw === undefined) return { session: null, queued: 0, waitPath: null }
  const waitPath = findWaitPath(reading, target, caller)
  return { session: sessionAt(raw, 0), queued: raw[sessionWidth] as number, waitPath }
}

type Reached = { session: SessionId; via: SessionId | null; agent: string }

/** R5 depends on every session that was looked at, also where no path was found: all keys are needed. */
function findWaitPath(reading: Reading, from: SessionId, to: SessionId): Hop[] | null {
  const rows = reading.sql.reach.all(from) as Reached[]
  const keys = rows.map((row): Key => `session:${row.session}`)
  need(reading, keys)
  const first = new Map<SessionId, Reached>()
  for (const row of rows) if (!first.has(row.session)) first.set(row.session, row)
  if (!first.has(to)) return null
  const path: Hop[] = []
  for (let at: SessionId | null = to; at !== null; at = first.get(at)?.via ?? null)
    path.unshift({ session: at, agent: first.get(at)?.agent ?? '' })
  return path
}

function belowFacts(reading: Reading, id: TurnId): BelowRow[] {
  const caller = turnFacts(reading, id)?.turn.session
  if (caller === undefined || reading.live?.isAlone(id) === true) return []
  const rows = reading.sql.below.all(caller, id) as unknown as RawArray[]
  const below = rows.map((raw) => ({
    turn: turnAt(raw, 0, reading.sql.grants),
    sessionKind: raw[turnWidth] as BelowRow['sessionKind'],
  }))
  const keys = below.map(({ turn }): Key => `session:${turn.session}`)
  need(reading, keys)
  return below
}
