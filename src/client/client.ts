/**
 * One typed client for every route of a Tieline server, in Node and in browsers.
 *
 * A refusal is thrown as a TielineError; a server that does not answer as a ServerUnreachable. Requests whose
 * connection broke are retried, POSTs with an Idempotency-Key, so that nothing happens twice. When the
 * AbortSignal of a blocking request aborts, the server cancels what was asked for.
 */
import type { Json } from '../model/json.ts'
import type { Moment } from '../model/wake.ts'
import type { Agents, AgentView } from '../wire/agents.ts'
import type { Projects, ProjectView } from '../wire/projects.ts'
import type { CallAnswer, CallRecord, Calls, ListedCall, NewCall, Steered } from '../wire/calls.ts'
import type { Explanation } from '../wire/explain.ts'
import type { ExportedLog, Flow, FlowEvents, StreamedEvent, WaitEdge, Waits } from '../wire/log.ts'
import type { FlowSeen, Flows, FlowsQuery } from '../wire/flows.ts'
import type { AcceptedMail, Inbox, MailPage, MessageRecord, NewMail, SentMail } from '../wire/mail.ts'
import type { NewQuiet, Quiet, SessionNews } from '../wire/hooks.ts'
import type { Need, Needs } from '../wire/needs.ts'
import type { Answered, NewAnswer, Question, Questions } from '../wire/questions.ts'
import type { Health, Nodes, NodeView, Numbers, ServerView } from '../wire/server.ts'
import type {
  Archived,
  Cancelled,
  CreatedSession,
  ForkedSession,
  History,
  NewMessage,
} from '../wire/sessions.ts'
import type { NewSession, SentMessage, Session, Sessions, SessionState } from '../wire/sessions.ts'
import type { NewTrace, Recorded, Tools, ToolSpec, UsedTool } from '../wire/tools.ts'
import { eventStream, type EventsAsk, type OpenSocket } from './event-stream.ts'
import { hostConnection } from './host-connection.ts'
import type { HostAsk, HostConnection } from './host.ts'
import { lettaRoutes, type LettaRoutes } from './letta-routes.ts'
import { requester, type Fetch, type Once, type Request } from './request.ts'
import { surroundings as ordinary, type Surroundings } from './surroundings.ts'

