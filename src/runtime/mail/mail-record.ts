/** A message as everybody outside sees it: the same keys in every state. */
import type { MessageFacts } from '../../model/facts.ts'
import { millisToNanos } from '../../model/mail.ts'
import type { MessageRecord } from '../../wire/mail.ts'

export const recordOfMessage = (known: MessageFacts): MessageRecord => ({
  id: known.id,
  created_at: millisToNanos(known.createdAt, known.createdSeq),
  updated_at: millisToNanos(known.updatedAt, known.updatedSeq),
  from: known.from,
  to: known.to,
  'in-reply-to': known.inReplyTo,
  draft: known.status === 'draft',
  buffered: known.status === 'buffered',
  accepted_at: known.acceptedAt === null ? null : millisToNanos(known.acceptedAt, known.acceptedSeq ?? 0),
  accepted_by:
    known.acceptedAt === null || known.acceptedBy === 'user' || known.acceptedBy === known.to
      ? null
      : known.acceptedBy,
  initial: known.initial,
  message: known.text,
  source: known.source,
  status: known.status,
})
