/**
 * What the routes take and give, as a client sees them. The server's own types say the same from the other
 * side; `test/client.test.ts` holds the two together.
 */
import type { Event, Outcome, SessionKind } from '../model/event.ts'
import type { Manifest } from '../model/context.ts'
import type { CallId, FlowId, Millis, SessionId, TurnId } from '../model/id.ts'
import type { Json } from '../model/json.ts'
import type { Refusal } from '../model/refusal.ts'

export type Health = {
  status: 'ok' | 'unavailable'
  version: string
  uptimeSeconds: number
  /** Whether anything can be recorded; absent where the server is older. */
  store?: {
    status: 'ok' | 'unavailable'
    reason: string | null
    cure: string | null
    freeBytes: number | null
    since: number | null
  }
}

export type ServerView = { version: string; uptimeSeconds: number; cwd: string; auth: 'tokens' | 'open' }

export type NewSession = {
  cwd: string
  agent?: string | undefined
  model?: string | undefined
  title?: string | undefined
  parent?: string | undefined
  initialMessage?: string | undefined
}
export type CreatedSession = {
  sessionId: SessionId
  cwd: string
  agent: string
  model: string | null
  messageId: string | null
  status: SentMessage['status'] | null
  /** Acts as the session, where it is an external one that the user opened. */
  token: string | null
}