export type ClientOptions = {
  /** `http://127.0.0.1:8283` */
  url: string
  token?: string | null | undefined
  /** The name of this program; its calls come from a session of that name. Browsers send their own. */
  name?: string | undefined
  /** The directory that this program works in: the agents of its project can be called. */
  cwd?: string
  fetch?: Fetch
  /** Opens the WebSocket of the event stream; by default the global one. */
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
  /** Asked once, without retries: whether the server is there. */
  health(once?: Once): Promise<Health>
  /** What it is, and the default directory of sessions. */
  server(once?: Once): Promise<ServerView>
  /** The nodes of a cluster; none where the server has the log to itself. */
  nodes(once?: Once): Promise<NodeView[]>
  readonly sessions: SessionRoutes
  readonly calls: {
    /** Blocks until the callee has ended, unless it runs in the background. */
    open(call: NewCall, once?: Once): Promise<CallAnswer>
    /** Newest first. */
    list(ask?: { session?: string; limit?: number }, once?: Once): Promise<ListedCall[]>
    /** One page, which may be short; `next` is the cursor of the next one. */
    page(ask?: { session?: string; limit?: number; cursor?: string }, once?: Once): Promise<Calls>
    get(id: string, once?: Once): Promise<CallRecord>
    /** A word to a callee while it runs. */
    steer(id: string, message: string, once?: Once): Promise<Steered>
  }
  flow(id: string, once?: Once): Promise<Flow>
  /** Events of a flow, oldest first; `next` is the `after` of the next page, and the stream follows `upTo`. */
  flowEvents(id: string, ask?: { after?: string; limit?: number }, once?: Once): Promise<FlowEvents>
  /** Why a call, a session or a flow stands still, or ended as it did. Takes a part of an id, or `last`. */
  explain(id: string, once?: Once): Promise<Explanation>
  /** A recorded run as a file that replays elsewhere: of an id, or everything. */
  export(ask?: { id?: string }, once?: Once): Promise<ExportedLog>
  /** Requests, newest first. One page, which may be short; `next` is the cursor of the next one. */
  flows(ask?: Partial<FlowsQuery>, once?: Once): Promise<Flows>
  /** Says that a person has seen how a request ended. */
  seeFlow(id: string, once?: Once): Promise<FlowSeen>
  /** Everything that waits for a person, newest first. */
  needs(once?: Once): Promise<Need[]>
  waits(once?: Once): Promise<WaitEdge[]>
  /** Sums over the whole log, or since a time in the last day; until `complete`, older events are missing. */
  numbers(ask?: { since?: number }, once?: Once): Promise<Numbers>
  readonly mail: MailRoutes
  /** Which sessions are not told of their mail for a time. */
  readonly quiet: {
    get(once?: Once): Promise<Quiet>
    set(quiet: NewQuiet, once?: Once): Promise<Quiet>
  }
  readonly questions: {
    list(once?: Once): Promise<Question[]>
    /** For the whole session with the scope `session`; the model reads why it was denied. */
    answer(id: string, answer: NewAnswer['answer'] | NewAnswer, once?: Once): Promise<Answered>
  }
  /** Those that can be called from `cwd`. */
  agents(once?: Once): Promise<AgentView[]>
  /** All projects that the server knows, used or not. */
  projects(once?: Once): Promise<ProjectView[]>
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
  list(ask?: SessionsAsk, once?: Once): Promise<Sessions>
  get(id: string, once?: Once): Promise<Session>
  archive(id: string, once?: Once): Promise<Archived>
  send(id: string, message: NewMessage, once?: Once): Promise<SentMessage>
  history(id: string, ask?: { before?: number; limit?: number }, once?: Once): Promise<History>
  state(id: string, once?: Once): Promise<SessionState>
  /** Until it is idle, or the time is over. */
  wait(id: string, ask?: { timeoutMs?: number }, once?: Once): Promise<SessionState>
  /** The running turn; `all` also cancels queued ones, `turn` only that one. `timedOut` says why. */
  cancel(
    id: string,
    ask?: { all?: boolean; turn?: string; timedOut?: boolean },
    once?: Once,
  ): Promise<Cancelled>
  fork(id: string, ask?: { back?: number; messageId?: string }, once?: Once): Promise<ForkedSession>
  adopt(id: string, parent: string | null, once?: Once): Promise<Session>
  /** What a session of a connected program is to be told of its mail now. */
  news(id: string, moment: Moment, once?: Once): Promise<SessionNews>
  /** Until it is to be started, or the time is over. */
  awaitNews(id: string, once?: Once): Promise<SessionNews>
}

export type ToolRoutes = {
  /** The tools of the asking session, or those that any session of an agent has. */
  list(ask?: { session?: string; agent?: string }, once?: Once): Promise<ToolSpec[]>
  /** Blocks until it has answered. A refusal is an answer in the tool's own shape. */
  use(name: string, input: Json, ask?: { session?: string }, once?: Once): Promise<UsedTool>
  /** Records what a tool of this program did in a session of its own. */
  trace(session: string, traced: NewTrace, once?: Once): Promise<Recorded>
}

export type IfUpdatedAt = Once & { ifUpdatedAt?: string }

