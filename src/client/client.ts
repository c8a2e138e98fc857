/**
 * One typed client for every route of a Tieline server, in Node and in browsers.
 *
 * A refusal is thrown as a TielineError; a server that does not answer as a ServerUnreachable. Requests whose
 * connection broke are tried again, POSTs with an Idempotency-Key, so that nothing happens twice.
 * A blocking request takes an AbortSignal; when it aborts, the server sees the client go and cancels what it
 * asked for.
 */
import { hostConnection, type HostAsk, type HostConnection } from './host.ts'
import type { AgentView } from '../wire/agents.ts'
import type { CallAnswer, CallRecord, ListedCall, NewCall } from '../wire/calls.ts'
import type {
  CreatedSession,
  HistoryEntry,
  NewMessage,
  NewSession,
  SentMessage,
  Session,
  SessionState,
} from '../wire/sessions.ts'
import type { Flow, FlowEvents, StreamedEvent, WaitEdge } from '../wire/log.ts'
import type { Health, Numbers, ServerView } from '../wire/server.ts'
import type { MessageRecord, NewMail, SentMail } from '../wire/mail.ts'
import type { Question } from '../wire/questions.ts'
import type { ToolSpec, NewTrace } from '../wire/tools.ts'
import { eventStream, type EventsAsk, type OpenSocket } from './event-stream.ts'
import type { SessionId } from '../model/id.ts'
import type { Json } from '../model/json.ts'
import { lettaRoutes, type LettaRoutes } from './letta-routes.ts'
import { requester, type Fetch, type Once, type Request } from './request.ts'
import { surroundings as ordinary, type Surroundings } from './surroundings.ts'

export type ClientOptions = {
  /** `http://127.0.0.1:8283` */
  url: string
  token?: string | null | undefined
  /**
   * What this program is called; its calls come from a session of that name. Browsers say who they are
   * themselves.
   */
  name?: string | undefined
  fetch?: Fetch
  /** Makes the WebSocket of the event stream; otherwise the global one is used. */
  openSocket?: OpenSocket
  surroundings?: Surroundings
}

export type SessionsAsk = {
  dir?: string
  active?: boolean
  agent?: string
  parent?: string
  archived?: boolean
  cursor?: string
  limit?: number
}

export type TielineClient = {
  readonly url: string
  /** Asked once, without retries: whether somebody is there. */
  health(once?: Once): Promise<Health>
  /** What it is, and in which directory sessions work that name none. */
  server(once?: Once): Promise<ServerView>
  readonly sessions: SessionRoutes
  readonly calls: {
    /** Blocks until the callee has ended, unless it goes on in the background. */
    open(call: NewCall, once?: Once): Promise<CallAnswer>
    /** Newest first. */
    list(ask?: { session?: string; limit?: number }, once?: Once): Promise<ListedCall[]>
    /** One page, which may be short; `next` is the cursor of the one after it. */
    page(
      ask?: { session?: string; limit?: number; cursor?: string },
      once?: Once,
    ): Promise<{ calls: ListedCall[]; next: string | null }>
    get(id: string, once?: Once): Promise<CallRecord>
  }
  flow(id: string, once?: Once): Promise<Flow>
  /**
   * Every event of a flow, oldest first; `next` is the `after` of the next page, and the stream goes on after
   * `upTo`.
   */
  flowEvents(id: string, ask?: { after?: string; limit?: number }, once?: Once): Promise<FlowEvents>
  waits(once?: Once): Promise<WaitEdge[]>
  /**
   * What the whole log adds up to, or since a time in the last day. While `complete` is false, older events
   * are still being counted.
   */
  numbers(ask?: { since?: number }, once?: Once): Promise<Numbers>
  readonly mail: MailRoutes
  readonly questions: {
    list(once?: Once): Promise<Question[]>
    answer(
      id: string,
      answer: 'allow' | 'deny',
      once?: Once,
    ): Promise<{ question: string; answer: 'allow' | 'deny' }>
  }
  agents(once?: Once): Promise<AgentView[]>
  readonly tools: ToolRoutes
  /** Persistent agents under `/v1`. */
  readonly v1: LettaRoutes
  /** Everything that happens, as one sequence that outlives connections. */
  events(ask?: EventsAsk): AsyncGenerator<StreamedEvent>
  /** Makes this program the runner of sessions of its own. */
  host(ask: HostAsk): HostConnection
}

