/**
 * What doors may ask of the runtime. A door parses, authenticates and hands over; every rule is behind this.
 *
 * Each answer is a value or a Refusal (`'code' in answer`). What is acknowledged is durable (R2). An act with
 * an `id` may be tried again with the same id and has one effect:
 * doors derive it from an `Idempotency-Key`, so that a retry finds what the first try did, also after a
 * crash.
 */
import type { Agent } from '../model/agent.ts'
import type { EventOf, Outcome, StoredEvent } from '../model/event.ts'
import type { SessionRow } from '../model/facts.ts'
import type { CallId, FlowId, Millis, SessionId, TurnId } from '../model/id.ts'
import type { Json } from '../model/json.ts'
import type { Refusal } from '../model/refusal.ts'
import type { FlowEvents } from './flow-events.ts'
import type { CallsFilter, ListedCall } from './listing.ts'
import type { MessageRecord } from './mail-record.ts'
import type { DraftAsk, MailAnswer, MailAsk } from './mail-port.ts'
import type { Delta, SessionState, ToolAnswer, ToolSpec } from './ports.ts'
import type { StoreHealth } from './store-health.ts'
import type { CallRecord } from './record.ts'

/**
 * Who asks, as the door has checked it: the user of this machine, one session (a capability token, or a
 * checked `fromSession`), or one live turn of an agent that we drive.
 */
export type Who = { kind: 'user' } | { kind: 'session'; session: SessionId } | { kind: 'turn'; turn: TurnId }

export type MessageSource = 'user' | 'applet' | 'agent'
export type Delivery = 'auto' | 'buffer' | 'now'

export type SendAsk = {
  to: SessionId
  text: string
  source: MessageSource
  /** The checked sender; given if and only if the source is `agent`. */
  from: SessionId | null
  /** The name of the applet; given if and only if the source is `applet`. */
  applet: string | null
  delivery: Delivery
  inReplyTo: string | null
  /** The sender's own id for the message, `[A-Za-z0-9_-]{1,128}`; null makes one. */
  id: string | null
  /** W3C `traceparent` that came with the request. */
  trace: string | null
}
export type SendAnswer = {
  messageId: string
  status: 'dispatched' | 'queued' | 'buffered'
  sessionId: SessionId
  turn: TurnId | null
  flow: FlowId | null
}

export type CreateAsk = {
  cwd: string
  /**
   * A configured name, an id or name of an agent made by API, or `external` for a client's own session; null
   * is the first configured agent, else the demo agent.
   */
  agent: string | null
  model: string | null
  title: string
  parent: SessionId | null
  initialMessage: string | null
  id: string | null
  trace: string | null
}
export type CreateAnswer = {
  sessionId: SessionId
  cwd: string
  agent: string
  model: string | null
  messageId: string | null
  status: SendAnswer['status'] | null
}

export type SessionStatus = SessionState['status']

export type SessionView = {
  id: SessionId
  agent: string
  /** What people call the agent, where it has a name besides its id. */
  agentName: string
  title: string
  cwd: string
  model: string | null
  kind: SessionRow['kind']
  status: SessionStatus
  active: boolean
  parent: SessionId | null
  /** Its parent is archived: it can be adopted. */
  orphan: boolean
  archived: boolean
  createdAt: Millis
  updatedAt: Millis
  /** Messages that wait to be accepted. */
  buffered: number
}
export type SessionsAsk = {
  dir: string | null
  active: boolean | null
  agent: string | null
  parent: SessionId | null
  archived: boolean
  cursor: string | null
  limit: number
}

/** One entry of a conversation, with where it came from. */
export type HistoryEntry = {
  /** Grows with time; `before` of the next page. */
  n: number
  role: 'user' | 'assistant'
  text: string
  at: Millis
  turn: string
  source: MessageSource | null
  /** The originating session of a message or call. */
  from: SessionId | null
  fromAgent: string | null
  applet: string | null
  messageId: string | null
  toolCalls: string[]
  outcome: Outcome | null
  error: string | null
}

export type Question = {
  id: string
  session: SessionId
  turn: TurnId
  flow: FlowId
  agent: string
  tool: string
  input: Json
  /** On whose behalf: the agents from the root down to the one that asks. */
  path: string[]
  askedAt: Millis
  deadline: Millis
}

export type WaitEdge = {
  waiter: SessionId
  waiterAgent: string
  target: SessionId
  targetAgent: string
  kind: 'call' | 'wait'
  call: CallId | null
  since: Millis
  until: Millis
}

