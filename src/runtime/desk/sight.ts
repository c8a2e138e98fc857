/** Which sessions an asker may see: the user all, a session itself and those that were created below it. */
import type { Event } from '../../model/event.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import type { Who } from './asker.ts'

/** Parents are few; a longer chain than this would be a ring. */
const generationsMax = 100
const rememberedMax = 10_000

type Sessions = { session(id: SessionId): Promise<SessionRow | null> }

export async function sees(store: Sessions, who: Who, session: SessionId): Promise<boolean> {
  if (who.kind === 'user') return true
  return who.kind === 'session' && (await climb(store, session, who.session)).found
}

/** From a session up to an ancestor, or to where its line ends. */
async function climb(
  store: Sessions,
  session: SessionId,
  ancestor: SessionId,
): Promise<{ found: boolean; passed: SessionId[] }> {
  const passed: SessionId[] = []
  for (let at: SessionId | null = session; at !== null && passed.length < generationsMax;) {
    if (at === ancestor) return { found: true, passed }
    passed.push(at)
    at = (await store.session(at))?.parent ?? null
  }
  return { found: false, passed }
}

/** The same for a stream of events, which asks about the same few sessions again and again. */
export type Sight = {
  /** Whether the session of an event may be seen; null where it must be looked up first. */
  known(event: Event): boolean | null
  sees(session: SessionId): boolean
  learn(session: SessionId): Promise<void>
}

/** Null for the user, who sees everything. */
export function createSight(store: Sessions, who: Who): Sight | null {
  if (who.kind === 'user') return null
  const own = who.kind === 'session' ? who.session : null
  const remembered = new Map<SessionId, boolean>()
  let moved: Event | null = null
  const recall = (session: SessionId): boolean | null =>
    session === own ? true : (remembered.get(session) ?? null)
  const remember = (session: SessionId, seen: boolean): boolean => {
    if (remembered.size >= rememberedMax) remembered.clear()
    remembered.set(session, seen)
    return seen
  }
  return {
    known(event) {
      // One that was adopted is looked up again, and so are those below it; once, while it is looked up.
      if (event.type === 'session.adopted' && event !== moved) {
        moved = event
        remembered.clear()
      }
      const known = recall(event.session)
      if (known !== null || event.type !== 'session.created') return known
      // A new session says itself where it belongs.
      const seen = event.parent === null ? false : recall(event.parent)
      return seen === null ? null : remember(event.session, seen)
    },
    sees: (session) => recall(session) === true,
    async learn(session) {
      const { found, passed } =
        own === null ? { found: false, passed: [session] } : await climb(store, session, own)
      for (const one of passed) remember(one, found)
    },
  }
}
