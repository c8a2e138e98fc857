/**
 * Mail: inboxes, drafts, sending and replying, accepting and declining, threads, dead letters; and forks,
 * which mail can be written to.
 */
import { z } from 'zod'
import { MessageSource } from '../model/event.ts'
import { SessionId } from '../model/id.ts'
import { messageIdPattern } from '../model/mail.ts'
import type { Refusal } from '../model/refusal.ts'
import type { Who } from '../runtime/exchange.ts'
import type { MessageRecord } from '../runtime/mail-record.ts'
import type { MailAnswer, MailAsk } from '../runtime/mail-port.ts'
import { Session } from './answer-shapes.ts'
import { actIdOf } from './idempotency.ts'
import {
  answer,
  IdPath,
  notYours,
  onlyUser,
  openSession,
  shapes,
  traceOf,
  whoOf,
  type App,
  type Deps,
} from './route.ts'
import { senderOf } from './sender.ts'
import { isRefusal } from './wire-error.ts'

const tag = 'mail'

const Status = z.enum(['draft', 'ready', 'buffered', 'queued', 'delivered', 'answered', 'declined', 'dead'])
const nanos = z.string().regex(/^\d+$/).describe('nanoseconds since 1970')
const Letter = z
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
    status: Status,
  })
  .meta({ id: 'Letter' }) satisfies z.ZodType<MessageRecord>
const Before = z.strictObject({
  before: z.coerce.number().int().min(0).optional().describe('`next` of the page before'),
})
const LetterPage = z.object({
  messages: z.array(Letter),
  next: z.number().int().nullable().describe('null where this was the last page'),
})
const Notice = z.object({ seq: z.string(), at: z.number(), about: z.string(), text: z.string() })
const Inbox = z.object({
  messages: z.array(Letter),
  total: z.number().int(),
  notices: z
    .array(Notice)
    .describe('what it was told that nobody asked for: late results, children that failed; newest last'),
})
const noticesMax = 100
const SentLetter = z.object({
  id: z.string(),
  session: SessionId.nullable(),
  status: Status,
  draft: z.boolean(),
  buffered: z.boolean(),
}) satisfies z.ZodType<MailAnswer>
const Accepted = z.object({ message: Letter.nullable(), accepted: z.boolean() })

const text = z
  .string()
  .min(1, 'a text that is not empty')
  .refine((given) => given.isWellFormed(), 'text without halves of surrogate pairs')
const messageId = z.string().regex(messageIdPattern, 'letters, digits, "_" and "-", at most 128')
const from = z.string().min(1).max(200).optional().describe('the session that writes; without it the user')

export function mailRoutes(app: App, deps: Deps): void {
  inboxRoutes(app, deps)
  writingRoutes(app, deps)
  draftRoutes(app, deps)
  lookingRoutes(app, deps)
  forkRoute(app, deps)
}

function inboxRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  const Replies = z.strictObject({
    replies: z
      .enum(['true', 'false'])
      .transform((given) => given === 'true')
      .optional()
      .describe('only replies, or none'),
  })
  app.get(
    '/api/sessions/:id/inbox',
    {
      schema: shapes(
        {
          summary: 'The messages that wait for a session, oldest first',
          tag,
          params: IdPath,
          querystring: Replies,
        },
        { 200: Inbox },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const found = await openSession(deps, who, request.params.id)
      const inbox = isRefusal(found)
        ? found
        : await exchange.mail.inbox(who, found.id, request.query.replies ?? null)
      if (isRefusal(inbox) || isRefusal(found)) return answer(reply, 200, inbox)
      const notices = (await exchange.notices(found.id, noticesMax)).map((notice) => ({
        ...notice,
        seq: String(notice.seq),
      }))
      return answer(reply, 200, { ...inbox, notices })
    },
  )

  const Which = z
    .strictObject({
      which: z
        .union([z.string().min(1).max(132), z.number().int().min(1)])
        .default('oldest')
        .describe('"oldest", "newest", an id, or a place in the inbox that counts from 1'),
    })
    .default({ which: 'oldest' })
  const description =
    'One winner: who comes second is told who was first. A session that is run gets it as its next turn; where nothing waits, nothing is accepted.'
  app.post(
    '/api/sessions/:id/accept',
    {
      schema: shapes(
        { summary: 'Accept a message for a session', description, tag, params: IdPath, body: Which },
        { 200: Accepted },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const found = await openSession(deps, who, request.params.id)
      return answer(
        reply,
        200,
        isRefusal(found) ? found : await exchange.mail.accept(who, found.id, request.body.which, act.id),
      )
    },
  )

  app.get(
    '/api/sessions/:id/drafts',
    {
      schema: shapes(
        {
          summary: 'What a session has written and not sent, newest first',
          tag,
          params: IdPath,
          querystring: Before,
        },
        { 200: LetterPage },
      ),
    },
    async (request, reply) => {
      const found = await openSession(deps, whoOf(request), request.params.id)
      return answer(
        reply,
        200,
        isRefusal(found) ? found : await exchange.mail.drafts(found.id, request.query.before ?? null),
      )
    },
  )

  app.get(
    '/api/drafts',
    {
      schema: shapes(
        {
          summary: 'What all sessions, and the user, have written and not sent, newest first',
          tag,
          querystring: Before,
        },
        { 200: LetterPage },
      ),
    },
    async (request, reply) =>
      answer(
        reply,
        200,
        onlyUser(whoOf(request), 'see all drafts') ??
          (await exchange.mail.drafts(null, request.query.before ?? null)),
      ),
  )
}

const Post = z.strictObject({
  from,
  message: text,
  session: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('"new" (default), "fork", or a session by its id or a unique part of it'),
  elaborate: z.boolean().optional(),
  fork: z
    .union([z.boolean(), z.number().int().min(0)])
    .optional()
    .describe('of the session that writes: true, or so many messages back'),
  iterate: z.boolean().optional(),
  id: messageId.optional(),
  draft: z.boolean().optional(),
  reply: z.array(z.string().min(1).max(132)).max(1).optional(),
})

function writingRoutes(app: App, deps: Deps): void {
  const description =
    'To a session that is there it waits until it is accepted; to a new one or a fork, and as a reply, it is delivered at once. The same id again changes a draft, or is the same message.'
  app.post(
    '/api/messages',
    {
      schema: shapes(
        { summary: 'Write a message', description, tag, body: Post },
        { 201: SentLetter, 202: SentLetter },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const { from: given, ...asked } = request.body
      const as = await writerOf(deps, who, given ?? null)
      if (isRefusal(as)) return answer(reply, 403, as)
      const ask = Object.fromEntries(
        Object.entries(asked).filter(([, value]) => value !== undefined),
      ) as unknown as MailAsk
      const sent = await deps.exchange.mail.send(as, ask, act.id, traceOf(request))
      return answer(reply, !isRefusal(sent) && sent.draft ? 201 : 202, sent)
    },
  )
}

/** The user, or the session that a token or a believed name stands for. */
async function writerOf(deps: Deps, who: Who, given: string | null): Promise<Who | Refusal> {
  const sender = await senderOf(deps, who, 'from', given)
  return isRefusal(sender)
    ? sender
    : sender.session === null
      ? who
      : { kind: 'session', session: sender.session }
}

function draftRoutes(app: App, deps: Deps): void {
  const { mail } = deps.exchange
  const ifUpdatedAt = nanos
    .optional()
    .describe(
      '`updated_at` of the draft as it was read: one that was changed since is refused with `message_changed`',
    )
  const Patch = z.strictObject({ from, message: text, ifUpdatedAt })
  app.patch(
    '/api/messages/:id',
    {
      schema: shapes(
        {
          summary: 'Change a draft',
          description:
            'Its owner may, and the user. It stays its owner’s; what it was before, and who changed it, stay in the log.',
          tag,
          params: IdPath,
          body: Patch,
        },
        { 200: Letter },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const as = await writerOf(deps, who, request.body.from ?? null)
      return answer(
        reply,
        200,
        isRefusal(as)
          ? as
          : await mail.revise(
              as,
              { id: request.params.id, read: request.body.ifUpdatedAt ?? null },
              request.body.message,
              act.id,
            ),
      )
    },
  )

  const As = z.strictObject({ from }).default({})
  const Release = z.strictObject({ from, ifUpdatedAt }).default({})
  const description =
    'Its owner may, and the user, whatever the session does that wrote it: it is still from that session, has no more authority than the turn had that wrote it, and `releasedBy` in the log says who sent it. The sender is not woken.'
  app.post(
    '/api/messages/:id/release',
    {
      schema: shapes(
        { summary: 'Send a draft, once', description, tag, params: IdPath, body: Release },
        { 202: SentLetter },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const as = await writerOf(deps, who, request.body.from ?? null)
      return answer(
        reply,
        202,
        isRefusal(as)
          ? as
          : await mail.release(
              as,
              { id: request.params.id, read: request.body.ifUpdatedAt ?? null },
              act.id,
              traceOf(request),
            ),
      )
    },
  )

  app.post(
    '/api/messages/:id/decline',
    {
      schema: shapes(
        { summary: 'Decline a message that waits, or throw a draft away', tag, params: IdPath, body: As },
        { 200: Letter },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const as = await writerOf(deps, who, request.body.from ?? null)
      return answer(reply, 200, isRefusal(as) ? as : await mail.decline(as, request.params.id))
    },
  )
}

function lookingRoutes(app: App, deps: Deps): void {
  const { mail } = deps.exchange
  app.get(
    '/api/messages/:id',
    { schema: shapes({ summary: 'What became of a message', tag, params: IdPath }, { 200: Letter }) },
    async (request, reply) => answer(reply, 200, await mail.message(whoOf(request), request.params.id)),
  )

  const After = z.strictObject({
    after: z.coerce.number().int().min(0).optional().describe('`next` of the page before'),
  })
  app.get(
    '/api/messages/:id/thread',
    {
      schema: shapes(
        {
          summary: 'A message with what it answers and what answers it, oldest first',
          tag,
          params: IdPath,
          querystring: After,
        },
        { 200: LetterPage },
      ),
    },
    async (request, reply) =>
      answer(reply, 200, await mail.thread(whoOf(request), request.params.id, request.query.after ?? null)),
  )

  app.get(
    '/api/dead-letters',
    {
      schema: shapes(
        { summary: 'Messages whose receiver is gone, newest first', tag, querystring: Before },
        { 200: LetterPage },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      if (who.kind === 'turn') return answer(reply, 403, notYours(who, 'see dead letters'))
      const dead = await mail.deadLetters(request.query.before ?? null)
      return answer(
        reply,
        200,
        who.kind === 'user'
          ? dead
          : { ...dead, messages: dead.messages.filter((one) => one.from === who.session) },
      )
    },
  )
}

/** As one that was opened, and as one that is looked at. */
const Forked = Session.extend({ sessionId: SessionId })

function forkRoute(app: App, deps: Deps): void {
  const Fork = z
    .strictObject({
      back: z.number().int().min(0).optional().describe('so many messages back'),
      messageId: z.string().min(1).max(132).optional().describe('up to this message, with it'),
    })
    .default({})
  app.post(
    '/api/sessions/:id/fork',
    {
      schema: shapes(
        {
          summary: 'Open a session that shares the conversation of another',
          description:
            'From the latest message, unless told otherwise. Neither sees what is said in the other afterwards.',
          tag,
          params: IdPath,
          body: Fork,
        },
        { 201: Forked },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const found = await openSession(deps, who, request.params.id)
      if (isRefusal(found)) return answer(reply, 404, found)
      const view = await deps.exchange.mail.fork(
        who,
        { from: found.id, back: request.body.back ?? null, messageId: request.body.messageId ?? null },
        act.id,
      )
      return answer(reply, 201, isRefusal(view) ? view : { ...view, sessionId: view.id })
    },
  )
}
