/** What sessions have used, as it happens: each request counts for its session and for those that called for it. */
import type { Usage } from '../../../src/model/event.ts'
import { toUsd } from '../../../src/model/money.ts'
import type { CostView } from '../../../src/wire/scalars.ts'
import { ensureSession, type CallFact, type Ledger, type TurnFact } from './ledger.ts'
import type { Moment } from './moment.ts'

/** What was counted by the server before its list was read is in the list. */
export function countUsage(ledger: Ledger, turn: TurnFact, usage: Usage, { at, isNew }: Moment): void {
  for (const id of listSessions(ledger, turn)) {
    const session = ensureSession(ledger, id, at)
    if (!isNew && session.isListed) continue
    session.tokensUsed += usage.input + usage.output
    session.cost = addCost(session.cost, usage)
  }
}

/** R11: a chain of calls is not longer. */
const hopsMax = 20

function listSessions(ledger: Ledger, first: TurnFact): ReadonlySet<string> {
  const sessions = new Set<string>()
  for (let at: TurnFact | undefined = first, hops = 0; at !== undefined && hops < hopsMax; hops += 1) {
    sessions.add(at.session)
    const call: CallFact | undefined = at.call === null ? undefined : ledger.calls.get(at.call)
    if (call !== undefined) sessions.add(call.callerSession)
    at = call?.callerTurn == null ? undefined : ledger.turns.get(call.callerTurn)
  }
  return sessions
}

export const noCost: CostView = { usd: 0, planUsd: 0, unpricedTokens: 0 }

export function addCost(
  { usd, planUsd, unpricedTokens }: CostView,
  { input, output, cost }: Usage,
): CostView {
  const more = cost === undefined ? 0 : toUsd(cost.nanoUsd)
  const unpriced = unpricedTokens + (cost === undefined ? input + output : 0)
  const sum = (usd ?? 0) + more
  return {
    usd: sum === 0 && unpriced > 0 ? null : sum,
    planUsd: planUsd + (cost?.plan === true ? more : 0),
    unpricedTokens: unpriced,
  }
}

/** Unpriced stays unpriced, until something has a price. */
export function sumCosts(one: CostView, other: CostView): CostView {
  const unpricedTokens = one.unpricedTokens + other.unpricedTokens
  const usd = (one.usd ?? 0) + (other.usd ?? 0)
  return {
    usd: usd === 0 && unpricedTokens > 0 ? null : usd,
    planUsd: one.planUsd + other.planUsd,
    unpricedTokens,
  }
}
