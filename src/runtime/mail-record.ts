/** A message as everybody outside sees it: the same keys in every state. */
import type { MessageFacts, MessageStatus } from '../model/facts.ts'
import type { MessageSource } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { nanosOf } from '../model/mail.ts'

/** Times are nanoseconds since 1970 as decimal texts. */
export type MessageRecord = {
  id: string
  created_at: string
  updated_at: string
  from: SessionId | null
  to: SessionId | null
  'in-reply-to': string | null
  draft: boolean
  buffered: boolean
  accepted_at: string | null
  /** Null unless another session than `to` accepted it. */
  accepted_by: SessionId | null
  initial: string
  message: string
  source: MessageSource
  status: MessageStatus
}

export const recordOfMessage = (known: MessageFacts): MessageRecord => ({
  id: known.id,
  created_at: nanosOf(known.createdAt, known.createdSeq),
  updated_at: nanosOf(known.updatedAt, known.updatedSeq),
  from: known.from,
  to: known.to,
  'in-reply-to': known.inReplyTo,
  draft: known.status === 'draft',
  buffered: known.status === 'buffered',
  accepted_at: known.acceptedAt === null ? null : nanosOf(known.acceptedAt, known.acceptedSeq ?? 0),
  accepted_by:
    known.acceptedAt === null || known.acceptedBy === 'user' || known.acceptedBy === known.to
      ? null
      : known.acceptedBy,
  initial: known.initial,
  message: known.text,
  source: known.source,
  status: known.status,
})
