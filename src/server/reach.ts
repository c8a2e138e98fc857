/** Which sessions somebody may see: the user all, a session itself and whatever was created below it. */
import type { Event } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import type { Exchange, Who } from '../runtime/exchange.ts'
import { isRefusal } from './wire-error.ts'

/** Parents are few; a longer chain than this would be a ring. */
const generationsMax = 100
const rememberedMax = 10_000

export async function coversSession(
  exchange: Pick<Exchange, 'findSession'>,
  who: Who,
  session: SessionId,
): Promise<boolean> {
  if (who.kind === 'user') return true
  if (who.kind === 'turn') return false
  return (await lineTo(exchange, who.session, session)).found
}

/** From a session up to an ancestor, or to where its line ends. */
async function lineTo(
  exchange: Pick<Exchange, 'findSession'>,
  ancestor: SessionId,
  session: SessionId,
): Promise<{ found: boolean; line: SessionId[] }> {
  const line: SessionId[] = []
  for (let at: SessionId | null = session; at !== null && line.length < generationsMax;) {
    if (at === ancestor) return { found: true, line }
    line.push(at)
    const row = await exchange.findSession(at)
    at = isRefusal(row) ? null : row.parent
  }
  return { found: false, line }
}

/** The same for a stream of events, which asks about the same few sessions again and again. */
export type Reach = {
  /** Whether the session of an event may be seen; null where it must be looked up first. */
  known(event: Event): boolean | null
  sees(session: SessionId): boolean
  learn(session: SessionId): Promise<void>
}

/** Null for the user, who sees everything. */
export function reachOf(exchange: Pick<Exchange, 'findSession'>, who: Who): Reach | null {
  if (who.kind === 'user') return null
  const own = who.kind === 'session' ? who.session : null
  const remembered = new Map<SessionId, boolean>()
  const recall = (session: SessionId): boolean | null =>
    session === own ? true : (remembered.get(session) ?? null)
  const remember = (session: SessionId, seen: boolean): boolean => {
    if (remembered.size >= rememberedMax) remembered.clear()
    remembered.set(session, seen)
    return seen
  }
  return {
    known(event) {
      const known = recall(event.session)
      if (known !== null || event.type !== 'session.created') return known
      // A new session says itself where it belongs.
      const seen = event.parent === null ? false : recall(event.parent)
      return seen === null ? null : remember(event.session, seen)
    },
    sees: (session) => recall(session) === true,
    async learn(session) {
      const { found, line } =
        own === null ? { found: false, line: [session] } : await lineTo(exchange, own, session)
      for (const one of line) remember(one, found)
    },
  }
}