export type SessionRoutes = {
  create(session: NewSession, once?: Once): Promise<CreatedSession>
  list(ask?: SessionsAsk, once?: Once): Promise<{ sessions: Session[]; next: string | null }>
  get(id: string, once?: Once): Promise<Session>
  archive(id: string, once?: Once): Promise<{ archived: string[] }>
  send(id: string, message: NewMessage, once?: Once): Promise<SentMessage>
  history(
    id: string,
    ask?: { before?: number; limit?: number },
    once?: Once,
  ): Promise<{ messages: HistoryEntry[]; next: number | null }>
  state(id: string, once?: Once): Promise<SessionState>
  /** Until it is idle, or the time is over. */
  wait(id: string, ask?: { timeoutMs?: number }, once?: Once): Promise<SessionState>
  /** The turn that runs; `all` also those that wait, `turn` that one alone. */
  cancel(id: string, ask?: { all?: boolean; turn?: string }, once?: Once): Promise<{ cancelled: number }>
  fork(
    id: string,
    ask?: { back?: number; messageId?: string },
    once?: Once,
  ): Promise<Session & { sessionId: SessionId }>
  adopt(id: string, parent: string | null, once?: Once): Promise<Session>
}

export type ToolRoutes = {
  /** Those of the session that asks, or those that any session of an agent has. */
  list(ask?: { session?: string; agent?: string }, once?: Once): Promise<ToolSpec[]>
  /** Blocks until it has answered. What is not allowed is an answer in the tool's own shape. */
  use(
    name: string,
    input: Json,
    ask?: { session?: string },
    once?: Once,
  ): Promise<{ ok: boolean; value: Json }>
  /** What a tool of this program did in a session of its own. */
  trace(session: string, traced: NewTrace, once?: Once): Promise<{ recorded: boolean }>
}

export type MailRoutes = {
  /** Oldest first; `replies`: true only replies, false none, otherwise all. */
  inbox(
    session: string,
    ask?: { replies?: boolean },
    once?: Once,
  ): Promise<{ messages: MessageRecord[]; total: number }>
  /**
   * `oldest`, `newest`, an id, or a place in the list that counts from 1. Where nothing waits, nothing is
   * accepted.
   */
  accept(
    session: string,
    which: string | number,
    once?: Once,
  ): Promise<{ message: MessageRecord | null; accepted: boolean }>
  send(message: NewMail, once?: Once): Promise<SentMail>
  get(id: string, once?: Once): Promise<MessageRecord>
  /** With `ifUpdatedAt` a draft that was changed since it was read is left as it is (`message_changed`). */
  revise(id: string, message: string, once?: Once & { ifUpdatedAt?: string }): Promise<MessageRecord>
  release(id: string, once?: Once & { ifUpdatedAt?: string }): Promise<SentMail>
  decline(id: string, once?: Once): Promise<MessageRecord>
  /**
   * What a session has written and not sent, or, without one, what everybody has; newest first, `next` is the
   * `before` of the next page.
   */
  drafts(
    session: string | null,
    ask?: { before?: number },
    once?: Once,
  ): Promise<{ messages: MessageRecord[]; next: number | null }>
  /**
   * A message with what it answers and what answers it, oldest first; `next` is the `after` of the next page.
   */
  thread(
    id: string,
    ask?: { after?: number },
    once?: Once,
  ): Promise<{ messages: MessageRecord[]; next: number | null }>
  /** The newest first; `next` is the `before` of the next page. */
  deadLetters(
    ask?: { before?: number },
    once?: Once,
  ): Promise<{ messages: MessageRecord[]; next: number | null }>
}

const callsListed = 50

function callRoutes(request: Request): TielineClient['calls'] {
  const page: TielineClient['calls']['page'] = ({ session, ...query } = {}, once) =>
    request('GET', session === undefined ? '/api/calls' : `${place(session)}/calls`, { query, ...once })
  return {
    open: (call, once) => request('POST', '/api/calls', { body: call, ...once }),
    page,
    async list({ session, limit = callsListed } = {}, once) {
      const calls: ListedCall[] = []
      for (let cursor: string | null = ''; cursor !== null && calls.length < limit;) {
        const found: { calls: ListedCall[]; next?: string | null } = await page(
          {
            ...(session === undefined ? {} : { session }),
            limit: limit - calls.length,
            ...(cursor === '' ? {} : { cursor }),
          },
          once,
        )
        calls.push(...found.calls)
        cursor = found.next ?? null
      }
      return calls
    },
    get: (id, once) => request('GET', `/api/calls/${encodeURIComponent(id)}`, once),
  }
}