export type SessionStatus = 'idle' | 'streaming' | 'error'
export type Session = {
  id: SessionId
  agent: string
  agentName: string
  title: string
  cwd: string
  model: string | null
  kind: SessionKind
  status: SessionStatus
  active: boolean
  parent: SessionId | null
  orphan: boolean
  archived: boolean
  createdAt: Millis
  updatedAt: Millis
  buffered: number
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

export type SessionState = {
  sessionId: SessionId
  status: SessionStatus
  cwd: string
  isActive: boolean
  lastMessage: { role: 'user' | 'assistant'; content: string; timestamp: string } | null
  queued: number
  parent: SessionId | null
  depth: number
}

export type NewMessage = {
  message: string
  source?: 'user' | 'applet' | 'agent'
  fromSession?: string
  applet?: string
  delivery?: 'auto' | 'buffer' | 'now'
  inReplyTo?: string
  messageId?: string
}
export type SentMessage = {
  messageId: string
  status: 'dispatched' | 'queued' | 'buffered'
  sessionId: SessionId
  turn: TurnId | null
  flow: FlowId | null
}

export type HistoryEntry = {
  n: number
  role: 'user' | 'assistant'
  text: string
  at: Millis
  turn: string
  source: 'user' | 'applet' | 'agent' | null
  from: SessionId | null
  fromAgent: string | null
  applet: string | null
  messageId: string | null
  toolCalls: string[]
  outcome: Outcome | null
  error: string | null
}

export type ContextFilter = {
  last_messages?: number
  roles?: ('user' | 'assistant' | 'system' | 'tool')[]
  keywords?: string[]
  include_summary?: boolean
  include_workspace?: boolean
  workspace_files?: string[]
  max_age_seconds?: number
}
export type NewCall = {
  /** The session that calls; otherwise a client's own. */
  from?: string | undefined
  agent: string
  task: string
  context?: ContextFilter
  input?: Json
  max_context_tokens?: number
  allowed_tools?: string[]
  allow_nested_calls?: boolean
  timeout_seconds?: number | undefined
  max_tokens?: number | undefined
  output_schema?: Json
  background?: boolean
}
/** The same keys in every outcome; `outcome` is null while a call in the background goes on. */
export type CallAnswer = {
  agent_name: string
  success: boolean
  output: string
  tool_calls: string[]
  tokens_used: number
  duration_seconds: number
  errors: string[]
  call_id: string
  outcome: Outcome | null
  truncated: boolean
}

export type ListedCall = {
  call: string
  flow: string | null
  caller: string
  callerName: string
  agent: string
  agentName: string
  tool: string
  task: string
  outcome: Outcome | null
  error: string | null
  tokensUsed: number
  createdAt: Millis
  durationMs: number | null
}

export type CallRecord = {
  call: string
  flow: string | null
  tool: string
  caller: string
  callerSession: string
  target: string
  targetSession: string | null
  task: string
  taskHash: string
  input: Json
  requested: Json
  outcome: Outcome | null
  success: boolean
  output: string
  output_preview: string
  outputBytes: number
  truncated: boolean
  errors: string[]
  toolCalls: string[]
  tokensUsed: number
  iterations: number
  depth: number
  path: string[]
  allowedTools: string[] | null
  nested: boolean
  tokensMax: number | null
  deadline: number | null
  created_at: number
  endedAt: number | null
  durationMs: number | null
  context: Manifest | null
  refusal: Refusal | null
}

export type Flow = {
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

export type Question = {
  id: string
  session: SessionId
  turn: TurnId
  flow: FlowId
  agent: string
  tool: string
  input: Json
  path: string[]
  askedAt: Millis
  deadline: Millis
}

export type Agent = {
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

/** A tool as a model is shown it; `input` is its JSON Schema. */
export type ToolSpec = { name: string; description: string; input: Json }
/**
 * One use of a tool of the client's own; `key` is the client's id of it. Without `ended` it has just begun.
 */
export type TracedTool = {
  key: string
  tool: string
  input?: Json
  ended?: { ok: boolean; output?: Json; startedAt: Millis } | null
}

/** An agent and its answers in Letta's shape; more fields than these may be there. */
export type NewLettaAgent = {
  name: string
  system?: string
  description?: string
  model?: string
  tools?: string[]
}
export type LettaAgent = {
  id: string
  name: string
  system: string
  description: string | null
  model: string | null
  [more: string]: unknown
}
export type LettaMessage = {
  id: string
  date: string
  message_type: string
  content?: unknown
  [more: string]: unknown
}
export type LettaAnswer = {
  messages: LettaMessage[]
  stop_reason: { message_type: string; stop_reason: string } | string
  usage: Record<string, unknown>
}
export type LettaInput = { content: string } | { messages: { role: string; content: string }[] }

export type TokenAmounts = { input: number; output: number; estimated: boolean }
export type Latency = {
  count: number
  medianMs: number
  p95Ms: number
  maxMs: number
  sumMs: number
  histogram: { toMs: number; count: number }[]
}
export type Numbers = {
  complete: boolean
  upTo: string
  end: string
  from: Millis | null
  requests: number
  turns: number
  calls: number
  refused: number
  tokens: TokenAmounts
  agents: {
    name: string
    outcomes: Partial<Record<Outcome, number>>
    tokens: TokenAmounts
    latency: Latency | null
  }[]
  models: ({ name: string } & TokenAmounts)[]
  context: { calls: number; passed: number; history: number }
  columns: { from: Millis; widthMs: number; calls: number; refused: number; tokens: number }[]
}

/** A letter between sessions. Times are nanoseconds as decimal texts. */
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
  source: 'user' | 'applet' | 'agent'
  status: 'draft' | 'ready' | 'buffered' | 'queued' | 'delivered' | 'answered' | 'declined' | 'dead'
}
export type NewMail = {
  from?: string
  message: string
  session?: string
  elaborate?: boolean
  fork?: boolean | number
  iterate?: boolean
  id?: string
  draft?: boolean
  reply?: string[]
}
export type SentMail = {
  id: string
  session: SessionId | null
  status: MessageRecord['status']
  draft: boolean
  buffered: boolean
}

/** One event of the log as it reaches a client; `seq` is a cursor that can be handed back. */
export type StreamedEvent = { seq: string; at: Millis; sessionId: SessionId; event: Event }
/** A page of a flow's events; a page may be empty and not the last. */
export type FlowEvents = { events: StreamedEvent[]; next: string | null; upTo: string }
/** A piece of a turn as it happens; epoch, step and offset tell a rerun from a continuation. */
export type Delta = {
  session: SessionId
  turn: TurnId
  epoch: number
  step: number
  offset: number
  text: string
}
