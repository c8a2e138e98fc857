/**
 * The answers of the API as schemas. The types are the runtime's; each schema is held to its type by the
 * compiler.
 */
import { z } from 'zod'
import { Outcome, SessionKind, type Event } from '../model/event.ts'
import { SessionId, TurnId, FlowId, CallId } from '../model/id.ts'
import type { Json } from '../model/json.ts'
import type {
  AgentView,
  FlowView,
  HistoryEntry,
  Question,
  SessionView,
  WaitEdge,
} from '../runtime/exchange.ts'
import type { ListedCall } from '../runtime/listing.ts'
import type { SessionState } from '../runtime/ports.ts'
import type { CallRecord } from '../runtime/record.ts'

/** Any JSON. What was parsed as JSON needs no second look. */
export const AnyJson = z.custom<Json>((value) => value !== undefined).describe('any JSON')
const count = z.number().int()
const millis = z.number().describe('milliseconds since 1970')
const Status = z.enum(['idle', 'streaming', 'error'])
const MessageStatus = z.enum(['dispatched', 'queued', 'buffered'])

export const CreatedSession = z.looseObject({
  sessionId: SessionId,
  cwd: z.string(),
  agent: z.string(),
  model: z.string().nullable(),
  messageId: z.string().nullable(),
  status: MessageStatus.nullable(),
  token: z.string().nullable().describe('of an external session that the user opened: acts as that session'),
})

export const Session = z
  .looseObject({
    id: SessionId,
    agent: z.string(),
    agentName: z.string(),
    title: z.string(),
    cwd: z.string(),
    model: z.string().nullable(),
    kind: SessionKind,
    status: Status,
    active: z.boolean(),
    parent: SessionId.nullable(),
    orphan: z.boolean(),
    archived: z.boolean(),
    createdAt: millis,
    updatedAt: millis,
    buffered: count,
  })
  .meta({ id: 'Session' }) satisfies z.ZodType<SessionView>

export const Sessions = z.looseObject({
  sessions: z.array(Session),
  next: z.string().nullable().describe('the cursor of the next page'),
})
export const Archived = z.looseObject({ archived: z.array(SessionId) })

export const State = z
  .looseObject({
    sessionId: SessionId,
    status: Status,
    cwd: z.string(),
    isActive: z.boolean(),
    lastMessage: z
      .looseObject({ role: z.enum(['user', 'assistant']), content: z.string(), timestamp: z.string() })
      .nullable(),
    queued: count,
    parent: SessionId.nullable(),
    depth: count,
  })
  .meta({ id: 'State' }) satisfies z.ZodType<SessionState>

export const Sent = z.looseObject({
  messageId: z.string(),
  status: MessageStatus,
  sessionId: SessionId,
  turn: TurnId.nullable(),
  flow: FlowId.nullable(),
})

const Message = z
  .looseObject({
    n: count,
    role: z.enum(['user', 'assistant']),
    text: z.string(),
    at: millis,
    turn: z.string(),
    source: z.enum(['user', 'applet', 'agent']).nullable(),
    from: SessionId.nullable(),
    fromAgent: z.string().nullable(),
    applet: z.string().nullable(),
    messageId: z.string().nullable(),
    toolCalls: z.array(z.string()),
    outcome: Outcome.nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'Message' }) satisfies z.ZodType<HistoryEntry>
export const History = z.looseObject({
  messages: z.array(Message),
  next: count.nullable().describe('`before` of the next page'),
})

export const Cancelled = z.looseObject({ cancelled: count.describe('how many turns were told to stop') })

/** The result of `sub_agent`: the same keys in every outcome, null while it runs in the background. */
export const CallAnswer = z
  .looseObject({
    agent_name: z.string(),
    success: z.boolean(),
    output: z.string(),
    tool_calls: z.array(z.string()),
    tokens_used: count,
    duration_seconds: z.number(),
    errors: z.array(z.string()),
    call_id: z.string(),
    outcome: Outcome.nullable(),
    truncated: z.boolean(),
  })
  .meta({ id: 'CallResult' })

