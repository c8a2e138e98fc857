/** Which transactions the views may follow later: those that the memory has all of, and that cannot fail there. */
import type { Event, EventOf } from '../model/event.ts'
import { toTurnId, type SessionId, type TurnId } from '../model/id.ts'

/** What is in memory. */
type Known = {
  hasTurn(id: TurnId): boolean
  hasSession(id: SessionId): boolean
  countEntries(id: SessionId): number | undefined
}

/**
 * Whether these events change only what is in memory, or is new. Whatever the views would refuse must not be among
 * them: it would be found out when it is in the log for good.
 */
export function isCovered(
  events: readonly Event[],
  known: Known,
  isNew: (id: TurnId | SessionId) => boolean,
): boolean {
  const made = new Set<string>()
  // A call stands before the session that it makes.
  for (const event of events) {
    if (event.type !== 'session.created') continue
    if (made.has(event.session) || known.hasSession(event.session) || !isNew(event.session)) return false
    made.add(event.session)
  }
  const knows = (id: TurnId | null): boolean => id !== null && (made.has(id) || known.hasTurn(id))
  const opens = (turn: TurnId): boolean => !knows(turn) && isNew(turn) && made.add(turn).size > 0
  const hasOwn = (session: SessionId): boolean => made.has(session) || known.hasSession(session)
  const fits = ({ session, entry }: EventOf<'turn.ended'>): boolean =>
    entry === null || known.countEntries(session) === entry.n - 1
  return events.every((event) => {
    if (event.type === 'session.created') return true
    if (event.type === 'message.sent')
      return isPlain(event) && hasOwn(event.session) && opens(event.turn as TurnId)
    if (event.type === 'call.opened')
      return isFree(event) && knows(event.turn) && hasOwn(event.target) && opens(toTurnId(event.call))
    if (event.type === 'turn.started' || event.type === 'turn.cancelled') return knows(event.turn)
    if (event.type === 'call.ended') return knows(toTurnId(event.call))
    if (event.type === 'turn.ended') return knows(event.turn) && fits(event)
    if (event.type === 'step.started' || event.type === 'step.ended')
      return knows(event.turn) && event.kind !== 'summary'
    return false
  })
}

/** A user's own words, which begin a flow and open a turn. */
export const isPlain = ({
  turn,
  flow,
  from,
  senderTurn,
  inReplyTo,
  notices,
}: EventOf<'message.sent'>): boolean =>
  turn !== null &&
  flow.slice(5) === turn.slice(5) &&
  from === null &&
  senderTurn === null &&
  inReplyTo === null &&
  notices === undefined

/** Nothing is held for it, and nothing is told with it. */
export const isFree = ({ grant, notices }: EventOf<'call.opened'>): boolean =>
  grant.tokensMax === null && grant.nanoUsdMax === undefined && notices === undefined