export type FlowView = {
  flow: FlowId
  root: {
    turn: TurnId
    session: SessionId
    agent: string
    text: string
    outcome: Outcome | null
    openedAt: Millis
    endedAt: Millis | null
  }
  calls: CallRecord[]
  /** What agents wrote to each other in it: each runs a turn that nobody waits for. */
  messages: {
    turn: TurnId
    session: SessionId
    agent: string
    from: SessionId | null
    text: string
    outcome: Outcome | null
    tokensUsed: number
    openedAt: Millis
  }[]
  tokensUsed: number
  durationMs: number
}

export type AgentView = {
  id: string
  name: string
  description: string
  driver: string
  model: string | null
  tools: string[]
  allowSubAgentCalls: boolean
  mayCall: string[] | null
  origin: 'configured' | 'api' | 'built-in'
  session: SessionId | null
  system: string
  createdAt: Millis | null
}
export type CreateAgentAsk = {
  name: string
  system: string
  description: string
  model: string | null
  tools: string[] | null
  id: string | null
}

/** What one blocking turn gave, for doors that answer with the conversation. */
export type AskAnswer = {
  turn: TurnId
  flow: FlowId
  session: SessionId
  messageId: string
  ended: EventOf<'turn.ended'>
  usage: { input: number; output: number }
  toolCalls: { id: string; name: string; input: Json; ok: boolean; output: Json; at: Millis }[]
  startedAt: Millis
  endedAt: Millis
}

export type ToolUse = {
  /** Aborts when the client has gone: what it asked for is cancelled. */
  signal: AbortSignal
  id: string | null
  trace: string | null
}

/**
 * One use of a tool by a program outside; `key` is the program's own id of it. Without `ended` it has just
 * begun.
 */
export type TracedTool = {
  key: string
  tool: string
  input: Json
  ended: { ok: boolean; output: Json; startedAt: Millis } | null
}

export type FeedFilter = { /** Null is all. */ sessions: readonly SessionId[] | null }
/** May throw or be slow: it is called with what is there and must not await. */
export type FeedSink = { events(events: readonly StoredEvent[]): void; delta(delta: Delta): void }

/** Letters between sessions. An `act` may be tried again with the same id and has one effect. */
export type ExchangeMail = {
  send(who: Who, ask: MailAsk, act: string | null, trace: string | null): Promise<MailAnswer | Refusal>
  /** The text of a draft; only its owner may, and the user. */
  revise(who: Who, ask: DraftAsk, message: string, act: string | null): Promise<MessageRecord | Refusal>
  /** Sends a draft, once. Released by the user, it is still from the session that wrote it. */
  release(who: Who, ask: DraftAsk, act: string | null, trace: string | null): Promise<MailAnswer | Refusal>
  decline(who: Who, id: string): Promise<MessageRecord | Refusal>
  /** What waits for a session, oldest first; `total` counts also what this page has no room for. */
  inbox(
    who: Who,
    session: SessionId,
    replies: boolean | null,
  ): Promise<{ messages: MessageRecord[]; total: number } | Refusal>
  /**
   * `oldest`, `newest`, an id, or a place in the list that counts from 1. Nothing is accepted where nothing
   * waits.
   */
  accept(
    who: Who,
    session: SessionId,
    which: string | number,
    act: string | null,
  ): Promise<{ message: MessageRecord | null; accepted: boolean } | Refusal>
  /** What became of a message, for its sender, its receiver, those above them, and the user. */
  message(who: Who, id: string): Promise<MessageRecord | Refusal>
  /**
   * A message with all that it answers and all that answer it, oldest first; `next` is the `after` of the
   * next page.
   */
  thread(
    who: Who,
    id: string,
    after: number | null,
  ): Promise<{ messages: MessageRecord[]; next: number | null } | Refusal>
  /** Of one session, or of all (null); the newest first, `next` is the `before` of the next page. */
  drafts(
    session: SessionId | null,
    before: number | null,
  ): Promise<{ messages: MessageRecord[]; next: number | null }>
  /** Whose receiver is gone; the newest first, `next` is the `before` of the next page. */
  deadLetters(before: number | null): Promise<{ messages: MessageRecord[]; next: number | null }>
  /** A session that shares the conversation of another: up to so many messages back, or up to one message. */
  fork(
    who: Who,
    ask: { from: SessionId; back: number | null; messageId: string | null },
    id: string | null,
  ): Promise<SessionView | Refusal>
}

