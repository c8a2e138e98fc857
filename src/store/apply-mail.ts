/**
 * Folds messages into their view. A message that has a row keeps it from draft to answer; its texts stay in
 * the log, where `*_seq` says.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EventOf, MailTarget } from '../model/event.ts'
import type { MessageId, Millis, SessionId } from '../model/id.ts'
import { idSuffix, userSession } from '../model/mail.ts'

export type MailEvent = EventOf<
  | 'message.drafted'
  | 'message.revised'
  | 'message.sent'
  | 'message.accepted'
  | 'message.delivered'
  | 'message.answered'
  | 'message.declined'
  | 'message.died'
>

export function prepareMailWrites(db: DatabaseSync) {
  const insert = (columns: string): string =>
    `insert into messages (id, name, state, waiting, owner, sender, receiver, in_reply_to, created_at, created_seq, updated_at, updated_seq, text_seq, ${columns})`
  return {
    draft: db.prepare(
      `${insert('draft_act')} values (?1, ?2, 'draft', 0, ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?8, ?8, ?9)`,
    ),
    revise: db.prepare(
      'update messages set receiver = ?2, in_reply_to = ?3, updated_at = ?4, updated_seq = ?5, text_seq = ?5, draft_act = ?6, revisions = revisions + 1 where id = ?1',
    ),
    /** A draft keeps its row. */
    send: db.prepare(`${insert('fleeting, flow, sent_at, sent_seq, turn')} values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?9, ?10, ?10, ?4 and (select kind from sessions where id = ?7) is 'ephemeral', ?11, ?9, ?10, ?12)
      on conflict do update set state = excluded.state, waiting = excluded.waiting, fleeting = excluded.fleeting, receiver = excluded.receiver, in_reply_to = excluded.in_reply_to, flow = excluded.flow,
        updated_at = excluded.updated_at, updated_seq = excluded.updated_seq, text_seq = excluded.text_seq, sent_at = excluded.sent_at, sent_seq = excluded.sent_seq, turn = excluded.turn`),
    isDraft: db.prepare(`select 1 from messages where id = ?`),
    more: db.prepare(
      'insert into inboxes (session, waiting) values (?, 1) on conflict do update set waiting = waiting + 1',
    ),
    less: db.prepare(
      'update inboxes set waiting = waiting - 1 where session = (select receiver from messages where id = ? and waiting = 1)',
    ),
    /** A user's own words get their row when they are answered. */
    adopt:
      db.prepare(`${insert('flow, sent_at, sent_seq, turn')} select ?1, ?2, 'opened', 0, ?3, null, session, null, opened_at, opened_seq, opened_at, opened_seq, opened_seq, null, opened_at, opened_seq, id
      from turns where id = 'turn_' || ?1 on conflict do nothing`),
    accept: db.prepare(
      'update messages set accepted_at = ?2, accepted_seq = ?3, accepted_by = ?4, accept_act = ?5, updated_at = ?2, updated_seq = ?3 where id = ?1',
    ),
    deliver: db.prepare(
      'update messages set state = ?2, waiting = 0, fleeting = 0, turn = ?3, updated_at = ?4, updated_seq = ?5 where id = ?1',
    ),
    answer: db.prepare('update messages set answered = 1, updated_at = ?2, updated_seq = ?3 where id = ?1'),
    end: db.prepare(
      'update messages set state = ?2, waiting = 0, fleeting = 0, accepted_by = ?3, updated_at = ?4, updated_seq = ?5 where id = ?1',
    ),
  } satisfies Record<string, StatementSync>
}
export type MailWrites = ReturnType<typeof prepareMailWrites>

const keyOf = (id: MessageId | null): string | null => (id === null ? null : idSuffix(id))
const receiverOf = (target: MailTarget): SessionId | null =>
  target.kind === 'session' ? target.session : null

export function applyMail(writes: MailWrites, event: MailEvent, at: Millis, seq: number): void {
  const id = idSuffix(event.message)
  switch (event.type) {
    case 'message.drafted':
      writes.draft.run(
        id,
        event.message,
        event.session,
        event.session === userSession ? null : event.session,
        receiverOf(event.target),
        keyOf(event.inReplyTo),
        at,
        seq,
        event.act,
      )
      return
    case 'message.revised':
      writes.revise.run(id, receiverOf(event.target), keyOf(event.inReplyTo), at, seq, event.act)
      return
    case 'message.sent':
      return send(writes, id, event, at, seq)
    case 'message.accepted':
      writes.accept.run(id, at, seq, event.by ?? 'user', event.act)
      return
    case 'message.delivered':
      writes.less.run(id)
      writes.deliver.run(id, event.opens ? 'opened' : 'handed', event.turn, at, seq)
      return
    case 'message.answered':
      writes.adopt.run(id, event.message, userSession)
      writes.answer.run(id, at, seq)
      return
    case 'message.declined':
      writes.less.run(id)
      writes.end.run(id, 'declined', event.by ?? 'user', at, seq)
      return
    case 'message.died':
      writes.less.run(id)
      writes.end.run(id, 'dead', null, at, seq)
      return
  }
}

/** Most of what users say is only a turn: no row is made for it, unless it was a draft. */
function send(writes: MailWrites, id: string, event: EventOf<'message.sent'>, at: Millis, seq: number): void {
  const waits = event.turn === null
  if (!waits && event.from === null && event.inReplyTo === null && writes.isDraft.get(id) === undefined)
    return
  // Only what turns send is counted for its flow.
  const flow = event.senderTurn === null ? null : event.flow
  writes.send.run(
    id,
    event.message,
    !waits ? 'opened' : event.inReplyTo === null ? 'buffered' : 'ready',
    waits ? 1 : 0,
    event.from ?? userSession,
    event.from,
    event.session,
    keyOf(event.inReplyTo),
    at,
    seq,
    flow,
    event.turn,
  )
  if (waits) writes.more.run(event.session)
}
