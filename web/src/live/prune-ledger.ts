/** R11: a page that stays open for days keeps only the newest facts. */
import type { Ledger } from './ledger.ts'

const turnsMax = 20_000
const callsMax = 20_000
const flowsMax = 5000
const sessionsMax = 5000
const mailMax = 5000

export function pruneLedger(ledger: Ledger): void {
  prune(
    ledger.turns,
    turnsMax,
    (turn) => turn.endedAt !== null,
    (turn) => ledger.sessions.get(turn.session)?.turnIds.delete(turn.id),
  )
  prune(ledger.calls, callsMax, (call) => call.endedAt !== null)
  prune(ledger.flows, flowsMax, (flow) =>
    [...flow.turns].every((id) => !ledger.turns.has(id) || ledger.turns.get(id)?.endedAt !== null),
  )
  prune(
    ledger.sessions,
    sessionsMax,
    (session) => session.kind === 'ephemeral' && session.liveTurns.size === 0,
  )
  prune(
    ledger.mail,
    mailMax,
    ({ status }) => status !== 'draft' && status !== 'buffered' && status !== 'ready',
  )
  if (ledger.answered.size > callsMax) ledger.answered.clear()
}

/** Maps keep the order of insertion, so the first entries are the oldest. */
function prune<T>(
  map: Map<string, T>,
  max: number,
  mayGo: (one: T) => boolean,
  gone: (one: T) => void = () => undefined,
): void {
  let over = map.size - max
  if (over <= 0) return
  for (const [id, one] of map) {
    if (over <= 0) return
    if (!mayGo(one)) continue
    map.delete(id)
    gone(one)
    over -= 1
  }
}
