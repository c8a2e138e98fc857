import { expect, test } from 'vitest'
import type { Event } from '../../model/event.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import { createSight } from './sight.ts'

test('a session that was adopted by another is seen by its new parent, and no longer by the old one', async () => {
  const parents: Record<SessionId, SessionId | null> = { ses_a: null, ses_b: null, ses_child: 'ses_a' }
  const store = {
    session: async (id: SessionId) => ({ id, parent: parents[id] ?? null }) as SessionRow,
  }
  const sights = (['ses_a', 'ses_b'] as const).map((session) =>
    createSight(store, { kind: 'session', session }),
  )
  const look = async (event: Event) => {
    const seen: (boolean | undefined)[] = []
    for (const sight of sights) {
      if (sight?.known(event) === null) await sight.learn(event.session)
      seen.push(sight?.sees(event.session))
    }
    return seen
  }
  const session: SessionId = 'ses_child'
  expect(await look({ type: 'session.renamed', session } as Event)).toEqual([true, false])
  parents[session] = 'ses_b'
  expect(await look({ type: 'session.adopted', session, turn: null, parent: 'ses_b' })).toEqual([false, true])
  expect(await look({ type: 'session.renamed', session } as Event)).toEqual([false, true])
})

test('a new session whose parent nobody has asked about is looked up, and seen where that belongs', async () => {
  const parents: Record<SessionId, SessionId | null> = {
    ses_own: null,
    ses_below: 'ses_own',
    ses_new: 'ses_below',
  }
  const store = {
    session: async (id: SessionId) => ({ id, parent: parents[id] ?? null }) as SessionRow,
  }
  const sight = createSight(store, { kind: 'session', session: 'ses_own' })
  const made = { type: 'session.created', session: 'ses_new', parent: 'ses_below' } as unknown as Event
  expect(sight?.known(made)).toBeNull()
  await sight?.learn('ses_new')
  expect([sight?.known(made), sight?.sees('ses_below')]).toEqual([true, true])
  const next = { ...made, session: 'ses_next' } as Event
  expect(sight?.known(next)).toBe(true)
  expect(sight?.known({ ...next, session: 'ses_alone', parent: null } as Event)).toBe(false)
})
