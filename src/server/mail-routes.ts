/** Mail: inboxes, drafts, sending and replying, accepting and declining, threads, dead letters. */
import {
  Accept,
  AcceptedMail,
  After,
  Before,
  DeclineMail,
  Inbox,
  InboxQuery,
  MailPage,
  MessageRecord,
  NewMail,
  ReleaseMail,
  ReviseMail,
  SentMail,
} from '../wire/mail.ts'
import { IdPath } from '../wire/scalars.ts'
import { defineRoutes, type App, type Deps } from './route.ts'

export function mailRoutes(app: App, deps: Deps): void {
  inboxRoutes(app, deps)
  draftRoutes(app, deps)
  readingRoutes(app, deps)
}

function inboxRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'mail')
  const params = IdPath
  route(
    'GET',
    '/api/sessions/:id/inbox',
    {
      summary: 'The messages that wait for a session, oldest first',
      description: 'Long texts make a page short: go on until `next` is null.',
      params,
      query: InboxQuery,
      answers: { 200: Inbox },
    },
    (asked) => asked.desk.mail.inbox(asked.params.id, asked.query),
  )
  route(
    'POST',
    '/api/sessions/:id/accept',
    {
      summary: 'Accept a message for a session',
      description:
        'One winner: the second is told who was first. A session that is run gets it as its next turn; ' +
        'where nothing waits, nothing is accepted.',
      params,
      body: Accept,
      answers: { 200: AcceptedMail },
    },
    (asked) => asked.desk.mail.accept(asked.params.id, asked.body.which),
  )
  route(
    'GET',
    '/api/sessions/:id/drafts',
    {
      summary: 'What a session has written and not sent, newest first',
      params,
      query: Before,
      answers: { 200: MailPage },
    },
    (asked) => asked.desk.mail.drafts(asked.params.id, asked.query),
  )
  route(
    'GET',
    '/api/drafts',
    {
      summary: 'What all sessions, and the user, have written and not sent, newest first',
      query: Before,
      answers: { 200: MailPage },
    },
    (asked) => asked.desk.mail.drafts(null, asked.query),
  )
}

function draftRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'mail')
  const params = IdPath
  route(
    'POST',
    '/api/messages',
    {
      summary: 'Write a message',
      description:
        'To a session that is there it waits until it is accepted; to a new one or a fork, and as a ' +
        'reply, it is delivered at once. The same id again changes a draft, or is the same message.',
      body: NewMail,
      answers: { 202: SentMail, 201: SentMail },
      status: (sent) => ('draft' in sent && sent.draft === true ? 201 : 202),
    },
    (asked) => asked.desk.mail.send(asked.body),
  )
  route(
    'PATCH',
    '/api/messages/:id',
    {
      summary: 'Change a draft',
      description:
        'Its owner may, and the user. It stays its owner’s; what it was before, and who changed it, stay in the log.',
      params,
      body: ReviseMail,
      answers: { 200: MessageRecord },
    },
    (asked) => asked.desk.mail.revise(asked.params.id, asked.body),
  )
  route(
    'POST',
    '/api/messages/:id/release',
    {
      summary: 'Send a draft, once',
      description:
        'Its owner may, and the user, whatever the session does that wrote it: it is still from that ' +
        'session, has no more authority than the turn had that wrote it, and `releasedBy` in the log ' +
        'says who sent it. The sender is not woken.',
      params,
      body: ReleaseMail,
      answers: { 202: SentMail },
    },
    (asked) => asked.desk.mail.release(asked.params.id, asked.body),
  )
  route(
    'POST',
    '/api/messages/:id/decline',
    {
      summary: 'Decline a message that waits, or throw a draft away',
      params,
      body: DeclineMail,
      answers: { 200: MessageRecord },
    },
    (asked) => asked.desk.mail.decline(asked.params.id, asked.body),
  )
}

function readingRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'mail')
  route(
    'GET',
    '/api/messages/:id',
    { summary: 'What became of a message', params: IdPath, answers: { 200: MessageRecord } },
    (asked) => asked.desk.mail.get(asked.params.id),
  )
  route(
    'GET',
    '/api/messages/:id/thread',
    {
      summary: 'A message with what it answers and what answers it, oldest first',
      params: IdPath,
      query: After,
      answers: { 200: MailPage },
    },
    (asked) => asked.desk.mail.thread(asked.params.id, asked.query),
  )
  route(
    'GET',
    '/api/dead-letters',
    { summary: 'Messages whose receiver is gone, newest first', query: Before, answers: { 200: MailPage } },
    (asked) => asked.desk.mail.deadLetters(asked.query),
  )
}
