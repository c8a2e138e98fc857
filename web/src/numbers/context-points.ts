/** The context of the newest calls, one point each. Sums over the whole log come from the server. */
import type { Ledger } from '../live/ledger.ts'

export type ContextPoint = { agent: string; passed: number; history: number }

const pointsMax = 1000

/** What each call was given, and how much its caller's conversation held at that time. */
export function collectContextPoints(ledger: Ledger, from: number): ContextPoint[] {
  const grown = new Map<string, { at: number; tokens: number }[]>()
  for (const { session, entryTokens, endedAt } of ledger.turns.values()) {
    if (entryTokens === 0 || endedAt === null) continue
    const known = grown.get(session)
    if (known === undefined) grown.set(session, [{ at: endedAt, tokens: entryTokens }])
    else known.push({ at: endedAt, tokens: entryTokens })
  }
  const calls = [...ledger.calls.values()]
    .filter(({ openedAt, contextTokens }) => openedAt >= from && contextTokens !== null)
    .slice(-pointsMax)
  return calls.map(({ agent, callerSession, openedAt, contextTokens }): ContextPoint => ({
    agent,
    passed: contextTokens ?? 0,
    history: (grown.get(callerSession) ?? []).reduce(
      (sum, { at, tokens }) => (at <= openedAt ? sum + tokens : sum),
      0,
    ),
  }))
}