export type Exchange = {
  createSession(who: Who, ask: CreateAsk): Promise<CreateAnswer | Refusal>
  /**
   * The external session of a client, made at first use; `name` tells clients apart (`claude-code`, `cli`).
   */
  clientSession(name: string, cwd: string): Promise<SessionId>
  /** By whole id or unique part: `session_unknown`, or `session_ambiguous` with the candidates. */
  findSession(idOrPart: string): Promise<SessionRow | Refusal>
  sessions(ask: SessionsAsk): Promise<{ sessions: SessionView[]; next: string | null }>
  sessionView(session: SessionId): Promise<SessionView | Refusal>
  /** Cancels what runs in it, and archives it with all its children. */
  archive(session: SessionId): Promise<{ archived: SessionId[] } | Refusal>
  adopt(session: SessionId, parent: SessionId | null): Promise<SessionView | Refusal>
  rename(session: SessionId, title: string): Promise<Refusal | null>

  send(who: Who, ask: SendAsk): Promise<SendAnswer | Refusal>
  /** Newest first pages, each oldest first. */
  history(
    session: SessionId,
    before: number | null,
    limit: number,
  ): Promise<{ messages: HistoryEntry[]; next: number | null } | Refusal>
  state(session: SessionId): Promise<SessionState | Refusal>
  /** Until it is idle or the time is over; a wait of an agent is an edge of the wait-for graph. */
  waitForSession(
    who: Who,
    session: SessionId,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<SessionState | Refusal>
  /**
   * The current turn and everything below it; with `all` what is queued too, with `turn` that one alone, also
   * where it waits.
   */
  cancel(
    session: SessionId,
    all: boolean,
    cause: string,
    turn?: TurnId | null,
    act?: string | null,
  ): Promise<{ cancelled: number } | Refusal>
  /** Sends as the user and waits for the turn's end; an aborted signal cancels it. */
  ask(
    session: SessionId,
    text: string,
    use: ToolUse & { onDelta?: (delta: Delta) => void },
  ): Promise<AskAnswer | Refusal>

  readonly mail: ExchangeMail

  /**
   * The tools that a door offers to `who`, described for it; with an agent, those that any session of it has.
   */
  toolsFor(who: Who, agent?: string): Promise<ToolSpec[] | Refusal>
  /**
   * Uses one tool as `who`: a client's own turn is opened for what calls or writes, a live turn keeps its
   * place in the tree. A refusal of a rule is an answer in the tool's own shape.
   */
  useTool(who: Who, name: string, input: Json, use: ToolUse): Promise<ToolAnswer | Refusal>
  /** Writes down what a program outside did with a tool of its own. */
  traceTool(session: SessionId, traced: TracedTool): Promise<{ recorded: true } | Refusal>

  call(id: string): Promise<CallRecord | null>
  /** Newest first, one page. */
  calls(filter: CallsFilter): Promise<ListedCall[]>
  /** The same, with where to go on. A page may be short. */
  callsPage(filter: CallsFilter): Promise<{ calls: ListedCall[]; next: number | null }>
  flow(id: string): Promise<FlowView | null>
  /** Every event of a flow, oldest first, a page at a time; null where there is no such flow. */
  flowEvents(id: string, after: number, limit: number): Promise<FlowEvents | null>
  waits(): Promise<WaitEdge[]>

  questions(): Promise<Question[]>
  /** What a session was told that nobody asked for, newest last. */
  notices(
    session: SessionId,
    limit: number,
  ): Promise<{ seq: number; at: Millis; about: string; text: string }[]>
  /** Answered once: a second answer is refused with what the first was. */
  answer(
    question: string,
    answer: 'allow' | 'deny',
    by: string,
  ): Promise<{ question: string; answer: 'allow' | 'deny' } | Refusal>

  agents(): Promise<AgentView[]>
  createAgent(ask: CreateAgentAsk): Promise<AgentView | Refusal>
  /** The agent of a connected program, made at its first hello. */
  hostAgent(ask: {
    name: string
    description: string
    tools: readonly string[]
  }): Promise<AgentView | Refusal>
  /** By id, then by the name of an agent made by API, then by a configured name. */
  agent(idOrName: string): Promise<AgentView | Refusal>
  deleteAgent(id: string): Promise<AgentView | Refusal>
  /** The agent's main session, made at first use. */
  agentSession(id: string): Promise<SessionId | Refusal>

  /** The newest event's number. */
  lastSeq(): number
  /** Whether anything can be recorded. */
  storeHealth(): StoreHealth
  /**
   * Calls `sink` with every event after `after`, in order, without gaps, then with each as it is committed.
   * The returned function ends it.
   */
  subscribe(after: number, filter: FeedFilter, sink: FeedSink): () => void
  readonly agentsByName: (name: string) => Agent | undefined
}
