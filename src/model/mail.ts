/**
 * The life of a message, from draft to answer. Each act is a pure function over what is known: the events
 * that record it, or the refusal.
 *
 * M1: A message that was sent is in exactly one place until it ends: in the inbox, in the queue, or with its
 * receiver. Nothing but an act here moves it.
 * M2: It is accepted once. Who comes later learns who was first.
 * M3: Only its owner changes a draft, and the user, who owns them all; it stays its owner's, whatever it was
 * before stays in the log, and so does who changed it.
 * M4: A reply answers what was addressed to the replier and has reached it, and goes to its writer.
 * M5: One id is one message, however often it is tried.
 * M6: What waits for a client outside is taken by that client alone. A person's accept releases it to the client.
 * Whether it may be sent at all is decided by `send.ts`, like any other message.
 */
import type { Event, EventOf, MessageSource } from './event.ts'
import type { MailTarget, Notices } from './event-parts.ts'
import type { MessageFacts, MessageRow, MessageStatus } from './facts.ts'
import type { MessageId, Millis, SessionId, TurnId } from './id.ts'
import type { Refusal } from './refusal.ts'

/** The user's own: the owner of what the user writes, and where replies to the user wait. Nobody runs it. */
export const userSession: SessionId = 'ses_user'

/** `msg_x` and `x` are one id: a message and its turn share what follows. */
export const idSuffix = (id: MessageId): string => (id.startsWith('msg_') ? id.slice(4) : id)
export const sameMessage = (a: MessageId, b: MessageId): boolean => idSuffix(a) === idSuffix(b)
/** Ids that are drawn here have one form: a chosen one could take the place of the next. */
export const looksDrawn = (id: string): boolean => /^\d{21}$/.test(idSuffix(id))

/** A time in nanoseconds: the number of the event makes the last digits, so that later events are later. */
export const millisToNanos = (at: Millis, seq: number): string =>
  (BigInt(Math.floor(at)) * 1_000_000n + BigInt(seq % 1_000_000)).toString()

export const messageIdPattern = /^[A-Za-z0-9_-]{1,128}$/

/** It waits in an inbox. */
export const isWaiting = ({ status }: Pick<MessageRow, 'status'>): boolean =>
  status === 'buffered' || status === 'ready'
/** Nothing will change it any more, but for an answer to what was delivered. */
export const isOver = ({ status }: Pick<MessageRow, 'status'>): boolean =>
  status === 'delivered' || status === 'answered' || status === 'declined' || status === 'dead'

/** Who writes: the session whose draft it is, and the turn in which it is written. */
export type Author = {
  session: SessionId
  turn: TurnId | null
  source: MessageSource
  /** A person, in whose place the session stands. */
  by?: 'user' | undefined
}

export type Draft = {
  message: MessageId
  target: MailTarget
  inReplyTo: MessageId | null
  /** As it was written. */
  initial: string
  /** As it is to be read. */
  text: string
  how: EventOf<'message.revised'>['how']
  instructions: string | null
  note: string | null
  act: string | null
}

/** M3: a message that is there may be changed by its owner, or the user, while it is a draft. */
export function changeable(known: MessageRow, author: SessionId | 'user'): Refusal | null {
  if (known.owner !== author && author !== 'user') return { code: 'message_not_yours', message: known.id }
  return known.status === 'draft' ? null : { code: 'message_already_sent', message: known.id }
}

/** Begins a draft, or changes one. The same act again, or a change of nothing, records nothing (M5). */
export function draftMessage(known: MessageFacts | null, author: Author, draft: Draft): Event[] | Refusal {
  const place = {
    session: author.session,
    turn: author.turn,
    message: draft.message,
    target: draft.target,
    inReplyTo: draft.inReplyTo,
    act: draft.act,
  }
  const revised: EventOf<'message.revised'> = {
    type: 'message.revised',
    ...place,
    text: draft.text,
    how: draft.how,
    instructions: draft.instructions,
    note: draft.note,
  }
  if (known === null) {
    const first: EventOf<'message.drafted'> = {
      type: 'message.drafted',
      ...place,
      source: author.source,
      text: draft.initial,
    }
    return draft.text === draft.initial && draft.note === null ? [first] : [first, revised]
  }
  const refusal = changeable(known, author.session)
  if (refusal !== null) return refusal
  if (author.by !== undefined) Object.assign(revised, { revisedBy: author.by, writtenIn: known.writtenIn })
  const again = draft.act !== null && known.draftAct === draft.act
  const same =
    known.text === draft.text &&
    sameTarget(known.target, draft.target) &&
    known.inReplyTo === draft.inReplyTo &&
    draft.note === null &&
    draft.how === 'written'
  return again || same ? [] : [{ ...revised, message: known.id }]
}

/**
 * What goes before `message.sent`: a draft as it is sent, or as it was written where it is sent otherwise.
 * M5: a message that was sent before is not sent again.
 */
export function beforeSending(
  known: MessageFacts | null,
  author: Author,
  draft: Draft | null,
): Event[] | Refusal | 'known' {
  if (known !== null && known.status !== 'draft') return 'known'
  const asWritten = draft === null || (known === null && draft.text === draft.initial && draft.note === null)
  if (asWritten) return (known === null ? null : changeable(known, author.session)) ?? []
  return draftMessage(known, author, draft)
}

const sameTarget = (a: MailTarget, b: MailTarget): boolean =>
  a.kind === b.kind &&
  (a.kind !== 'session' || (b.kind === 'session' && a.session === b.session)) &&
  (a.kind !== 'fork' || (b.kind === 'fork' && a.back === b.back))

