/**
 * Folds events into the views, in the transaction that appends them (R10). Each row is guarded by the key of
 * the session it belongs to.
 */
import assert from 'node:assert/strict'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Event, EventOf, OpeningMessage } from '../model/event.ts'
import { cancelKey, toTurnId, type Millis } from '../model/id.ts'
import { noticePointsMax, noticesKeptMax } from '../model/limits.ts'
import { preview } from '../model/text.ts'
import { applyMail, prepareMailWrites } from './apply-mail.ts'
import { indexEntries } from './keyword-index.ts'

/** Statements by name, prepared once. What is often decided together is written together. */
export function prepareWrites(db: DatabaseSync) {
  return {
    session: db.prepare(
      'insert into sessions (id, agent, kind, parent, cwd, title, created_at, model, flow) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    archive: db.prepare('update sessions set archived = ?2 where id = ?1'),
    revive: db.prepare(`update sessions set archived = null where id = ? and archived = 'idle'`),
    adopt: db.prepare('update sessions set parent = ?2 where id = ?1'),
    rename: db.prepare('update sessions set title = ?2 where id = ?1'),
    fork: db.prepare('update sessions set fork_of = ?2, fork_n = ?3 where id = ?1'),
    agent: db.prepare(
      'insert into agents (id, title, seq, created_at) values (?, ?, ?, ?) on conflict do update set title = excluded.title, seq = excluded.seq, deleted = 0',
    ),
    deleteAgent: db.prepare('update agents set deleted = 1 where id = ?'),
    ask: db.prepare('insert into questions (id, turn, seq, deadline) values (?, ?, ?, ?)'),
    answer: db.prepare('update questions set answer = ?2, answered_by = ?3 where id = ?1'),
    message: db.prepare(
      `insert into turns (id, session, flow, state, live, opened_at, opened_seq, node, epoch, deadline) values (?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`,
    ),
    call: db.prepare(`insert into turns (id, session, flow, state, live, caller, caller_turn, pending, background, call_deadline, key, opened_at, opened_seq, made, held, node, epoch, deadline)
      values (?, ?, ?, ?, 1, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    refuse: db.prepare(
      'insert into refused (call, caller, caller_turn, flow, seq) values (?, ?, ?, (select flow from turns where id = ?3), ?4)',
    ),
    start: db.prepare(`update turns set state = 'running', node = ?, epoch = ?, deadline = ? where id = ?`),
    claim: db.prepare('update turns set node = ?, epoch = ? where id = ?'),
    cancel: db.prepare('update turns set stopping = ? where id = ?'),
    endCall: db.prepare(`update turns set pending = 0, outcome = ?1, ended_seq = ?2,
      live = case state when 'running' then 1 else 0 end, state = case state when 'queued' then 'ended' else state end where id = ?3 returning held, state, epoch, caller_turn`),
    endTurn: db.prepare(
      `update turns set state = 'ended', live = 0, tokens_used = ?1, ended_seq = coalesce(ended_seq, ?2) where id = ?3 returning held, tokens_below, caller_turn`,
    ),
    endBoth: db.prepare(
      `update turns set state = 'ended', live = 0, tokens_used = ?1, ended_seq = ?2, pending = 0, outcome = ?4 where id = ?3 returning held, tokens_below, caller_turn`,
    ),
    tokens: db.prepare(
      'update turns set tokens_below = tokens_below + ? where id = ? returning state, held, caller_turn',
    ),
    entry: db.prepare(
      'insert into entries (session, n, role, at, text, tokens, sender, turn, has_steps) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    summary: db.prepare('update sessions set summary = ?, summary_entries = ? where id = ?'),
    wait: db.prepare(
      'insert into waits (waiter, target, turn, until) values (?, ?, ?, ?) on conflict do update set until = max(until, excluded.until)',
    ),
    rested: db.prepare('delete from waits where waiter = ? and turn = ?'),
    waited: db.prepare('delete from waits where waiter = ? and target = ? and turn = ?'),
    traced: db.prepare(
      'insert into traced (session, key, ended) values (?, ?, ?) on conflict do update set ended = max(ended, excluded.ended)',
    ),
    notice: db.prepare('insert into notices (session, seq, about, text) values (?, ?, ?, ?)'),
    noticed: db.prepare('delete from notices where session = ? and seq <= ?'),
    noticesMax: db.prepare(
      'delete from notices where session = ?1 and seq <= (select seq from notices where session = ?1 order by seq desc limit 1 offset ?2)',
    ),
    indexEntries: (session: string, count: number) => indexEntries(db, session, count),
    mail: prepareMailWrites(db),
  } satisfies Record<
    string,
    StatementSync | ((session: string, count: number) => void) | Record<string, StatementSync>
  >
}
export type Writes = ReturnType<typeof prepareWrites>

/** What the other events of the same transaction say, so that one row is written once. */
type Batch = {
  at: Millis
  made: Set<string>
  started: Map<string, EventOf<'turn.started'>>
  ended: Map<string, { event: EventOf<'call.ended'>; seq: number }>
  turnsEnded: Set<string>
  /**
   * Only calls with a budget hold tokens; without one the log says who used what, and no row has to change.
   */
  tokens: Map<string, { below: number; settles: boolean }>
}

/** Applies one transaction's events. */
export function applyAll(writes: Writes, events: readonly { event: Event; seq: number }[], at: Millis): void {
  const batch: Batch = {
    at,
    made: new Set(),
    started: new Map(),
    ended: new Map(),
    turnsEnded: new Set(),
    tokens: new Map(),
  }
  for (const { event, seq } of events) {
    if (event.type === 'session.created' && event.kind === 'ephemeral') batch.made.add(event.session)
    else if (event.type === 'turn.started' && event.turn !== null) batch.started.set(event.turn, event)
    else if (event.type === 'call.ended') batch.ended.set(toTurnId(event.call), { event, seq })
    else if (event.type === 'turn.ended' && event.turn !== null) batch.turnsEnded.add(event.turn)
  }
  for (const { event, seq } of events) applyOne(writes, batch, event, seq)
  for (const [turn, { below, settles }] of batch.tokens)
    if (below !== 0) addTokens(writes, turn, below, settles)
}

/**
 * What a stopped turn used instead of what it held. A caller that has ended already passed its own hold on as
 * used, so the correction goes on to its own caller; one without a budget passed nothing on.
 */
function addTokens(writes: Writes, first: string, below: number, settles: boolean): void {
  for (let turn: string | null = first; turn !== null;) {
    const row = writes.tokens.get(below, turn) as
      | { state: string; held: number; caller_turn: string | null }
      | undefined
    turn = settles && row?.state === 'ended' && row.held > 0 ? row.caller_turn : null
  }
}

function add({ tokens }: Batch, turn: string, below: number, settles = false): void {
  const delta = tokens.get(turn)
  if (delta === undefined) tokens.set(turn, { below, settles })
  else {
    delta.below += below
    delta.settles ||= settles
  }
}

function applyOne(writes: Writes, batch: Batch, event: Event, seq: number): void {
  switch (event.type) {
    case 'session.created':
      writes.session.run(
        event.session,
        event.agent,
        event.kind,
        event.parent,
        event.cwd,
        event.title,
        batch.at,
        event.model,
        event.flow,
      )
      return
    case 'session.archived':
      writes.archive.run(event.session, event.cause)
      return
    case 'session.adopted':
      writes.adopt.run(event.session, event.parent)
      return
    case 'session.renamed':
      writes.rename.run(event.session, event.title)
      return
    case 'agent.created':
      writes.agent.run(event.agent, event.definition.title, seq, batch.at)
      return
    case 'agent.deleted':
      writes.deleteAgent.run(event.agent)
      return
    case 'question.asked':
      writes.ask.run(event.question, event.turn, seq, Math.ceil(event.deadline))
      return
    case 'question.answered':
      writes.answer.run(event.question, event.answer, event.by)
      return
    case 'session.cancelled':
      writes.traced.run(event.session, cancelKey(event.act), 1)
      return
    case 'session.claimed':
      writes.claim.run(event.node, event.epoch, event.turn)
      return
    case 'session.forked':
      writes.fork.run(event.session, event.from, event.entries)
      return
    case 'message.sent':
      sendMessage(writes, batch, event, seq)
      // R7: what a message may use is taken from its sender for good: nobody waits for it to give anything
      // back.
      if (event.senderTurn !== null && event.grant.tokensMax !== null)
        add(batch, event.senderTurn, event.grant.tokensMax)
      return applyMail(writes.mail, event, batch.at, seq)
    case 'message.delivered':
      if (event.opens) sendMessage(writes, batch, event, seq)
      return applyMail(writes.mail, event, batch.at, seq)
    case 'message.drafted':
    case 'message.revised':
    case 'message.accepted':
    case 'message.answered':
    case 'message.declined':
    case 'message.died':
      return applyMail(writes.mail, event, batch.at, seq)
    case 'turn.started':
      if (event.turn !== null && batch.started.has(event.turn))
        writes.start.run(event.node, event.epoch, event.deadline, event.turn)
      return
    case 'turn.cancelled':
      writes.cancel.run(event.outcome, event.turn)
      return
    // The node's lease says who may take it; this only says why it was left.
    case 'turn.suspended':
      return
    case 'turn.ended':
      return endTurn(writes, batch, event, seq)
    case 'step.started':
      if (event.turn === null) writes.traced.run(event.session, event.key, 0)
      return
    case 'step.ended':
      return endStep(writes, event)
    case 'call.opened':
      return openCall(writes, batch, event, seq)
    case 'call.refused':
      writes.refuse.run(event.call, event.session, event.turn, seq)
      return
    case 'call.ended':
      return endCall(writes, batch, event, seq)
    case 'wait.started':
      writes.wait.run(event.session, event.target, event.turn, Math.ceil(event.until))
      return
    // R5: written by the last of a turn's waits for that session.
    case 'wait.ended':
      writes.waited.run(event.session, event.target, event.turn)
      return
    case 'notice.raised':
      return raiseNotice(writes, event, seq)
  }
}

/** A turn that starts in the transaction that opens it is written as running at once. */
function startOf(
  batch: Batch,
  turn: string,
): { state: string; node: string | null; epoch: number; deadline: number } {
  const started = batch.started.get(turn)
  if (started === undefined) return { state: 'queued', node: null, epoch: 0, deadline: 0 }
  batch.started.delete(turn)
  return { state: 'running', node: started.node, epoch: started.epoch, deadline: started.deadline }
}

/** R11: of those that nobody was given, the newest are kept. */
function raiseNotice(writes: Writes, { session, about, text }: EventOf<'notice.raised'>, seq: number): void {
  writes.notice.run(session, seq, about, preview(text, noticePointsMax))
  writes.noticesMax.run(session, noticesKeptMax)
}

/** A message brings back a session that was only put away; one that waits in the inbox has no turn yet. */
function sendMessage(writes: Writes, batch: Batch, event: OpeningMessage, seq: number): void {
  writes.revive.run(event.session)
  if (event.turn === null) return
  if (event.notices !== undefined) writes.noticed.run(event.session, event.notices.upTo)
  const { state, node, epoch, deadline } = startOf(batch, event.turn)
  writes.message.run(
    event.turn,
    event.session,
    event.flow,
    state,
    batch.at,
    seq,
    node,
    epoch,
    state === 'running' ? deadline : (event.deadline ?? 0),
  )
}

function openCall(writes: Writes, batch: Batch, event: EventOf<'call.opened'>, seq: number): void {
  assert(event.turn !== null, 'a call is made in a turn')
  const held = event.grant.tokensMax ?? 0
  const { state, node, epoch, deadline } = startOf(batch, toTurnId(event.call))
  writes.call.run(
    toTurnId(event.call),
    event.target,
    event.flow,
    state,
    event.session,
    event.turn,
    event.background ? 1 : 0,
    event.deadline,
    event.key,
    batch.at,
    seq,
    batch.made.has(event.target) ? 1 : 0,
    held,
    node,
    epoch,
    deadline,
  )
  if (event.notices !== undefined) writes.noticed.run(event.target, event.notices.upTo)
  if (held > 0) add(batch, event.turn, held)
  if (!batch.made.has(event.target)) writes.revive.run(event.target)
}

/**
 * A call that ends before its turn started gives its tokens back at once; one whose turn runs does so when
 * that has stopped (R7).
 */
function endCall(writes: Writes, batch: Batch, event: EventOf<'call.ended'>, seq: number): void {
  const turn = toTurnId(event.call)
  // Written together with its turn's end.
  if (batch.turnsEnded.has(turn)) return
  const row = writes.endCall.get(event.outcome, seq, turn) as
    | { held: number; state: string; epoch: number; caller_turn: string }
    | undefined
  assert(row !== undefined, `${event.call} is not known`)
  if (row.state === 'ended' && row.epoch === 0 && row.held > 0) add(batch, row.caller_turn, -row.held, true)
}

function endStep(writes: Writes, event: EventOf<'step.ended'>): void {
  if (event.turn === null) writes.traced.run(event.session, event.key, 1)
  if (event.kind === 'summary' && event.ok) {
    const output = event.output as { text: string; entries: number }
    writes.summary.run(output.text, output.entries, event.session)
  }
}

function endTurn(writes: Writes, batch: Batch, event: EventOf<'turn.ended'>, seq: number): void {
  assert(event.turn !== null, 'a turn ends itself')
  const call = batch.ended.get(event.turn)
  const row = (
    call === undefined
      ? writes.endTurn.get(event.tokensUsed, seq, event.turn)
      : writes.endBoth.get(event.tokensUsed, call.seq, event.turn, call.event.outcome)
  ) as { held: number; tokens_below: number; caller_turn: string | null } | undefined
  assert(row !== undefined, `${event.turn} is not known`)
  if (row.caller_turn !== null && row.held > 0)
    add(batch, row.caller_turn, event.tokensUsed + row.tokens_below - row.held, true)
  writes.rested.run(event.session, event.turn)
  if (event.entry === null) return
  const { n, asked, askedTokens, from, startedAt, answered, answeredTokens } = event.entry
  writes.entry.run(event.session, n, 'user', startedAt, asked, askedTokens, from, event.turn, 0)
  writes.entry.run(
    event.session,
    n + 1,
    'assistant',
    batch.at,
    answered,
    answeredTokens,
    null,
    event.turn,
    event.toolCalls.length > 0 ? 1 : 0,
  )
  writes.indexEntries(event.session, n + 1)
}