export const Listed = z
  .looseObject({
    call: z.string(),
    flow: z.string().nullable(),
    caller: z.string(),
    callerName: z.string().describe('what people call it'),
    agent: z.string(),
    agentName: z.string(),
    tool: z.string(),
    task: z.string(),
    outcome: Outcome.nullable(),
    error: z.string().nullable(),
    tokensUsed: count,
    createdAt: millis,
    durationMs: z.number().nullable(),
  })
  .meta({ id: 'ListedCall' }) satisfies z.ZodType<ListedCall>
export const Calls = z.looseObject({
  calls: z.array(Listed),
  next: z.string().nullable().describe('`cursor` of the next page, which may be short; null at the end'),
})

const Manifest = z.looseObject({
  tokensMax: z.number(),
  tokens: z.number(),
  parts: z.record(z.string(), z.number()),
  messages: z
    .looseObject({
      session: z.string(),
      total: z.number(),
      passed: z.array(z.number()),
      roles: z.array(z.enum(['user', 'assistant', 'tool', 'system'])).nullable(),
      dropped: z.record(z.string(), z.number()),
    })
    .nullable(),
  summary: z.string().nullable(),
  workspace: z.string().nullable(),
})

export const Call = z
  .looseObject({
    call: z.string(),
    flow: z.string().nullable(),
    tool: z.string(),
    caller: z.string(),
    callerSession: z.string(),
    target: z.string(),
    targetSession: z.string().nullable(),
    task: z.string(),
    taskHash: z.string(),
    input: AnyJson,
    requested: AnyJson,
    outcome: Outcome.nullable(),
    success: z.boolean(),
    output: z.string(),
    output_preview: z.string(),
    outputBytes: count,
    truncated: z.boolean(),
    errors: z.array(z.string()),
    toolCalls: z.array(z.string()),
    tokensUsed: count,
    iterations: count,
    depth: count,
    path: z.array(z.string()),
    allowedTools: z.array(z.string()).nullable(),
    nested: z.boolean(),
    tokensMax: z.number().nullable(),
    deadline: z.number().nullable(),
    created_at: millis,
    endedAt: z.number().nullable(),
    durationMs: z.number().nullable(),
    context: Manifest.nullable(),
    refusal: z
      .custom<CallRecord['refusal']>()
      .describe('why it was refused: a code and what belongs to it; null where it was not'),
  })
  .meta({ id: 'Call' }) satisfies z.ZodType<CallRecord>

export const Flow = z
  .looseObject({
    flow: FlowId,
    root: z.looseObject({
      turn: TurnId,
      session: SessionId,
      agent: z.string(),
      text: z.string(),
      outcome: Outcome.nullable(),
      openedAt: millis,
      endedAt: millis.nullable(),
    }),
    calls: z.array(Call),
    tokensUsed: count,
    messages: z.array(
      z.looseObject({
        turn: TurnId,
        session: SessionId,
        agent: z.string(),
        from: SessionId.nullable(),
        text: z.string(),
        outcome: Outcome.nullable(),
        tokensUsed: count,
        openedAt: millis,
      }),
    ),
    durationMs: z.number(),
  })
  .meta({ id: 'Flow' }) satisfies z.ZodType<FlowView>

/** As on the stream; `seq` is a cursor. */
const Streamed = z
  .looseObject({
    seq: z.string(),
    at: millis,
    sessionId: SessionId,
    event: z.custom<Event>().describe('what happened: its `type`, and what belongs to it'),
  })
  .meta({ id: 'Event' })
export const FlowEvents = z.looseObject({
  events: z.array(Streamed),
  next: z.string().nullable().describe('`after` of the next page; a page may be empty and not the last'),
  upTo: z.string().describe('the newest event of the log when this was read: go on from there on the stream'),
})

