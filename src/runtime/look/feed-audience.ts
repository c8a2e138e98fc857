/**
 * Listeners that are up to date, by the sessions that they follow. What others do costs them nothing: with a
 * thousand listeners, asking each of them about every event would be most of the work of a busy server.
 */
import type { StoredEvent } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'

type Follows = {
  /** Null is all. */
  readonly sessions: ReadonlySet<SessionId> | null
}

export type Audience<T extends Follows> = {
  size(): number
  add(listener: T): void
  remove(listener: T): void
  clear(): void
  all(): T[]
  /** Those who follow a session. */
  of(session: SessionId): T[]
  /** Those whom some of these events concern, each once, with those events in order. */
  concerned(stored: readonly StoredEvent[]): (readonly [T, readonly StoredEvent[]])[]
}

export function createAudience<T extends Follows>(): Audience<T> {
  const listeners = new Set<T>()
  const everywhere = new Set<T>()
  const bySession = new Map<SessionId, Set<T>>()
  return {
    size: () => listeners.size,
    all: () => [...listeners],
    add(listener) {
      listeners.add(listener)
      if (listener.sessions === null) everywhere.add(listener)
      for (const session of listener.sessions ?? []) {
        const followers = bySession.get(session)
        if (followers === undefined) bySession.set(session, new Set([listener]))
        else followers.add(listener)
      }
    },
    remove(listener) {
      if (!listeners.delete(listener)) return
      everywhere.delete(listener)
      for (const session of listener.sessions ?? []) {
        const followers = bySession.get(session)
        followers?.delete(listener)
        if (followers?.size === 0) bySession.delete(session)
      }
    },
    clear() {
      for (const one of [listeners, everywhere, bySession]) one.clear()
    },
    of: (session) => [...everywhere, ...(bySession.get(session) ?? [])],
    concerned(stored) {
      const told = new Map<T, readonly StoredEvent[]>()
      for (const listener of everywhere) told.set(listener, stored)
      const sessions = bySession.size === 0 ? [] : new Set(stored.flatMap(({ event }) => listSessions(event)))
      for (const session of sessions) {
        const followers = bySession.get(session)
        if (followers === undefined) continue
        const only = new Set([session])
        // Nearly all follow one session: what they get is put together once.
        const wanted = stored.filter(({ event }) => concerns(only, event))
        for (const listener of followers)
          if (!told.has(listener))
            told.set(
              listener,
              listener.sessions?.size === 1
                ? wanted
                : stored.filter(({ event }) => concerns(listener.sessions, event)),
            )
      }
      return [...told]
    },
  }
}

/**
 * A call stands on its caller's timeline, and concerns its target too; a message stands on its receiver's,
 * and concerns whoever wrote it.
 */
function listSessions(event: StoredEvent['event']): SessionId[] {
  const sessions = [event.session]
  if ('message' in event && 'from' in event && event.from !== null) sessions.push(event.from)
  if (event.type === 'call.opened' || event.type === 'call.ended') sessions.push(event.target)
  return sessions
}

export const concerns = (sessions: ReadonlySet<SessionId> | null, event: StoredEvent['event']): boolean =>
  sessions === null || listSessions(event).some((session) => sessions.has(session))
