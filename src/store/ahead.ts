/**
 * What becomes of turns that open in a batch of transactions, as far as the batch says it: their rows are then
 * written once, as they are in the end, and not at each step on the way.
 */
import type { EventOf } from '../model/event.ts'
import { toTurnId } from '../model/id.ts'
import type { Transaction } from './apply.ts'
import type { EndedRequest } from './apply-requests.ts'

/** `seq` is the number of the event. */
export type Fate = {
  started?: EventOf<'turn.started'>
  call?: { event: EventOf<'call.ended'>; seq: number }
  ended?: { event: EventOf<'turn.ended'>; seq: number }
  /** It is a client's request: what it asked for says how it ended. */
  request?: EndedRequest
}
export type Ahead = ReadonlyMap<string, Fate>

export const nothingAhead: Ahead = new Map()

/** Only of turns that nothing is held for: what is held is settled from row to row. */
export function lookAhead(rows: readonly Transaction[]): Ahead {
  const fates = new Map<string, Fate>()
  for (const { seq: last, events } of rows) {
    let seq = last - events.length
    for (const event of events) {
      seq += 1
      if (event.type === 'message.sent' && event.turn !== null && event.senderTurn === null)
        fates.set(event.turn, {})
      else if (event.type === 'call.opened') {
        const { tokensMax, nanoUsdMax } = event.grant
        if (tokensMax === null && nanoUsdMax === undefined) fates.set(toTurnId(event.call), {})
      } else if (event.type === 'call.ended') change(fates, toTurnId(event.call), { call: { event, seq } })
      else if (event.type === 'turn.started') change(fates, event.turn, { started: event })
      else if (event.type === 'turn.ended') change(fates, event.turn, { ended: { event, seq } })
    }
  }
  return fates
}

function change(fates: Map<string, Fate>, turn: string | null, more: Fate): void {
  const fate = fates.get(turn ?? '')
  if (fate !== undefined) Object.assign(fate, more)
}

type Value = string | number | null

/** The columns of a turn that its fate decides, in the order of `fateColumns`. */
export function describeFate({ started, call, ended }: Fate, deadline: number, isCall: boolean): Value[] {
  const { nanoUsd = 0, plan = 0, unpriced = null } = ended?.event.spent ?? {}
  const isOver = ended !== undefined || (call !== undefined && started === undefined)
  return [
    isOver ? 'ended' : started === undefined ? 'queued' : 'running',
    isOver ? 0 : 1,
    started?.node ?? null,
    started?.epoch ?? 0,
    started?.deadline ?? deadline,
    isCall && call === undefined ? 1 : 0,
    call?.event.outcome ?? null,
    call?.seq ?? ended?.seq ?? null,
    ended?.event.tokensUsed ?? 0,
    nanoUsd,
    plan,
    unpriced,
  ]
}

export const fateColumns =
  'state, live, node, epoch, deadline, pending, outcome, ended_seq, tokens_used, spent, spent_plan, unpriced'

const pairsAtOnce = 16

type Statement = { run(...values: Value[]): unknown }

/** Rows of two columns, many with one statement: most of what a short one costs is calling for it. */
export function insertPairs(one: Statement, many: Statement, pairs: readonly Value[]): void {
  let at = 0
  for (; at + 2 * pairsAtOnce <= pairs.length; at += 2 * pairsAtOnce)
    many.run(...pairs.slice(at, at + 2 * pairsAtOnce))
  for (; at < pairs.length; at += 2) one.run(pairs[at] as Value, pairs[at + 1] as Value)
}

export const manyPairs = Array.from({ length: pairsAtOnce }, () => '(?, ?)').join(', ')