const Edge = z.looseObject({
  waiter: SessionId,
  waiterAgent: z.string(),
  target: SessionId,
  targetAgent: z.string(),
  kind: z.enum(['call', 'wait']),
  call: CallId.nullable(),
  since: millis,
  until: millis,
}) satisfies z.ZodType<WaitEdge>
export const Waits = z.looseObject({ waits: z.array(Edge) })

const Asked = z
  .looseObject({
    id: z.string(),
    session: SessionId,
    turn: TurnId,
    flow: FlowId,
    agent: z.string(),
    tool: z.string(),
    input: AnyJson,
    path: z.array(z.string()),
    askedAt: millis,
    deadline: millis,
  })
  .meta({ id: 'Question' }) satisfies z.ZodType<Question>
export const Questions = z.looseObject({ questions: z.array(Asked) })
export const Answered = z.looseObject({ question: z.string(), answer: z.enum(['allow', 'deny']) })

const AgentShape = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    driver: z.string(),
    model: z.string().nullable(),
    tools: z.array(z.string()),
    allowSubAgentCalls: z.boolean(),
    mayCall: z.array(z.string()).nullable(),
    origin: z.enum(['configured', 'api', 'built-in']),
    session: SessionId.nullable(),
    system: z.string(),
    createdAt: millis.nullable(),
  })
  .meta({ id: 'Agent' }) satisfies z.ZodType<AgentView>
export const AgentList = z.looseObject({ agents: z.array(AgentShape) })

export const Health = z.looseObject({
  status: z
    .enum(['ok', 'unavailable'])
    .describe('"unavailable", with the status 503, while nothing can be recorded'),
  version: z.string(),
  uptimeSeconds: count,
  store: z.looseObject({
    status: z.enum(['ok', 'unavailable']),
    reason: z.string().nullable().describe('why nothing can be recorded'),
    cure: z.string().nullable().describe('what a person must do'),
    freeBytes: z.number().nullable().describe('what is left on the disk of the log'),
    since: z.number().nullable().describe('milliseconds since 1970'),
  }),
})

export type Health = z.infer<typeof Health>

export const Server = z.looseObject({
  version: z.string(),
  uptimeSeconds: count,
  cwd: z.string().describe('where sessions work that name no directory'),
  auth: z.enum(['tokens', 'open']),
})

const amounts = {
  input: count,
  output: count,
  estimated: z.boolean().describe('some of it was counted here, because the provider gave no numbers'),
}
const Latency = z.looseObject({
  count,
  medianMs: z.number(),
  p95Ms: z.number(),
  maxMs: z.number(),
  sumMs: z.number(),
  histogram: z
    .array(z.looseObject({ toMs: z.number(), count }))
    .describe('each counts what took longer than the bound before, and at most `toMs`'),
})
export const Numbers = z
  .looseObject({
    complete: z.boolean().describe('false while older events are still being counted'),
    upTo: z.string().describe('how far the log was counted'),
    end: z.string().describe('where it ends'),
    from: millis.nullable(),
    requests: count,
    turns: count,
    calls: count,
    refused: count,
    tokens: z.looseObject(amounts),
    agents: z.array(
      z.looseObject({
        name: z.string(),
        outcomes: z.record(z.string(), count).describe('of the calls to it'),
        tokens: z.looseObject(amounts),
        latency: Latency.nullable().describe('of the calls to it'),
      }),
    ),
    models: z.array(z.looseObject({ name: z.string(), ...amounts })),
    context: z
      .looseObject({ calls: count, passed: count, history: count })
      .describe("tokens that calls passed on, against all that their callers' conversations held then"),
    columns: z.array(
      z.looseObject({ from: millis, widthMs: z.number(), calls: count, refused: count, tokens: count }),
    ),
  })
  .meta({ id: 'Numbers' })
export type Numbers = z.infer<typeof Numbers>
