/** Folds events into the views (R10), each under its session's key. */
import assert from 'node:assert/strict'
import type { Event, EventOf, EventType, OpeningMessage } from '../model/event.ts'
import { cancelKey, steerActKey, toTurnId, type Millis } from '../model/id.ts'
import { noticePointsMax, noticesKeptMax } from '../model/limits.ts'
import { preview } from '../model/text.ts'
import { describeFate, insertPairs, lookAhead, nothingAhead, type Ahead } from './ahead.ts'
import { applyMail, isOwnWords, type MailEvent } from './apply-mail.ts'
import { endCall, endTurn } from './apply-ends.ts'
import { askAgent, isRoot, openRequest } from './apply-requests.ts'
import { applySessionCosts, type Above } from './apply-session-costs.ts'
import { applyStep } from './apply-steps.ts'
import { applyWake, type WakeEvent } from './apply-wake.ts'
import { add, addBelow, type Held } from './held.ts'
import type { Writes } from './write-statements.ts'

/** What the other events of the same transaction say, so that one row is written once. */
export type Batch = {
  at: Millis
  created: Set<string>
  made: Set<string>
  started: Map<string, EventOf<'turn.started'>>
  ended: Map<string, { event: EventOf<'call.ended'>; seq: number }>
  turnsEnded: Set<string>
  /** What these have used is added to their sessions in the end. */
  costs: EventOf<'turn.ended'>[]
  /** Only calls with a budget hold tokens or money; without one, no row has to change. */
  tokens: Held
  money: Held
  /** What becomes of turns that open in this batch: written with their opening. */
  ahead: Ahead
  /** What was made in all of it, so that nothing of that is read back. */
  sessions: Map<string, EventOf<'session.created'>>
  turns: Map<string, Above>
  places: Map<string, number>
  /** Whether anybody waits for another, and whether there is any mail; null until somebody asks. */
  anyWait: boolean | null
  anyMail: boolean | null
}

/** `seq` is the number of the last of its events. */
export type Transaction = {
  seq: number
  at: Millis
  events: readonly Event[]
  sessions?: ReadonlySet<string>
}

const listSessions = ({ events, sessions }: Pick<Transaction, 'events' | 'sessions'>): ReadonlySet<string> =>
  sessions ?? new Set(events.map(({ session }) => session))

/** Applies one transaction's events. */
export function applyAll(
  writes: Writes,
  { seq, at }: Pick<Transaction, 'seq' | 'at'>,
  events: readonly Event[],
  sessions?: ReadonlySet<string>,
): void {
  const row = { seq, at, events, ...(sessions === undefined ? {} : { sessions }) }
  for (const session of listSessions(row)) writes.timeline.run(session, seq)
  const batch = createBatch(nothingAhead)
  foldRow(writes, row, batch)
  applySessionCosts(writes.costs, batch.costs, batch.turns)
}

/** The same for many that were decided one after another, with fewer statements. */
export function applyBatch(writes: Writes, rows: readonly Transaction[]): void {
  const batch = createBatch(lookAhead(rows))
  const timelines: (string | number)[] = []
  for (const row of rows) {
    for (const session of listSessions(row)) timelines.push(session, row.seq)
    foldRow(writes, row, batch)
    empty(batch)
  }
  applySessionCosts(writes.costs, batch.costs, batch.turns)
  insertPairs(writes.timeline, writes.timelines, timelines)
}

const createBatch = (ahead: Ahead): Batch => ({
  at: 0,
  created: new Set(),
  made: new Set(),
  started: new Map(),
  ended: new Map(),
  turnsEnded: new Set(),
  costs: [],
  tokens: new Map(),
  money: new Map(),
  ahead,
  sessions: new Map(),
  turns: new Map(),
  places: new Map(),
  anyWait: null,
  anyMail: null,
})

/** For the next transaction: most leave most of these empty, so new ones are not made for each. */
function empty({ created, made, started, ended, turnsEnded, tokens, money }: Batch): void {
  const parts = [created, made, started, ended, turnsEnded, tokens, money]
  for (const part of parts) if (part.size > 0) part.clear()
}

