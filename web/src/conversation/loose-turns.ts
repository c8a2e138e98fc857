/** Turns that a conversation shows besides its entries: they run or wait, or ended without becoming an entry. */
import type { HistoryEntry } from '../../../src/wire/sessions.ts'
import type { Ledger, TurnFact } from '../live/ledger.ts'

/** So many of the newest entries the stream of events can be behind. */
const newestMax = 100

export function findLooseTurns(
  ledger: Ledger,
  session: string,
  history: { entry(n: number): Pick<HistoryEntry, 'at' | 'turn'> | undefined },
  total: number,
): TurnFact[] {
  const last = total === 0 ? undefined : history.entry(total)
  const written = new Set<string>()
  for (let n = total; n > Math.max(0, total - newestMax); n -= 1) {
    const entry = history.entry(n)
    if (entry !== undefined) written.add(entry.turn)
  }
  const turns: TurnFact[] = []
  for (const turnId of ledger.sessions.get(session)?.turnIds ?? []) {
    const turn = ledger.turns.get(turnId)
    if (turn === undefined || (turn.openedSeq === 0 && turn.text === '')) continue
    // The history may be ahead of the events: what stands in it has ended, even if nobody has said so yet.
    if (written.has(turn.id)) continue
    if (
      turn.endedAt === null ||
      (!turn.hasEntry && (total === 0 || (last !== undefined && turn.openedAt > last.at)))
    )
      turns.push(turn)
  }
  return turns.sort(
    (a, b) => (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || a.openedSeq - b.openedSeq,
  )
}
