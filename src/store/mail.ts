/** Messages as rules and lists see them: the row says where one is in its life, the log has its texts. */
import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../model/event.ts'
import type { MailFacts, MessageFacts, MessageRow, MessageStatus } from '../model/facts.ts'
import type { MessageId, SessionId, TurnId } from '../model/id.ts'
import { idSuffix, userSession } from '../model/mail.ts'
import type { Tx } from '../runtime/kernel/store-port.ts'
import { prepareEventReader } from './log-row.ts'
import { arrays, selected, sessionAt, sessionColumns, type RawArray } from './rows.ts'

const columns = (
  'id name state owner sender receiver in_reply_to created_at created_seq updated_at updated_seq text_seq ' +
  'sent_seq accepted_at accepted_seq accepted_by draft_act turn answered revisions'
).split(' ')
const width = columns.length
/** A message that opened a turn is as far as its turn is; and what it answers is named as that was. */
export const messageRow = `select ${selected('m', columns)}, coalesce(t.state, iif(v.id is null, null, 'ended')),
    coalesce(t.epoch, v.epoch), (select name from messages r where r.id = m.in_reply_to)
  from messages m left join turns t on t.id = m.turn left join moved_turns v on v.id = m.turn`

export function prepareMail(db: DatabaseSync) {
  const prepare = (sql: string) => arrays(db.prepare(sql))
  const inbox = (order: 'asc' | 'desc') =>
    prepare(
      `${messageRow} where m.waiting = 1 and m.receiver = ?1 and (?2 is null or ?2 = (m.in_reply_to is not null))
          and m.sent_seq > ?4 order by m.sent_seq ${order} limit +?3`,
    )
  return {
    events: prepareEventReader(db),
    one: prepare(`${messageRow} where m.id = ?`),
    byAct: prepare(`${messageRow} where m.accept_act = ?1 and m.accept_act is not null`),
    /** Of a user's own words, which are only a turn. */
    turn: prepare('select session, state, epoch, opened_at, opened_seq from all_turns where id = ?'),
    oldest: inbox('asc'),
    newest: inbox('desc'),
    counts: prepare(`select coalesce((select waiting from inboxes where session = ?1), 0),
        (select count(*) from messages where state = 'draft' and owner = ?1),
        exists (select 1 from turns where live = 1 and session = ?1 and pending = 1),
        ${selected('s', sessionColumns)}
      from (select ?1 as id) x left join sessions s on s.id = x.id`),
  }
}
export type MailStatements = ReturnType<typeof prepareMail>

function findStatus(
  state: string,
  answered: boolean,
  turnState: string | null,
  epoch: number,
): MessageStatus {
  if (state !== 'opened' && state !== 'handed') return state as MessageStatus
  if (state === 'opened' && turnState === 'queued') return 'queued'
  // Its turn was cancelled before it began.
  if (state === 'opened' && turnState === 'ended' && epoch === 0) return 'declined'
  return answered ? 'answered' : 'delivered'
}

export type MessageRead = { row: MessageRow; textSeq: number; sentSeq: number | null }

export function parseRow(raw: RawArray): MessageRead {
  return {
    row: {
      id: raw[1] as MessageId,
      status: findStatus(
        raw[2] as string,
        raw[18] === 1,
        raw[width] as string | null,
        (raw[width + 1] ?? 0) as number,
      ),
      owner: raw[3] as SessionId,
      from: raw[4] as SessionId | null,
      to: raw[5] as SessionId | null,
      inReplyTo: raw[6] === null ? null : ((raw[width + 2] ?? `msg_${raw[6] as string}`) as MessageId),
      createdAt: raw[7] as number,
      createdSeq: raw[8] as number,
      updatedAt: raw[9] as number,
      updatedSeq: raw[10] as number,
      acceptedAt: raw[13] as number | null,
      acceptedSeq: raw[14] as number | null,
      acceptedBy: raw[15] as MessageRow['acceptedBy'],
      turn: raw[17] as TurnId | null,
      revisions: raw[19] as number,
      draftAct: raw[16] as string | null,
    },
    textSeq: raw[11] as number,
    sentSeq: raw[12] as number | null,
  }
}

