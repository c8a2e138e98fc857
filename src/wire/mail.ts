/** Mail: letters between sessions, their drafts and inboxes. */
import { z } from 'zod'
import { MessageSource } from '../model/event.ts'
import { MessageStatus } from '../model/facts.ts'
import { SessionId } from '../model/id.ts'
import { messageIdPattern } from '../model/mail.ts'
import { count, Flag, IdText, millis, nanos, PageNumber, Text } from './scalars.ts'

export const MessageRecord = z
  .object({
    id: z.string(),
    created_at: nanos,
    updated_at: nanos,
    from: SessionId.nullable(),
    to: SessionId.nullable(),
    'in-reply-to': z.string().nullable(),
    draft: z.boolean(),
    buffered: z.boolean(),
    accepted_at: nanos.nullable(),
    accepted_by: SessionId.nullable().describe('null unless another session than `to`'),
    initial: z.string().describe('what was written first'),
    message: z.string(),
    source: MessageSource,
    status: MessageStatus,
  })
  .meta({ id: 'Letter' })
export type MessageRecord = z.infer<typeof MessageRecord>

export const MailPage = z.object({
  messages: z.array(MessageRecord),
  next: count.nullable().describe('null where this was the last page'),
})
export type MailPage = z.infer<typeof MailPage>
export const Before = z.strictObject({ before: PageNumber })
export const After = z.strictObject({ after: PageNumber })

export const InboxQuery = z.strictObject({
  after: PageNumber,
  replies: Flag.optional().describe('only replies, or none'),
})
export const Inbox = z.object({
  messages: z.array(MessageRecord),
  total: count.describe('how many wait, also those of other pages'),
  next: count.nullable().describe('`after` of the next page; null where this was the last'),
  notices: z
    .array(z.object({ seq: z.string(), at: millis, about: z.string(), text: z.string() }))
    .describe(
      'what it was told that nobody asked for: late results, children that failed; newest last. All that no turn ' +
        'was given yet, and what stands among the newest 2,000 rows of its timeline',
    ),
})
export type Inbox = z.infer<typeof Inbox>

export const Accept = z
  .strictObject({
    which: z
      .union([z.string().min(1).max(132), z.number().int().min(1)])
      .default('oldest')
      .describe('"oldest", "newest", an id, or a place in the inbox that counts from 1'),
  })
  .default({ which: 'oldest' })
export const AcceptedMail = z.object({
  message: MessageRecord.nullable(),
  accepted: z.boolean(),
  released: z.boolean().describe('it is for a client, who may take it now'),
})
export type AcceptedMail = z.infer<typeof AcceptedMail>

const from = IdText.optional().describe('the session that writes; without it the user')
const ifUpdatedAt = nanos
  .optional()
  .describe(
    '`updated_at` of the draft as it was read: one that was changed since is refused with `message_changed`',
  )

export const NewMail = z.strictObject({
  from,
  message: Text.optional().describe('left out, the draft with this id is sent as it is'),
  session: IdText.optional().describe(
    '"new" (default), "fork", or a session by its id or a unique part of it',
  ),
  elaborate: z.boolean().optional(),
  fork: z
    .union([z.boolean(), z.number().int().min(0)])
    .optional()
    .describe('of the session that writes: true, or so many messages back'),
  iterate: z.boolean().optional(),
  id: z.string().regex(messageIdPattern, 'letters, digits, "_" and "-", at most 128').optional(),
  draft: z.boolean().optional(),
  reply: z.array(z.string().min(1).max(132)).max(1).optional(),
})
export type NewMail = z.infer<typeof NewMail>

export const SentMail = z.object({
  id: z.string(),
  session: SessionId.nullable(),
  status: MessageStatus,
  draft: z.boolean(),
  buffered: z.boolean(),
  message: z.string().nullable().describe('of a draft: its present text'),
  note: z.string().nullable().describe('why a draft was not written out, and so not sent'),
})
export type SentMail = z.infer<typeof SentMail>

export const ReviseMail = z.strictObject({ from, message: Text, ifUpdatedAt })
export const ReleaseMail = z.strictObject({ from, ifUpdatedAt }).default({})
export const DeclineMail = z.strictObject({ from }).default({})
