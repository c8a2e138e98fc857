/** Sessions: open, list, read, write to, fork, adopt, archive; their state, and cancelling what they do. */
import { externalAgent } from '../model/agent.ts'
import { isRefusal } from '../model/refusal.ts'
import { IdPath } from '../wire/scalars.ts'
import {
  Archived,
  Cancel,
  Cancelled,
  CreatedSession,
  Fork,
  ForkedSession,
  History,
  HistoryQuery,
  NewMessage,
  NewParent,
  NewSession,
  SentMessage,
  Session,
  Sessions,
  SessionsQuery,
  SessionState,
  WaitQuery,
} from '../wire/sessions.ts'
import { defineRoutes, requireWho, type App, type Deps } from './route.ts'

export function sessionRoutes(app: App, deps: Deps): void {
  openingRoutes(app, deps)
  lifeRoutes(app, deps)
  messageRoutes(app, deps)
}

function openingRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'sessions')
  route(
    'POST',
    '/api/sessions',
    { summary: 'Open a session', body: NewSession, answers: { 201: CreatedSession } },
    async ({ desk, body, request }) => {
      const made = await desk.sessions.create(body)
      if (isRefusal(made)) return made
      // A client of the user acts through an external session, which needs that session's own token.
      const isClients = requireWho(request).kind === 'user' && made.agent === externalAgent.name
      return { ...made, token: isClients ? deps.identity.tokenOf(made.sessionId) : null }
    },
  )
  route(
    'GET',
    '/api/sessions',
    { summary: 'List sessions, newest first', query: SessionsQuery, answers: { 200: Sessions } },
    ({ desk, query }) => desk.sessions.list(query),
  )
  route(
    'POST',
    '/api/sessions/:id/fork',
    {
      summary: 'Open a session that shares the conversation of another',
      description:
        'From the latest message, unless told otherwise. Neither sees what is said in the other afterwards.',
      params: IdPath,
      body: Fork,
      answers: { 201: ForkedSession },
    },
    ({ desk, params, body }) => desk.sessions.fork(params.id, body),
  )
}

function lifeRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'sessions')
  const params = IdPath
  route('GET', '/api/sessions/:id', { summary: 'One session', params, answers: { 200: Session } }, (asked) =>
    asked.desk.sessions.get(asked.params.id),
  )
  route(
    'DELETE',
    '/api/sessions/:id',
    { summary: 'Cancel and archive a session with its children', params, answers: { 200: Archived } },
    (asked) => asked.desk.sessions.archive(asked.params.id),
  )
  route(
    'POST',
    '/api/sessions/:id/adopt',
    { summary: 'Give a session a new parent', params, body: NewParent, answers: { 200: Session } },
    (asked) => asked.desk.sessions.adopt(asked.params.id, asked.body.parent),
  )
  route(
    'GET',
    '/api/sessions/:id/state',
    { summary: 'What a session does now', params, answers: { 200: SessionState } },
    (asked) => asked.desk.sessions.state(asked.params.id),
  )
  route(
    'GET',
    '/api/sessions/:id/wait',
    {
      summary: 'Wait until a session is idle',
      description:
        'Answers with the state when it is idle, and with the present state when the time is over.',
      params,
      query: WaitQuery,
      answers: { 200: SessionState },
      whenStopping: 'waitEnds',
    },
    (asked) => asked.desk.sessions.wait(asked.params.id, asked.query.timeoutMs),
  )
  route(
    'POST',
    '/api/sessions/:id/cancel',
    {
      summary: 'End the current turn and everything below it',
      params,
      body: Cancel,
      answers: { 200: Cancelled },
    },
    (asked) => asked.desk.sessions.cancel(asked.params.id, asked.body),
  )
}

function messageRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'messages')
  route(
    'POST',
    '/api/sessions/:id/messages',
    {
      summary: 'Send a message to a session',
      description:
        'Answers when the message is durable and, where the session was idle, its turn has started.',
      params: IdPath,
      body: NewMessage,
      answers: { 202: SentMessage },
    },
    ({ desk, params, body }) => desk.sessions.send(params.id, body),
  )
  route(
    'GET',
    '/api/sessions/:id/messages',
    {
      summary: 'The conversation of a session',
      description:
        'The newest page first; each page is oldest first. Long texts make a page short: go on until ' +
        '`next` is null.',
      params: IdPath,
      query: HistoryQuery,
      answers: { 200: History },
    },
    ({ desk, params, query }) => desk.sessions.history(params.id, query),
  )
}