type InboxAsk = Parameters<Tx['inbox']>[1]

/** Those that wait and were sent after `after`, without their texts. */
export function listWaiting(
  statements: MailStatements,
  session: SessionId,
  ask: InboxAsk,
  after: number,
): MessageRead[] {
  const replies = ask.replies === null ? null : Number(ask.replies)
  const statement = ask.newest ? statements.newest : statements.oldest
  return (statement.all(session, replies, ask.limit, after) as unknown as RawArray[]).map(parseRow)
}

export const waitingIn = (statements: MailStatements, session: SessionId, ask: InboxAsk): MessageRow[] =>
  listWaiting(statements, session, ask, 0).map(({ row }) => row)

export function readCounts(statements: MailStatements, session: SessionId): MailFacts {
  const raw = statements.counts.get(session) as unknown as RawArray
  return {
    waiting: raw[0] as number,
    drafts: raw[1] as number,
    pending: raw[2] === 1,
    session: raw[3] === null ? null : sessionAt(raw, 3),
  }
}

/** By either spelling of its id. */
export function readMessage(statements: MailStatements, id: MessageId): MessageFacts | null {
  const raw = statements.one.get(idSuffix(id)) as RawArray | undefined
  return raw === undefined ? readWords(statements, id) : readFacts(statements, parseRow(raw))
}

export function acceptedWith(statements: MailStatements, act: string): MessageFacts | null {
  const raw = statements.byAct.get(act) as RawArray | undefined
  return raw === undefined ? null : readFacts(statements, parseRow(raw))
}

export function readFacts({ events }: MailStatements, read: MessageRead): MessageFacts {
  const { row: known, textSeq, sentSeq } = read
  const last = events.find(textSeq)?.event
  // Most messages were never drafts: one event has it all.
  const [first, sent] = [known.createdSeq, sentSeq].map((seq) =>
    seq === textSeq ? last : seq === null ? undefined : events.find(seq)?.event,
  )
  const written = (event: Event | undefined): string =>
    event !== undefined && 'text' in event ? event.text : ''
  const draft = last?.type === 'message.drafted' || last?.type === 'message.revised' ? last : null
  return {
    ...known,
    initial: written(first),
    text: written(last),
    source: first !== undefined && 'source' in first ? first.source : 'agent',
    sent: sent?.type === 'message.sent' ? sent : null,
    target: draft?.target ?? { kind: 'session', session: known.to ?? known.owner },
    writtenIn: draft?.turn ?? (draft?.type === 'message.revised' ? (draft.writtenIn ?? null) : null),
  }
}

/** What a user said to a session without any mail: the message is its turn. */
function readWords(statements: MailStatements, id: MessageId): MessageFacts | null {
  const turn: TurnId = `turn_${idSuffix(id)}`
  const raw = statements.turn.get(turn) as RawArray | undefined
  const sent = raw === undefined ? undefined : statements.events.find(raw[4] as number)?.event
  if (raw === undefined || sent?.type !== 'message.sent') return null
  const [to, at, seq] = [raw[0] as SessionId, raw[3] as number, raw[4] as number]
  return {
    id: sent.message,
    status: findStatus('opened', false, raw[1] as string, raw[2] as number),
    owner: userSession,
    from: sent.from,
    to,
    inReplyTo: sent.inReplyTo,
    createdAt: at,
    createdSeq: seq,
    updatedAt: at,
    updatedSeq: seq,
    acceptedAt: null,
    acceptedSeq: null,
    acceptedBy: null,
    turn,
    revisions: 0,
    draftAct: null,
    source: sent.source,
    initial: sent.text,
    text: sent.text,
    target: { kind: 'session', session: to },
    writtenIn: null,
    sent,
  }
}