function foldRow(writes: Writes, { seq: last, at, events }: Transaction, batch: Batch): void {
  batch.at = at
  const first = last - events.length + 1
  let seq = first
  for (const event of events) {
    if (event.type === 'session.created') {
      batch.created.add(event.session)
      if (event.kind === 'ephemeral') batch.made.add(event.session)
    } else if (event.type === 'turn.started' && event.turn !== null) batch.started.set(event.turn, event)
    else if (event.type === 'call.ended') batch.ended.set(toTurnId(event.call), { event, seq })
    else if (event.type === 'turn.ended' && event.turn !== null) batch.turnsEnded.add(event.turn)
    seq += 1
  }
  seq = first
  for (const event of events) {
    const fold = folds[event.type] as Fold<EventType>
    fold(writes, event, seq, batch)
    seq += 1
  }
  if (batch.tokens.size > 0) settle(writes.tokens, batch.tokens)
  if (batch.money.size > 0) settle(writes.money, batch.money)
}

function settle(write: Writes['tokens'], budget: Held): void {
  for (const [turn, { below, settles }] of budget) if (below !== 0) addBelow(write, turn, below, settles)
}

type Fold<T extends EventType> = (writes: Writes, event: EventOf<T>, seq: number, batch: Batch) => unknown

function foldMail(writes: Writes, event: MailEvent, seq: number, batch: Batch): void {
  batch.anyMail ??= writes.mail.any.get() !== undefined
  if (batch.anyMail || !isOwnWords(event)) {
    applyMail(writes.mail, event, batch.at, seq)
    batch.anyMail = true
  }
}
const foldWake = (writes: Writes, event: WakeEvent, seq: number, { at }: Batch): void =>
  applyWake(writes.wake, event, seq, at)

/** What each event changes. */
const folds: { readonly [T in EventType]: Fold<T> } = {
  'session.created': (writes, event, _seq, { at, sessions }) => {
    const { session, agent, kind, parent, cwd, title, model, flow } = event
    sessions.set(session, event)
    writes.session.run(session, agent, kind, parent, cwd, title, at, model, flow)
  },
  'session.archived': (writes, event) => writes.archive.run(event.session, event.cause),
  'session.adopted': (writes, event) =>
    writes.adopt.run(event.session, event.parent, event.revives === true ? 1 : 0),
  'session.renamed': (writes, event) => writes.rename.run(event.session, event.title),
  'session.cancelled': (writes, event) => writes.traced.run(event.session, cancelKey(event.act), 1),
  'call.steered': (writes, { session, act }) => {
    if (act !== null) writes.traced.run(session, steerActKey(act), 1)
  },
  'session.claimed': (writes, event) => writes.claim.run(event.node, event.epoch, event.turn),
  'session.forked': (writes, event) => writes.fork.run(event.session, event.from, event.entries),
  'agent.created': (writes, { agent, definition }, seq, { at }) =>
    writes.agent.run(agent, definition.title, seq, at),
  'agent.deleted': (writes, event) => writes.deleteAgent.run(event.agent),
  'question.asked': (writes, { question, turn, deadline }, seq) =>
    writes.ask.run(question, turn, seq, Math.ceil(deadline)),
  'question.answered': (writes, { session, question, answer, by, scope, tool }) => {
    writes.answer.run(question, answer, by)
    if (scope === 'session' && answer === 'allow' && tool !== undefined)
      writes.permit.run(session, tool, question)
  },
  'flow.seen': (writes, { flow }, seq) => {
    writes.see.run(flow, seq)
    writes.seeRequest.run(flow)
  },
  'message.sent': (writes, event, seq, batch) => {
    sendMessage(writes, batch, event, seq)
    // R7: what a message may use is taken from its sender for good: nobody waits for it to give anything
    // back.
    if (event.senderTurn !== null) {
      if (event.grant.tokensMax !== null) add(batch.tokens, event.senderTurn, event.grant.tokensMax)
      add(batch.money, event.senderTurn, event.grant.nanoUsdMax ?? 0)
    }
    foldMail(writes, event, seq, batch)
  },
  'message.delivered': (writes, event, seq, batch) => {
    if (event.opens) sendMessage(writes, batch, event, seq)
    foldMail(writes, event, seq, batch)
  },
  'message.drafted': foldMail,
  'message.revised': foldMail,
  'message.released': foldMail,
  'message.accepted': foldMail,
  'message.answered': foldMail,
  'message.declined': foldMail,
  'message.died': foldMail,
  'turn.started': (writes, { turn, node, epoch, deadline }, _seq, { started, ahead }) => {
    if (turn !== null && started.has(turn) && !ahead.has(turn)) writes.start.run(node, epoch, deadline, turn)
  },
  'turn.cancelled': (writes, event) => writes.cancel.run(event.outcome, event.turn),
  'turn.suspended': () => undefined, // Only why it was left: the node's lease says who may take it.
  'turn.ended': endTurn,
  'step.started': (writes, { turn, session, key }) => {
    if (turn === null) writes.traced.run(session, key, 0)
  },
  'step.ended': (writes, event, _seq, { at }) => {
    if (event.turn === null) writes.traced.run(event.session, event.key, 1)
    applyStep(writes.steps, event, at)
  },
  'call.opened': openCall,
  'call.refused': (writes, event, seq) => writes.refuse.run(event.call, event.session, event.turn, seq),
  'call.ended': endCall,
  'wait.started': (writes, event, _seq, batch) => {
    batch.anyWait = true
    writes.wait.run(event.session, event.target, event.turn, Math.ceil(event.until))
  },
  // R5: written by the last of a turn's waits for that session.
  'wait.ended': (writes, event) => writes.endWait.run(event.session, event.target, event.turn),
  // R11: of those that no turn was given, the newest are kept.
  'notice.raised': (writes, { session, about, text }, seq) => {
    writes.notice.run(session, seq, about, preview(text, noticePointsMax))
    writes.dropNotices.run(session, noticesKeptMax)
  },
  'mail.announced': foldWake,
  'session.woken': foldWake,
  'session.opened': foldWake,
  'session.closed': foldWake,
  'session.quieted': foldWake,
}