export type MailRoutes = {
  /** Oldest first; `replies`: true for replies only, false for none, by default all. */
  inbox(session: string, ask?: { replies?: boolean; after?: number }, once?: Once): Promise<Inbox>
  /** `oldest`, `newest`, an id, or a place in the list, counted from 1. Does nothing if nothing waits. */
  accept(session: string, which: string | number, once?: Once): Promise<AcceptedMail>
  send(message: NewMail, once?: Once): Promise<SentMail>
  get(id: string, once?: Once): Promise<MessageRecord>
  /** With `ifUpdatedAt`, a draft that was changed since you read it is left as it is (`message_changed`). */
  revise(id: string, message: string, once?: IfUpdatedAt): Promise<MessageRecord>
  release(id: string, once?: IfUpdatedAt): Promise<SentMail>
  decline(id: string, once?: Once): Promise<MessageRecord>
  /** Drafts of a session, or of all; newest first, `next` is the `before` of the next page. */
  drafts(session: string | null, ask?: { before?: number }, once?: Once): Promise<MailPage>
  /** A message with what it answers and what answers it, oldest first; `next` is the next `after`. */
  thread(id: string, ask?: { after?: number }, once?: Once): Promise<MailPage>
  /** Newest first; `next` is the `before` of the next page. */
  deadLetters(ask?: { before?: number }, once?: Once): Promise<MailPage>
}

export function tielineClient(options: ClientOptions): TielineClient {
  const settings = {
    url: options.url,
    token: options.token ?? null,
    name: options.name ?? null,
    cwd: options.cwd ?? null,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    surroundings: options.surroundings ?? ordinary,
    openSocket: options.openSocket ?? ((url: string) => new WebSocket(url)),
  }
  const request = requester(settings)
  const flowPath = (id: string): string => `/api/flows/${encodeURIComponent(id)}`
  return {
    url: options.url,
    health: (once) => request('GET', '/health', { ...once, triesMax: 1, alsoTakes: 503 }),
    server: (once) => request('GET', '/api/server', once),
    nodes: async (once) => (await request<Nodes>('GET', '/api/nodes', once)).nodes,
    sessions: sessionRoutes(request),
    calls: callRoutes(request),
    flow: (id, once) => request('GET', flowPath(id), once),
    flowEvents: (id, ask, once) => request('GET', `${flowPath(id)}/events`, { query: { ...ask }, ...once }),
    explain: (id, once) => request('GET', `/api/explain/${encodeURIComponent(id)}`, once),
    export: (ask, once) => request('GET', '/api/export', { query: { ...ask }, ...once }),
    flows: (ask, once) => request('GET', '/api/flows', { query: { ...ask }, ...once }),
    seeFlow: (id, once) => request('POST', `${flowPath(id)}/seen`, { body: {}, ...once }),
    needs: async (once) => (await request<Needs>('GET', '/api/needs', once)).needs,
    waits: async (once) => (await request<Waits>('GET', '/api/waits', once)).waits,
    numbers: (ask, once) => request('GET', '/api/numbers', { query: { ...ask }, ...once }),
    mail: mailRoutes(request),
    quiet: {
      get: (once) => request('GET', '/api/quiet', once),
      set: (quiet, once) => request('POST', '/api/quiet', { body: quiet, ...once }),
    },
    questions: {
      list: async (once) => (await request<Questions>('GET', '/api/questions', once)).questions,
      answer: (id, given, once) =>
        request('POST', `/api/questions/${encodeURIComponent(id)}`, {
          body: typeof given === 'string' ? { answer: given } : given,
          ...once,
        }),
    },
    agents: async (once) => (await request<Agents>('GET', '/api/agents', once)).agents,
    projects: async (once) => (await request<Projects>('GET', '/api/projects', once)).projects,
    tools: toolRoutes(request),
    v1: lettaRoutes(request, settings),
    events: (ask = {}) => eventStream({ ...settings, request }, ask),
    host: (ask) => hostConnection({ ...settings, as: (token) => tielineClient({ ...options, token }) }, ask),
  }
}

const sessionPath = (id: string): string => `/api/sessions/${encodeURIComponent(id)}`

