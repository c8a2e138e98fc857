/** Folds the ends of calls and turns: what they held is given back, what they used is counted. */
import assert from 'node:assert/strict'
import type { EventOf } from '../model/event.ts'
import { toTurnId } from '../model/id.ts'
import type { Batch } from './apply.ts'
import { endLate, endRequest, isRoot } from './apply-requests.ts'
import { applyTurnCost } from './apply-steps.ts'
import { add } from './held.ts'
import type { Writes } from './write-statements.ts'

/** R7: a call that ends before its turn started gives its tokens back at once, others when it has stopped. */
export function endCall(writes: Writes, event: EventOf<'call.ended'>, seq: number, batch: Batch): void {
  const turn = toTurnId(event.call)
  // Written together with its turn's end, or with its opening.
  if (batch.turnsEnded.has(turn) || batch.ahead.has(turn)) return
  const row = writes.endCall.get(event.outcome, seq, turn) as
    | {
        held: number
        usd_held: number
        state: string
        epoch: number
        caller_turn: string
        background: number
      }
    | undefined
  assert(row !== undefined, `${event.call} is not known`)
  if (row.background === 1) endLate(writes.requests, row.caller_turn)
  if (row.state !== 'ended' || row.epoch !== 0) return
  if (row.held > 0) add(batch.tokens, row.caller_turn, -row.held, true)
  if (row.usd_held > 0) add(batch.money, row.caller_turn, -row.usd_held, true)
}

export function endTurn(writes: Writes, event: EventOf<'turn.ended'>, seq: number, batch: Batch): void {
  assert(event.turn !== null, 'a turn ends itself')
  applyTurnCost(writes.steps, event, batch.at)
  batch.costs.push(event)
  // Nothing was held for one that is written as a whole, and it waits for nobody.
  const fate = batch.ahead.get(event.turn)
  if (fate === undefined) settleTurn(writes, { ...event, turn: event.turn }, seq, batch)
  else if (fate.request !== undefined) endRequest(writes.requests, fate.request, event)
  if (event.entry === null) return
  const { session, turn } = event
  const { n, asked, askedTokens, from, startedAt, answered, answeredTokens } = event.entry
  const hasSteps = event.toolCalls.length > 0 ? 1 : 0
  const question = [session, n, 'user', startedAt, asked, askedTokens, from, turn, 0]
  const answer = [session, n + 1, 'assistant', batch.at, answered, answeredTokens, null, turn, hasSteps]
  writes.entries.run(...question, ...answer)
  writes.indexEntries(session, n + 1)
}

function settleTurn(
  writes: Writes,
  event: EventOf<'turn.ended'> & { turn: string },
  seq: number,
  batch: Batch,
): void {
  const call = batch.ended.get(event.turn)
  const { nanoUsd = 0, plan = 0, unpriced = null } = event.spent ?? {}
  const row = (call === undefined ? writes.endTurn : writes.endBoth).get(
    event.tokensUsed,
    call?.seq ?? seq,
    event.turn,
    call?.event.outcome ?? null,
    nanoUsd,
    plan,
    unpriced,
  ) as Record<'held' | 'tokens_below' | 'usd_held' | 'usd_below' | 'background' | 'opened_seq', number> & {
    caller_turn: string | null
    flow: string
  }
  assert(row !== undefined, `${event.turn} is not known`)
  if (isRoot(event.turn, row.flow))
    endRequest(writes.requests, { seq: row.opened_seq, flow: row.flow, turn: event.turn }, event)
  if (row.caller_turn !== null && row.background === 1 && call !== undefined)
    endLate(writes.requests, row.caller_turn)
  if (row.caller_turn !== null && row.held > 0)
    add(batch.tokens, row.caller_turn, event.tokensUsed + row.tokens_below - row.held, true)
  if (row.caller_turn !== null && row.usd_held > 0)
    add(batch.money, row.caller_turn, nanoUsd + row.usd_below - row.usd_held, true)
  batch.anyWait ??= writes.anyWait.get() !== undefined
  if (batch.anyWait) writes.endWaits.run(event.session, event.turn)
}
