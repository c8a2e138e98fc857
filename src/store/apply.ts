/** Folds events into the views, in the transaction that appends them (R10). Each row is guarded by the key of the session it belongs to. */
import assert from 'node:assert/strict'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Event, EventOf } from '../model/event.ts'
import { turnOf, type Millis } from '../model/id.ts'

type Deltas = Map<string, { used: number; below: number }>

export type Apply = (event: Event, seq: number, at: Millis) => void

/** Statements by name, prepared once. */
export function prepareWrites(db: DatabaseSync) {
  return {
    session: db.prepare('insert into sessions (id, agent, kind, parent, cwd, title, created_at) values (?, ?, ?, ?, ?, ?, ?)'),
    archive: db.prepare('update sessions set archived = 1 where id = ?'),
    message: db.prepare(`insert into turns (id, session, flow, state, live, granted, opened_at, opened_seq) values (?, ?, ?, 'queued', 1, ?, ?, ?)`),
    call: db.prepare(`insert into turns (id, session, flow, state, live, granted, caller, caller_turn, pending, background, call_deadline, key, opened_at, opened_seq, made, held)
      values (?, ?, ?, 'queued', 1, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)`),
    refuse: db.prepare('insert into refused (call, caller, caller_turn, flow, seq) values (?, ?, ?, (select flow from turns where id = ?3), ?4)'),
    start: db.prepare(`update turns set state = 'running', node = ?, epoch = ?, deadline = ? where id = ?`),
    claim: db.prepare('update turns set node = ?, epoch = ? where id = ?'),
    cancel: db.prepare('update turns set stopping = ? where id = ?'),
    endCall: db.prepare(`update turns set pending = 0, outcome = ?1, ended_seq = ?2,
      live = case state when 'running' then 1 else 0 end, state = case state when 'queued' then 'ended' else state end where id = ?3 returning held, state, epoch, caller_turn`),
    endTurn: db.prepare(`update turns set state = 'ended', live = 0, tokens_used = ?1, ended_seq = coalesce(ended_seq, ?2) where id = ?3 returning held, tokens_below, caller_turn`),
    parent: db.prepare('select state, caller_turn from turns where id = ?'),
    tokens: db.prepare('update turns set tokens_used = tokens_used + ?, tokens_below = tokens_below + ? where id = ?'),
    entry: db.prepare('insert into entries (session, n, role, at, text, tokens, sender, steps, step_tokens) values (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    entries: db.prepare('update sessions set entries = ? where id = ?'),
    summary: db.prepare('update sessions set summary = ?, summary_entries = ? where id = ?'),
    wait: db.prepare('insert into waits (waiter, target, turn, until) values (?, ?, ?, ?) on conflict do update set turn = excluded.turn, until = excluded.until'),
    rested: db.prepare('delete from waits where waiter = ?'),
    waited: db.prepare('delete from waits where waiter = ? and target = ?'),
  } satisfies Record<string, StatementSync>
}
export type Writes = ReturnType<typeof prepareWrites>

/** Applies one transaction's events. Token counts of a turn change once however many events change them. */
export function applyAll(writes: Writes, events: readonly { event: Event; seq: number }[], at: Millis): void {
  const deltas: Deltas = new Map()
  const made = new Set<string>()
  for (const { event } of events) if (event.type === 'session.created' && event.kind === 'ephemeral') made.add(event.session)
  for (const { event, seq } of events) applyOne(writes, event, seq, at, made, deltas)
  for (const [turn, { used, below }] of deltas) if (used !== 0 || below !== 0) writes.tokens.run(used, below, turn)
}

function add(deltas: Deltas, turn: string, used: number, below: number): void {
  const delta = deltas.get(turn)
  if (delta === undefined) deltas.set(turn, { used, below })
  else {
    delta.used += used
    delta.below += below
  }
}

/** What a stopped turn used instead of what it held. A caller that has ended already passed the hold on as used, so the correction goes on to its own caller. */
function settle(writes: Writes, deltas: Deltas, caller: string, below: number): void {
  for (let turn: string | null = caller; turn !== null; ) {
    add(deltas, turn, 0, below)
    const row = writes.parent.get(turn) as { state: string; caller_turn: string | null } | undefined
    turn = row?.state === 'ended' ? row.caller_turn : null
  }
}

function applyOne(writes: Writes, event: Event, seq: number, at: Millis, made: ReadonlySet<string>, deltas: Deltas): void {
  switch (event.type) {
    case 'session.created': writes.session.run(event.session, event.agent, event.kind, event.parent, event.cwd, event.title, at); return
    case 'session.archived': writes.archive.run(event.session); return
    case 'session.claimed': writes.claim.run(event.node, event.epoch, event.turn); return
    case 'message.sent': writes.message.run(event.turn, event.session, event.flow, JSON.stringify(event.grant), at, seq); return
    case 'turn.started': writes.start.run(event.node, event.epoch, event.deadline, event.turn); return
    case 'turn.cancelled': writes.cancel.run(event.outcome, event.turn); return
    case 'turn.ended': return endTurn(writes, event, seq, deltas)
    case 'step.started': return
    case 'step.ended': return endStep(writes, event, deltas)
    case 'call.opened': return openCall(writes, event, seq, at, made, deltas)
    case 'call.refused': writes.refuse.run(event.call, event.session, event.turn, seq); return
    case 'call.ended': return endCall(writes, event, seq, deltas)
    case 'wait.started': writes.wait.run(event.session, event.target, event.turn, event.until); return
    case 'wait.ended': writes.waited.run(event.session, event.target); return
    case 'notice.raised': return
  }
}

function openCall(writes: Writes, event: EventOf<'call.opened'>, seq: number, at: Millis, made: ReadonlySet<string>, deltas: Deltas): void {
  assert(event.turn !== null, 'a call is made in a turn')
  const held = event.grant.tokensMax ?? 0
  writes.call.run(
    turnOf(event.call), event.target, event.flow, JSON.stringify(event.grant), event.session, event.turn, event.background ? 1 : 0, event.deadline, event.key, at, seq, made.has(event.target) ? 1 : 0, held,
  )
  add(deltas, event.turn, 0, held)
}

/** A call that ends before its turn started gives its tokens back at once; one whose turn runs does so when that has stopped (R7). */
function endCall(writes: Writes, event: EventOf<'call.ended'>, seq: number, deltas: Deltas): void {
  const turn = turnOf(event.call)
  const row = writes.endCall.get(event.outcome, seq, turn) as { held: number; state: string; epoch: number; caller_turn: string } | undefined
  assert(row !== undefined, `${event.call} is not known`)
  if (row.state === 'ended' && row.epoch === 0) settle(writes, deltas, row.caller_turn, -row.held)
}

function endStep(writes: Writes, event: EventOf<'step.ended'>, deltas: Deltas): void {
  assert(event.turn !== null, 'a step is part of a turn')
  if (event.usage !== null) add(deltas, event.turn, event.usage.input + event.usage.output, 0)
  if (event.kind === 'summary' && event.ok) {
    const output = event.output as { text: string; entries: number }
    writes.summary.run(output.text, output.entries, event.session)
  }
}

function endTurn(writes: Writes, event: EventOf<'turn.ended'>, seq: number, deltas: Deltas): void {
  assert(event.turn !== null, 'a turn ends itself')
  const own = deltas.get(event.turn)
  if (own !== undefined) own.used = 0
  const row = writes.endTurn.get(event.tokensUsed, seq, event.turn) as { held: number; tokens_below: number; caller_turn: string | null } | undefined
  assert(row !== undefined, `${event.turn} is not known`)
  if (row.caller_turn !== null) settle(writes, deltas, row.caller_turn, event.tokensUsed + row.tokens_below - row.held)
  writes.rested.run(event.session)
  for (const entry of event.entries) {
    writes.entry.run(event.session, entry.n, entry.role, entry.at, entry.text, entry.tokens, entry.from, entry.steps, entry.stepTokens)
  }
  const last = event.entries.at(-1)
  if (last !== undefined) writes.entries.run(last.n, event.session)
}