const sessionRoutes = (request: Request): SessionRoutes => ({
  create: (session, once) => request('POST', '/api/sessions', { body: session, ...once }),
  list: (ask, once) => request('GET', '/api/sessions', { query: { ...ask }, ...once }),
  get: (id, once) => request('GET', sessionPath(id), once),
  archive: (id, once) => request('DELETE', sessionPath(id), once),
  send: (id, message, once) => request('POST', `${sessionPath(id)}/messages`, { body: message, ...once }),
  history: (id, ask, once) => request('GET', `${sessionPath(id)}/messages`, { query: { ...ask }, ...once }),
  state: (id, once) => request('GET', `${sessionPath(id)}/state`, once),
  wait: (id, ask, once) => request('GET', `${sessionPath(id)}/wait`, { query: { ...ask }, ...once }),
  cancel: (id, ask = {}, once) => request('POST', `${sessionPath(id)}/cancel`, { body: ask, ...once }),
  fork: (id, ask = {}, once) => request('POST', `${sessionPath(id)}/fork`, { body: ask, ...once }),
  adopt: (id, parent, once) => request('POST', `${sessionPath(id)}/adopt`, { body: { parent }, ...once }),
  news: (id, moment, once) => request('POST', `${sessionPath(id)}/news`, { body: { moment }, ...once }),
  awaitNews: (id, once) => request('POST', `${sessionPath(id)}/news/wait`, { body: {}, ...once }),
})

const callsListed = 50

function callRoutes(request: Request): TielineClient['calls'] {
  const page: TielineClient['calls']['page'] = ({ session, ...query } = {}, once) =>
    request('GET', session === undefined ? '/api/calls' : `${sessionPath(session)}/calls`, { query, ...once })
  return {
    open: (call, once) => request('POST', '/api/calls', { body: call, ...once }),
    page,
    async list({ session, limit = callsListed } = {}, once) {
      const calls: ListedCall[] = []
      const of = session === undefined ? {} : { session }
      for (let cursor: string | null = ''; cursor !== null && calls.length < limit;) {
        const ask = { ...of, limit: limit - calls.length, ...(cursor === '' ? {} : { cursor }) }
        // An older server has no `next`.
        const found: Partial<Calls> = await page(ask, once)
        calls.push(...(found.calls ?? []))
        cursor = found.next ?? null
      }
      return calls
    },
    get: (id, once) => request('GET', `/api/calls/${encodeURIComponent(id)}`, once),
    steer: (id, message, once) =>
      request('POST', `/api/calls/${encodeURIComponent(id)}/steer`, { body: { message }, ...once }),
  }
}

const toolRoutes = (request: Request): ToolRoutes => ({
  list: async (ask = {}, once) =>
    (await request<Tools>('GET', '/api/tools', { query: { ...ask }, ...once })).tools,
  use: (name, input, ask = {}, once) =>
    request('POST', `/api/tools/${encodeURIComponent(name)}`, { body: { input, ...ask }, ...once }),
  trace: (session, traced, once) =>
    request('POST', `${sessionPath(session)}/trace`, { body: traced, ...once }),
})

function mailRoutes(request: Request): MailRoutes {
  const letter = (id: string): string => `/api/messages/${encodeURIComponent(id)}`
  return {
    inbox: (session, ask, once) =>
      request('GET', `${sessionPath(session)}/inbox`, { query: { ...ask }, ...once }),
    accept: (session, which, once) =>
      request('POST', `${sessionPath(session)}/accept`, { body: { which }, ...once }),
    send: (message, once) => request('POST', '/api/messages', { body: message, ...once }),
    get: (id, once) => request('GET', letter(id), once),
    revise: (id, message, { ifUpdatedAt, ...once } = {}) =>
      request('PATCH', letter(id), { body: { message, ifUpdatedAt }, ...once }),
    release: (id, { ifUpdatedAt, ...once } = {}) =>
      request('POST', `${letter(id)}/release`, { body: { ifUpdatedAt }, ...once }),
    decline: (id, once) => request('POST', `${letter(id)}/decline`, { body: {}, ...once }),
    drafts(session, ask, once) {
      const path = session === null ? '/api/drafts' : `${sessionPath(session)}/drafts`
      return request('GET', path, { query: { ...ask }, ...once })
    },
    thread: (id, ask, once) => request('GET', `${letter(id)}/thread`, { query: { ...ask }, ...once }),
    deadLetters: (ask, once) => request('GET', '/api/dead-letters', { query: { ...ask }, ...once }),
  }
}
