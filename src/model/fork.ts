/**
 * A session that goes on from another's conversation, as rows and events. It shares what was said by
 * reference, and can write to nobody but itself.
 */
import type { Event } from './event.ts'
import type { SessionRow } from './facts.ts'
import type { Millis, SessionId } from './id.ts'
import { badInput, type Refusal } from './refusal.ts'

/**
 * From the latest message, or from so many messages back; a running turn is not counted. Where a connected
 * program keeps the conversation (`elsewhere`), it does the forking: how much there is to share, only it
 * knows.
 */
export function toForkRow(
  from: SessionRow,
  back: number,
  id: SessionId,
  parent: SessionId | null,
  now: Millis,
  elsewhere: boolean,
): { row: SessionRow; events: Event[] } | Refusal {
  if (from.kind === 'external')
    return badInput(
      'fork',
      from.id,
      'a session with a conversation here; that of a client outside is its own',
    )
  if (from.archived === 'deleted') return { code: 'session_unknown', session: from.id }
  if (back > from.entries && !elsewhere)
    return badInput('fork', back, `at most ${from.entries}, since ${from.id} has ${from.entries} messages,`)
  const entries = Math.max(0, from.entries - back)
  return {
    row: {
      ...from,
      id,
      kind: 'persistent',
      parent,
      title: from.title === '' ? '' : `${from.title} (fork)`,
      createdAt: now,
      archived: false,
      entries,
      summary: null,
      summaryEntries: 0,
    },
    events: [{ type: 'session.forked', session: id, turn: null, from: from.id, entries, back }],
  }
}
