/** Folds which sessions programs have open, what they were told of their mail, and when mail made one go on. */
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
  open: db.prepare(
    `insert into clients (session, program, open) values (?, ?, 1)
      on conflict do update set program = excluded.program, open = 1`,
  ),
  close: db.prepare('update clients set open = 0 where session = ?'),
  quiet: db.prepare(
    `insert into clients (session, quiet_until) values (?, ?)
      on conflict do update set quiet_until = excluded.quiet_until`,
  ),
})
export type WakeEvent = EventOf<
  'mail.announced' | 'session.woken' | 'session.opened' | 'session.closed' | 'session.quieted'
>
type WakeWrites = ReturnType<typeof prepareWakeWrites>

export function applyWake(writes: WakeWrites, event: WakeEvent, seq: number, at: Millis): void {
  const { session } = event
  switch (event.type) {
    case 'mail.announced':
      for (const message of event.messages) writes.announce.run(session, message, seq)
      return
    case 'session.woken':
      writes.wake.run(session, seq, at)
      // R11: as many as the limit of an hour can need.
      writes.dropWakes.run(session, wakesKeptMax)
      return
    case 'session.opened':
      writes.open.run(session, event.program)
      return
    case 'session.closed':
      writes.close.run(session)
      return
    case 'session.quieted':
      writes.quiet.run(session, Math.ceil(event.until))
  }
}