type Start = { state: 'running' | 'queued'; node: string | null; epoch: number; until: number }

/** A turn that starts in the transaction that opens it is written as running at once. */
function takeStart(batch: Batch, turn: string, until = 0): Start {
  const started = batch.started.get(turn)
  if (started === undefined) return { state: 'queued', node: null, epoch: 0, until }
  batch.started.delete(turn)
  return { state: 'running', node: started.node, epoch: started.epoch, until: started.deadline }
}

/** A message brings back a session that was only put away; one that waits in the inbox has no turn yet. */
function sendMessage(writes: Writes, batch: Batch, event: OpeningMessage, seq: number): void {
  const { session, turn, flow, notices } = event
  if (!batch.created.has(session)) writes.revive.run(session)
  if (turn === null) return
  if (notices !== undefined) writes.giveNotices.run(session, notices.upTo)
  batch.turns.set(turn, { session, made: 0, above: null })
  const fate = batch.ahead.get(turn)
  if (fate === undefined) {
    const { state, node, epoch, until } = takeStart(batch, turn, event.deadline ?? 0)
    writes.message.run(turn, session, flow, state, 1, batch.at, seq, node, epoch, until)
  } else {
    const whole = describeFate(fate, event.deadline ?? 0, false)
    writes.messageWhole.run(turn, session, flow, batch.at, seq, ...whole)
  }
  if (!isRoot(turn, flow)) return
  const isFramed = openRequest(writes.requests, event, seq, fate?.ended?.event, batch)
  if (isFramed && fate !== undefined) fate.request = { seq, flow, turn }
}

function openCall(writes: Writes, event: EventOf<'call.opened'>, seq: number, batch: Batch): void {
  const { session, turn, target, flow, notices, deadline, key } = event
  assert(turn !== null, 'a call is made in a turn')
  const id = toTurnId(event.call)
  const held = event.grant.tokensMax ?? 0
  const money = event.grant.nanoUsdMax ?? 0
  const made = batch.made.has(target)
  const fate = batch.ahead.get(id)
  batch.turns.set(id, { session: target, made: made ? 1 : 0, above: turn })
  const background = event.background ? 1 : 0
  if (fate === undefined) {
    const { state, node, epoch, until } = takeStart(batch, id)
    const call = [session, turn, 1, background, deadline, key, made ? 1 : 0, held, money]
    writes.call.run(id, target, flow, state, 1, batch.at, seq, node, epoch, until, ...call)
  } else {
    const call = [session, turn, background, deadline, key, made ? 1 : 0]
    writes.callWhole.run(id, target, flow, batch.at, seq, ...call, ...describeFate(fate, 0, true))
  }
  askAgent(writes.requests, event)
  if (notices !== undefined) writes.giveNotices.run(target, notices.upTo)
  if (held > 0) add(batch.tokens, turn, held)
  if (money > 0) add(batch.money, turn, money)
  if (!made) writes.revive.run(target)
}
