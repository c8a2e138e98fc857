import type { MessageRecord } from '../../../src/wire/mail.ts'
import type { Event, EventOf } from '../../../src/model/event.ts'
import { nanosOf } from '../../../src/model/mail.ts'
import type { Ledger, MailFact } from './ledger.ts'

type MailEvent = Extract<Event, { type: `message.${string}` }>
type Moment = { at: number; seq: number; isNew: boolean }

/** The user's own: whose drafts are the user's, and where replies to the user wait. It is no conversation. */
export const userSession = 'ses_user'

export const isWaiting = ({ status }: Pick<MailFact, 'status'>): boolean =>
  status === 'buffered' || status === 'ready'

export function foldMail(ledger: Ledger, event: MailEvent, { at, seq, isNew }: Moment): void {
  const known = ledger.mail.get(event.message)
  // What was read from a list is newer than what comes later from the past.
  if (known !== undefined && known.seq > seq) return recall(known, event)
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
  change(ledger, fact, event)
  Object.assign(fact, { updatedAt: at, seq, version: nanosOf(at, seq) })
  ledger.mail.set(event.message, fact)
  if (isNew) recount(ledger, event, wasWaiting || known === undefined, isWaiting(fact))
}

/** What a list does not say. */
function recall(known: MailFact, event: MailEvent): void {
  if (event.type === 'message.revised') known.revisions += 1
  if (event.type === 'message.sent')
    Object.assign(known, { applet: event.applet, isReleased: event.releasedBy === 'user' })
}

function change(ledger: Ledger, fact: MailFact, event: MailEvent): void {
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
      return sent(ledger, fact, event)
    case 'message.delivered':
      return void Object.assign(fact, {
        status: 'delivered',
        text: event.text,
        from: event.from,
        to: event.session,
        source: event.source,
        inReplyTo: event.inReplyTo,
      })
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

function sent(ledger: Ledger, fact: MailFact, event: EventOf<'message.sent'>): void {
  const isExternal = ledger.sessions.get(event.session)?.kind === 'external'
  Object.assign(fact, {
    status: event.turn !== null ? 'delivered' : isExternal ? 'ready' : 'buffered',
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

/** How many wait for a session; the server's own count was there first. */
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

/** How many wait for a person to release them; the user's own wait for nobody else. */
export function draftsOfAgents({ mail }: Ledger): number {
  let count = 0
  for (const { status, from } of mail.values())
    if (status === 'draft' && from !== null && from !== userSession) count += 1
  return count
}

/** What a list of the server says about a message. */
export function takeMail(ledger: Ledger, record: MessageRecord, seq: number): void {
  const known = ledger.mail.get(record.id)
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
    createdAt: millisOf(record.created_at),
    updatedAt: millisOf(record.updated_at),
    by: record.accepted_by,
    cause: known?.cause ?? '',
    revisions: known?.revisions ?? 0,
    version: record.updated_at,
    isReleased: known?.isReleased ?? false,
    seq,
  })
}

const nanosPerMilli = 1_000_000n
const millisOf = (nanos: string): number => (/^\d+$/.test(nanos) ? Number(BigInt(nanos) / nanosPerMilli) : 0)
