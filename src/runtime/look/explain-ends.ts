/** Which ends were no answers, what brought each about, and what was refused. */
import type { EventOf, StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { toCallId, toTurnId, type TurnId } from '../../model/id.ts'
import { opensTurn } from '../../model/opening.ts'
import { explain as explainRefusal } from '../../model/refusal.ts'
import type { ExplainedEnd, ExplainedRefusal } from '../../wire/explain.ts'

/** Causes that only say that something above ended. */
const fromAbove = /^the (call above it|turn that made it)/

export function listEnds(events: readonly StoredEvent[], turns: readonly TurnRow[]): ExplainedEnd[] {
  const rows = new Map(turns.map((row) => [row.id, row]))
  const ends = events.flatMap(({ at, event }): ExplainedEnd[] => {
    if (event.type === 'call.ended') {
      if (event.outcome === 'completed') return []
      const row = rows.get(toTurnId(event.call))
      const cause = event.cause === 'answered' ? (event.errors[0] ?? event.outcome) : event.cause
      return [
        {
          what: event.call,
          agent: row?.grant.agent ?? event.target,
          outcome: event.outcome,
          cause,
          at,
          because: chain(event, at, events, rows),
        },
      ]
    }
    const row = event.type === 'turn.ended' && event.turn !== null ? rows.get(event.turn) : undefined
    if (
      event.type !== 'turn.ended' ||
      row === undefined ||
      row.call !== null ||
      event.outcome === 'completed'
    )
      return []
    const stop = events.find(
      (stored) => stored.event.type === 'turn.cancelled' && stored.event.turn === row.id,
    )?.event
    return [
      {
        what: row.id,
        agent: row.grant.agent,
        outcome: event.outcome,
        cause: stop?.type === 'turn.cancelled' ? stop.cause : (event.error ?? event.outcome),
        at,
        because: [],
      },
    ]
  })
  return ends.toSorted((a, b) => a.at - b.at)
}

/** From an end up to the one that brought it about, which was recorded at the same moment. */
function chain(
  ended: EventOf<'call.ended'>,
  at: number,
  events: readonly StoredEvent[],
  rows: ReadonlyMap<TurnId, TurnRow>,
): string[] {
  const words: string[] = []
  for (let event = ended; fromAbove.test(event.cause);) {
    const above = event.turn
    if (above === null) break
    const agent = rows.get(above)?.grant.agent ?? above
    const together = (stored: StoredEvent): boolean => stored.at === at && stored.event.type !== 'call.opened'
    const call = events.find(
      (stored) =>
        together(stored) && stored.event.type === 'call.ended' && stored.event.call === toCallId(above),
    )?.event
    if (call?.type === 'call.ended') {
      words.push(`${call.call} to ${agent} ended (${call.outcome}: ${call.cause})`)
      event = call
      continue
    }
    const turn = events.find(
      (stored) =>
        together(stored) &&
        (stored.event.type === 'turn.cancelled' || stored.event.type === 'turn.ended') &&
        stored.event.turn === above,
    )?.event
    if (turn?.type === 'turn.cancelled')
      words.push(`the turn of ${agent} was stopped (${turn.outcome}: ${turn.cause})`)
    else if (turn?.type === 'turn.ended') words.push(`the turn of ${agent} ended (${turn.outcome})`)
    break
  }
  return words
}

/** `turns` with the names that people read. */
export const listRefusals = (events: readonly StoredEvent[], turns: readonly TurnRow[]): ExplainedRefusal[] =>
  events.flatMap(({ at, event }) =>
    event.type === 'call.refused' ? [toRefusal(event, at, findCaller(events, turns, event))] : [],
  )

export const toRefusal = (
  { call, agent, tool, refusal }: EventOf<'call.refused'>,
  at: number,
  caller: string,
): ExplainedRefusal => ({ call, caller, agent, tool, code: refusal.code, why: explainRefusal(refusal), at })

function findCaller(
  events: readonly StoredEvent[],
  turns: readonly TurnRow[],
  refused: EventOf<'call.refused'>,
): string {
  const named = turns.find(({ id }) => id === refused.turn)
  if (named !== undefined) return named.grant.agent
  const opener = events.find(
    ({ event }) =>
      (opensTurn(event) && event.turn === refused.turn) ||
      (event.type === 'call.opened' && toTurnId(event.call) === refused.turn),
  )?.event
  return opener !== undefined && 'grant' in opener ? opener.grant.agent : refused.session
}
