/** Folds messages into their view. A row stays from draft to answer; the texts stay in the log, at `*_seq`. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EventOf } from '../model/event.ts'
import type { MailTarget } from '../model/event-parts.ts'
import type { MessageId, Millis, SessionId } from '../model/id.ts'
import { idSuffix, userSession } from '../model/mail.ts'

export type MailEvent = EventOf<
  | 'message.drafted'
  | 'message.revised'
  | 'message.sent'
  | 'message.released'
  | 'message.accepted'
  | 'message.delivered'
  | 'message.answered'
  | 'message.declined'
  | 'message.died'
>

export function prepareMailWrites(db: DatabaseSync) {
  const insert = (columns: string): string =>
    `insert into messages (id, name, state, waiting, owner, sender, receiver, in_reply_to,
      created_at, created_seq, updated_at, updated_seq, text_seq, ${columns})`
  const update = (assignments: string): StatementSync =>
    db.prepare(`update messages set ${assignments}, updated_at = ?2, updated_seq = ?3 where id = ?1`)
  const replaced =
    'state waiting fleeting receiver in_reply_to flow updated_at updated_seq text_seq sent_at sent_seq turn'
  return {
    draft: db.prepare(
      `${insert('draft_act')} values (?1, ?2, 'draft', 0, ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?8, ?8, ?9)`,
    ),
    revise: update(
      'receiver = ?4, in_reply_to = ?5, draft_act = ?6, text_seq = ?3, revisions = revisions + 1',
    ),
    /** A draft keeps its row. */
    send: db.prepare(`${insert('fleeting, flow, sent_at, sent_seq, turn')}
      values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?9, ?10, ?10,
        ?4 and (select kind from sessions where id = ?7) is 'ephemeral', ?11, ?9, ?10, ?12)
      on conflict do update set ${replaced
        .split(' ')
        .map((name) => `${name} = excluded.${name}`)
        .join(', ')}`),
    isDraft: db.prepare(`select 1 from messages where id = ?`),
    any: db.prepare(`select 1 from messages where id > '' limit 1`),
    addWaiting: db.prepare(
      'insert into inboxes (session, waiting) values (?, 1) on conflict do update set waiting = waiting + 1',
    ),
    endWaiting: db.prepare(
      `update inboxes set waiting = waiting - 1
        where session = (select receiver from messages where id = ? and waiting = 1)`,
    ),
    /** A user's own words get their row when they are answered. */
    adopt: db.prepare(`${insert('flow, sent_at, sent_seq, turn')}
      select ?1, ?2, 'opened', 0, ?3, null, session, null,
        opened_at, opened_seq, opened_at, opened_seq, opened_seq, null, opened_at, opened_seq, id
      from all_turns where id = 'turn_' || ?1 on conflict do nothing`),
    release: update("state = 'ready', accept_act = ?4"),
    accept: update('accepted_at = ?2, accepted_seq = ?3, accepted_by = ?4, accept_act = ?5'),
    deliver: update('state = ?4, waiting = 0, fleeting = 0, turn = ?5'),
    answer: update('answered = 1'),
    end: update('state = ?4, waiting = 0, fleeting = 0, accepted_by = ?5'),
  }
}
type MailWrites = ReturnType<typeof prepareMailWrites>

const toKey = (id: MessageId | null): string | null => (id === null ? null : idSuffix(id))
const findReceiver = (target: MailTarget): SessionId | null =>
  target.kind === 'session' ? target.session : null

export function applyMail(writes: MailWrites, event: MailEvent, at: Millis, seq: number): void {
  const { message, session } = event
  const id = idSuffix(message)
  switch (event.type) {
    case 'message.drafted': {
      const [from, to] = [session === userSession ? null : session, findReceiver(event.target)]
      writes.draft.run(id, message, session, from, to, toKey(event.inReplyTo), at, seq, event.act)
      return
    }
    case 'message.revised':
      writes.revise.run(id, at, seq, findReceiver(event.target), toKey(event.inReplyTo), event.act)
      return
    case 'message.sent':
      return send(writes, id, event, at, seq)
    case 'message.released':
      writes.release.run(id, at, seq, event.act)
      return
    case 'message.accepted':
      writes.accept.run(id, at, seq, event.by ?? 'user', event.act)
      return
    case 'message.delivered':
      writes.endWaiting.run(id)
      writes.deliver.run(id, at, seq, event.opens ? 'opened' : 'handed', event.turn)
      return
    case 'message.answered':
      writes.adopt.run(id, message, userSession)
      writes.answer.run(id, at, seq)
      return
    case 'message.declined':
      writes.endWaiting.run(id)
      writes.end.run(id, at, seq, 'declined', event.by ?? 'user')
      return
    case 'message.died':
      writes.endWaiting.run(id)
      writes.end.run(id, at, seq, 'dead', null)
      return
  }
}

/** Most of what users say is only a turn: no row is made for it, unless it was a draft. */
export const isOwnWords = (event: MailEvent): boolean =>
  event.type === 'message.sent' && event.turn !== null && event.from === null && event.inReplyTo === null

function send(writes: MailWrites, id: string, event: EventOf<'message.sent'>, at: Millis, seq: number): void {
  const { message, session, turn, from, inReplyTo } = event
  const waits = turn === null
  if (isOwnWords(event) && writes.isDraft.get(id) === undefined) return
  const state = !waits ? 'opened' : inReplyTo === null ? 'buffered' : 'ready'
  // Only what turns send is counted for its flow.
  const flow = event.senderTurn === null ? null : event.flow
  const people = [from ?? userSession, from, session, toKey(inReplyTo)]
  writes.send.run(id, message, state, waits ? 1 : 0, ...people, at, seq, flow, turn)
  if (waits) writes.addWaiting.run(session)
}