export function tielineClient(options: ClientOptions): TielineClient {
  const settings = {
    url: options.url,
    token: options.token ?? null,
    name: options.name ?? null,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    surroundings: options.surroundings ?? ordinary,
  }
  const request = requester(settings)
  const openSocket = options.openSocket ?? ((url) => new WebSocket(url))
  return {
    url: options.url,
    health: (once) => request('GET', '/health', { ...once, triesMax: 1, alsoTakes: 503 }),
    server: (once) => request('GET', '/api/server', once),
    sessions: sessionRoutes(request),
    calls: callRoutes(request),
    flow: (id, once) => request('GET', `/api/flows/${encodeURIComponent(id)}`, once),
    flowEvents: (id, ask, once) =>
      request('GET', `/api/flows/${encodeURIComponent(id)}/events`, { query: { ...ask }, ...once }),
    waits: async (once) => (await request<{ waits: WaitEdge[] }>('GET', '/api/waits', once)).waits,
    numbers: (ask, once) => request('GET', '/api/numbers', { query: { ...ask }, ...once }),
    mail: mailRoutes(request),
    questions: {
      list: async (once) =>
        (await request<{ questions: Question[] }>('GET', '/api/questions', once)).questions,
      answer: (id, answer, once) =>
        request('POST', `/api/questions/${encodeURIComponent(id)}`, { body: { answer }, ...once }),
    },
    agents: async (once) => (await request<{ agents: AgentView[] }>('GET', '/api/agents', once)).agents,
    tools: toolRoutes(request),
    v1: lettaRoutes(request, settings),
    events: (ask = {}) => eventStream({ ...settings, openSocket, request }, ask),
    host: (ask) =>
      hostConnection({ ...settings, openSocket, as: (token) => tielineClient({ ...options, token }) }, ask),
  }
}

const place = (session: string): string => `/api/sessions/${encodeURIComponent(session)}`

const sessionRoutes = (request: Request): SessionRoutes => ({
  create: (session, once) => request('POST', '/api/sessions', { body: session, ...once }),
  list: (ask, once) => request('GET', '/api/sessions', { query: { ...ask }, ...once }),
  get: (id, once) => request('GET', place(id), once),
  archive: (id, once) => request('DELETE', place(id), once),
  send: (id, message, once) => request('POST', `${place(id)}/messages`, { body: message, ...once }),
  history: (id, ask, once) => request('GET', `${place(id)}/messages`, { query: { ...ask }, ...once }),
  state: (id, once) => request('GET', `${place(id)}/state`, once),
  wait: (id, ask, once) => request('GET', `${place(id)}/wait`, { query: { ...ask }, ...once }),
  cancel: (id, ask = {}, once) => request('POST', `${place(id)}/cancel`, { body: ask, ...once }),
  fork: (id, ask = {}, once) => request('POST', `${place(id)}/fork`, { body: ask, ...once }),
  adopt: (id, parent, once) => request('POST', `${place(id)}/adopt`, { body: { parent }, ...once }),
})

const toolRoutes = (request: Request): ToolRoutes => ({
  list: async (ask = {}, once) =>
    (await request<{ tools: ToolSpec[] }>('GET', '/api/tools', { query: { ...ask }, ...once })).tools,
  use: (name, input, ask = {}, once) =>
    request('POST', `/api/tools/${encodeURIComponent(name)}`, { body: { input, ...ask }, ...once }),
  trace: (session, traced, once) => request('POST', `${place(session)}/trace`, { body: traced, ...once }),
})

const mailRoutes = (request: Request): MailRoutes => {
  const letter = (id: string): string => `/api/messages/${encodeURIComponent(id)}`
  return {
    inbox: (session, ask, once) => request('GET', `${place(session)}/inbox`, { query: { ...ask }, ...once }),
    accept: (session, which, once) =>
      request('POST', `${place(session)}/accept`, { body: { which }, ...once }),
    send: (message, once) => request('POST', '/api/messages', { body: message, ...once }),
    get: (id, once) => request('GET', letter(id), once),
    revise: (id, message, { ifUpdatedAt, ...once } = {}) =>
      request('PATCH', letter(id), { body: { message, ifUpdatedAt }, ...once }),
    release: (id, { ifUpdatedAt, ...once } = {}) =>
      request('POST', `${letter(id)}/release`, { body: { ifUpdatedAt }, ...once }),
    decline: (id, once) => request('POST', `${letter(id)}/decline`, { body: {}, ...once }),
    drafts: (session, ask, once) =>
      request('GET', session === null ? '/api/drafts' : `${place(session)}/drafts`, {
        query: { ...ask },
        ...once,
      }),
    thread: (id, ask, once) => request('GET', `${letter(id)}/thread`, { query: { ...ask }, ...once }),
    deadLetters: (ask, once) => request('GET', '/api/dead-letters', { query: { ...ask }, ...once }),
  }
}