/** M4 */
export function replyTo(given: MessageId, known: MessageRow | null, replier: SessionId): SessionId | Refusal {
  if (known === null) return { code: 'message_unknown', message: given }
  // What came to the address of a client is answered by the one who took it there.
  const isMine = known.to === replier || (known.acceptedBy === replier && known.turn === null)
  if (!isMine || (known.status !== 'delivered' && known.status !== 'answered'))
    return { code: 'reply_not_addressed', message: known.id }
  return known.from ?? userSession
}

/** The reply was sent: what it answers is answered. */
export const answeredEvent = (
  known: MessageRow,
  reply: MessageId,
  turn: TurnId | null,
): EventOf<'message.answered'> => ({
  type: 'message.answered',
  session: known.to ?? known.owner,
  turn,
  message: known.id,
  reply,
  from: known.from,
})

/**
 * Who accepts: a session, or the user (null). `turn` is the accepting turn where the receiver itself accepts
 * in one, and the new one where the message opens it.
 */
export type Acceptance = {
  by: SessionId | null
  turn: TurnId | null
  opens: boolean
  act: string | null
  /** Of its text, where it opens a turn. */
  tokens: number
  /** For the turn that it opens. */
  notices?: Notices | null
}

/** M2: accepted and delivered are decided at once, so that no message lies between the two. */
export function acceptMessage(
  known: MessageFacts,
  { by, turn, opens, act, tokens, notices = null }: Acceptance,
): Event[] | Refusal {
  const { sent, to } = known
  if (!isWaiting(known) || sent === null || to === null) return taken(known)
  return [
    {
      type: 'message.accepted',
      session: to,
      turn: opens ? null : turn,
      message: known.id,
      by,
      act,
      from: known.from,
    },
    {
      ...sent,
      type: 'message.delivered',
      session: to,
      turn,
      opens,
      tokens,
      ...(notices === null ? {} : { notices }),
    },
  ]
}

/** M6: released again, it is what it was. */
export const releaseMessage = (known: MessageRow, act: string | null): Event[] =>
  known.status !== 'buffered' || known.to === null
    ? []
    : [{ type: 'message.released', session: known.to, turn: null, message: known.id, act, from: known.from }]

/** M6: what an accept comes to. The user's own session is the user's. */
export function judgeAccept(
  receiver: { id: SessionId; kind: string },
  by: { session: SessionId | null; address: SessionId | null },
): 'accept' | 'release' | Refusal {
  if (receiver.kind !== 'external' || by.session === receiver.id || by.address === receiver.id)
    return 'accept'
  if (by.session === null) return receiver.id === userSession ? 'accept' : 'release'
  return {
    code: 'not_allowed',
    agent: `Session ${by.session}`,
    what: `accept mail for ${receiver.id}, which a client outside runs`,
    allowed: ['reading it', 'its own mail'],
  }
}

/** What waits may be declined by those who may accept it, a draft by its owner. The sender is notified. */
export function declineMessage(known: MessageRow, by: SessionId | null): Event[] | Refusal {
  // Declined before: tried again, it is what it was, and who did it is on record.
  if (known.status === 'declined') return []
  if (known.status === 'draft')
    return [
      { type: 'message.declined', session: known.owner, turn: null, message: known.id, by, from: known.from },
    ]
  if (!isWaiting(known) || known.to === null) return taken(known)
  return [
    { type: 'message.declined', session: known.to, turn: null, message: known.id, by, from: known.from },
    ...notifySender(known, `Message ${known.id} to ${known.to} was declined by ${by ?? 'the user'}.`),
  ]
}

/** Their receiver is gone: they are dead letters, and their senders are notified. */
export const buryMessages = (waiting: readonly MessageRow[], cause: string): Event[] =>
  waiting.filter(isWaiting).flatMap((known): Event[] => [
    {
      type: 'message.died',
      session: known.to ?? known.owner,
      turn: null,
      message: known.id,
      from: known.from,
      cause,
    },
    ...notifySender(known, `Message ${known.id} to ${known.to ?? 'nobody'} was not read: ${cause}.`),
  ])

const notifySender = ({ from, id }: MessageRow, text: string): Event[] =>
  from === null ? [] : [{ type: 'notice.raised', session: from, turn: null, about: id, text }]

const fates: Record<MessageStatus, string> = {
  draft: 'kept as a draft',
  buffered: 'buffered',
  ready: 'ready',
  queued: 'accepted',
  delivered: 'accepted',
  answered: 'accepted',
  declined: 'declined',
  dead: 'given up',
}

/** M2: who was first is said. */
export function taken(known: MessageRow): Refusal {
  if (known.status === 'draft') return { code: 'message_unknown', message: known.id }
  const by =
    known.acceptedBy === 'user'
      ? 'the user'
      : (known.acceptedBy ?? (known.status === 'dead' ? 'nobody' : (known.to ?? 'nobody')))
  return { code: 'message_taken', message: known.id, how: fates[known.status], by }
}

export type Which = { kind: 'oldest' } | { kind: 'newest' } | { kind: 'named'; name: string }

/** Picks from those that wait, oldest first: by place, by id, or else by a number that counts from 1. */
export function pickWaiting<M extends MessageRow>(waiting: readonly M[], which: Which): M | null {
  if (which.kind === 'oldest') return waiting[0] ?? null
  if (which.kind === 'newest') return waiting.at(-1) ?? null
  const byId = waiting.find(({ id }) => sameMessage(id, which.name))
  if (byId !== undefined) return byId
  return /^[1-9]\d{0,8}$/.test(which.name) ? (waiting[Number(which.name) - 1] ?? null) : null
}
