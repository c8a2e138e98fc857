/** Folds what clients' sessions were told of their mail, and when mail made one go on. */
import type { DatabaseSync } from 'node:sqlite'
import type { EventOf } from '../model/event.ts'
import type { Millis } from '../model/id.ts'
import { wakesKeptMax } from '../model/wake.ts'

export const prepareWakeWrites = (db: DatabaseSync) => ({
  announce: db.prepare(
    'insert into announced (session, message, seq) values (?, ?, ?) on conflict do nothing',
  ),
  wake: db.prepare('insert into woken (session, seq, at) values (?, ?, ?)'),
  dropWakes: db.prepare(
    `delete from woken where session = ?1 and seq <=
      (select seq from woken where session = ?1 order by seq desc limit 1 offset ?2)`,
  ),
})
export type WakeEvent = EventOf<'mail.announced' | 'session.woken'>
type WakeWrites = ReturnType<typeof prepareWakeWrites>

export function applyWake(writes: WakeWrites, event: WakeEvent, seq: number, at: Millis): void {
  const { session } = event
  if (event.type === 'mail.announced')
    for (const message of event.messages) writes.announce.run(session, message, seq)
  else {
    writes.wake.run(session, seq, at)
    // R11: as many as the limit of an hour can need.
    writes.dropWakes.run(session, wakesKeptMax)
  }
}
