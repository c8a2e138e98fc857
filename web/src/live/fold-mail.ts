import type { MessageRecord } from '../../../src/wire/mail.ts'
import type { Event, EventOf } from '../../../src/model/event.ts'
import { millisToNanos } from '../../../src/model/mail.ts'
import type { Ledger, MailFact } from './ledger.ts'
import type { Moment } from './moment.ts'

export type MailEvent = Extract<Event, { type: `message.${string}` }>

/** The session that owns the user's drafts and receives replies to the user. It has no conversation. */
export const userSession = 'ses_user'

export const isWaiting = ({ status }: Pick<MailFact, 'status'>): boolean =>
  status === 'buffered' || status === 'ready'

export function foldMail(ledger: Ledger, event: MailEvent, { at, seq, isNew }: Moment): void {
  const known = ledger.mail.get(event.message)
  // A list of the server is newer than events of the past that arrive after it.
  if (known !== undefined && known.seq > seq) return recallEvent(known, event)
  const fact: MailFact = known ?? {
    id: event.message,
    status: 'draft',
    owner: '',
    from: null,
    to: null,
    target: '',
    inReplyTo: null,
    source: 'user',
    applet: null,
    initial: '',
    text: '',
    createdAt: at,
    updatedAt: at,
    by: null,
    cause: '',
    revisions: 0,
    version: '',
    isReleased: false,
    seq,
  }
  const wasWaiting = isWaiting(fact)
  applyEvent(fact, event)
  Object.assign(fact, { updatedAt: at, seq, version: millisToNanos(at, seq) })
  ledger.mail.set(event.message, fact)
  if (isNew) recount(ledger, event, wasWaiting || known === undefined, isWaiting(fact))
}

/** Adds what a list of the server does not say. */
function recallEvent(known: MailFact, event: MailEvent): void {
  if (event.type === 'message.revised') known.revisions += 1
  if (event.type === 'message.sent')
    Object.assign(known, { applet: event.applet, isReleased: event.releasedBy === 'user' })
}

function applyEvent(fact: MailFact, event: MailEvent): void {
  switch (event.type) {
    case 'message.drafted':
      return void Object.assign(fact, {
        status: 'draft',
        owner: event.session,
        from: event.session,
        to: event.target.kind === 'session' ? event.target.session : null,
        target: event.target.kind,
        inReplyTo: event.inReplyTo,
        source: event.source,
        initial: event.text,
        text: event.text,
      })
    case 'message.revised':
      return void Object.assign(fact, {
        to: event.target.kind === 'session' ? event.target.session : null,
        target: event.target.kind,
        inReplyTo: event.inReplyTo,
        text: event.text,
        revisions: fact.revisions + 1,
      })
    case 'message.sent':
      return applySent(fact, event)
    case 'message.delivered':
      return void Object.assign(fact, {
        status: 'delivered',
        text: event.text,
        from: event.from,
        to: event.session,
        source: event.source,
        inReplyTo: event.inReplyTo,
      })
    case 'message.released':
      return void (fact.status = 'ready')
    case 'message.accepted':
      return void Object.assign(fact, { status: 'delivered', to: event.session, by: event.by })
    case 'message.answered':
      return void (fact.status = 'answered')
    case 'message.declined':
      return void Object.assign(fact, {
        status: 'declined',
        to: fact.status === 'draft' ? fact.to : event.session,
        by: event.by,
      })
    case 'message.died':
      return void Object.assign(fact, { status: 'dead', to: event.session, cause: event.cause })
    default:
  }
}

function applySent(fact: MailFact, event: EventOf<'message.sent'>): void {
  Object.assign(fact, {
    status: event.turn !== null ? 'delivered' : event.inReplyTo === null ? 'buffered' : 'ready',
    from: event.from,
    to: event.session,
    target: 'session',
    source: event.source,
    applet: event.applet,
    inReplyTo: event.inReplyTo,
    text: event.text,
    isReleased: event.releasedBy === 'user',
  })
  if (fact.initial === '') fact.initial = event.text
}

/** Updates how many messages wait for a session; the first count is the server's. */
function recount(ledger: Ledger, event: MailEvent, was: boolean, is: boolean): void {
  const session = ledger.sessions.get(event.session)
  if (session === undefined) return
  if (event.type === 'message.sent' && is) session.buffered += 1
  if (
    (event.type === 'message.accepted' ||
      event.type === 'message.declined' ||
      event.type === 'message.died') &&
    was &&
    !is
  )
    session.buffered = Math.max(0, session.buffered - 1)
}

/** How many drafts wait for a person to release them. The user's own drafts do not count. */
export function countAgentDrafts({ mail }: Ledger): number {
  let count = 0
  for (const { status, from } of mail.values())
    if (status === 'draft' && from !== null && from !== userSession) count += 1
  return count
}

/**
 * Updates a message from a list of the server. `seq` is the last event that the page had when it asked: what came
 * after it is newer than the list, or comes again with the next events.
 */
export function takeMail(ledger: Ledger, record: MessageRecord, seq: number): void {
  const known = ledger.mail.get(record.id)
  if (known !== undefined && known.seq > seq) return complete(known, record)
  ledger.mail.set(record.id, {
    id: record.id,
    status: record.status,
    owner: known?.owner ?? record.from ?? '',
    from: record.from,
    to: record.to,
    target: record.to === null ? (known?.target ?? 'new') : 'session',
    inReplyTo: record['in-reply-to'],
    source: record.source,
    applet: known?.applet ?? null,
    initial: record.initial,
    text: record.message,
    createdAt: toMillis(record.created_at),
    updatedAt: toMillis(record.updated_at),
    by: record.accepted_by,
    cause: known?.cause ?? '',
    revisions: known?.revisions ?? 0,
    version: record.updated_at,
    isReleased: known?.isReleased ?? false,
    seq,
  })
}

/** Adds what a single event does not say, such as the text of a message that was declined. */
function complete(known: MailFact, record: MessageRecord): void {
  if (known.text === '') known.text = record.message
  if (known.initial === '') known.initial = record.initial
  known.from ??= record.from
  known.to ??= record.to
}

const nanosPerMilli = 1_000_000n
const toMillis = (nanos: string): number => (/^\d+$/.test(nanos) ? Number(BigInt(nanos) / nanosPerMilli) : 0)
