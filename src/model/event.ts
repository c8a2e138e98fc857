/** Everything that happens. The log of these events is the truth (R10); all else is folded from it. */
import { z } from 'zod'
import { Authority } from './authority.ts'
import { Manifest } from './context.ts'
import { CallId, FlowId, MessageId, NodeId, SessionId, TurnId } from './id.ts'
import { AgentDefinition, MailTarget, Notices } from './event-parts.ts'
import { Json } from './json.ts'
import { BoundBy } from './limits.ts'
import { Moved } from './fallback.ts'
import { Cost, Spent } from './money.ts'
import { answered, asked } from './question.ts'
import { Refusal } from './refusal.ts'
import { Moment } from './wake.ts'

const count = z.number().int().min(0)
/** The id that an act gave itself: tried again, it has no second effect. */
const actOrNull = z.string().nullable()
const sessionOrNull = SessionId.nullable()

export const Outcome = z.enum([
  'completed',
  'failed',
  'timed_out',
  'cancelled',
  'budget_exhausted',
  'refused',
  'lost',
])
export type Outcome = z.infer<typeof Outcome>

export const SessionKind = z.enum(['ephemeral', 'persistent', 'external'])
export type SessionKind = z.infer<typeof SessionKind>

export const MessageSource = z.enum(['user', 'applet', 'agent'])
export type MessageSource = z.infer<typeof MessageSource>

/** `move`: another agent took the place of one that could not work. */
export const StepKind = z.enum(['model', 'tool', 'summary', 'move'])
export type StepKind = z.infer<typeof StepKind>

/**
 * `cached` and `cacheWrite` are parts of `input`, `reasoning` is one of `output`; they have prices of their own.
 * What is left out was not said, or not known by the version that wrote it.
 */
export const Usage = z.strictObject({
  input: count,
  output: count,
  estimated: z.boolean(),
  cached: count.optional(),
  cacheWrite: count.optional(),
  reasoning: count.optional(),
  /** `provider/model`, where it is known. */
  model: z.string().optional(),
  /** Fixed when it was recorded; without it there was no price. */
  cost: Cost.optional(),
})
export type Usage = z.infer<typeof Usage>

/** One hop of a call path, root first. */
export const Hop = z.strictObject({ session: SessionId, agent: z.string() })
export type Hop = z.infer<typeof Hop>

/** What was decided about a turn when its input was accepted; it never changes. */
export const Grant = z.strictObject({
  agent: z.string(),
  depth: z.number().int(),
  /** `subagent` hops so far: that tool has its own limit. */
  subagentDepth: z.number().int(),
  path: z.array(Hop),
  authority: Authority,
  tokensMax: z.number().int().nullable(),
  /** In billionths of a dollar; left out where money is not limited. */
  nanoUsdMax: count.optional(),
  maxIterations: z.number().int(),
})
export type Grant = z.infer<typeof Grant>

const threeDigits = z.string().regex(/^\d{3}$/)
/** Of the frames in the prompt that this opens; left out by 0.1.0, whose frames had none. */
const boundary = threeDigits.optional()

/** A message as it was sent. It never changes, so that it can be delivered from this alone. */
const letter = {
  message: MessageId,
  flow: FlowId,
  /** Null for the user and for applets. */
  from: SessionId.nullable(),
  /** The sender's turn, whose budget it was taken from. */
  senderTurn: TurnId.nullable(),
  source: MessageSource,
  applet: z.string().nullable(),
  inReplyTo: MessageId.nullable(),
  text: z.string(),
  boundary,
  tokens: z.number().int(),
  /** The sender waits no longer than this. */
  deadline: z.number().nullable(),
  /** W3C traceparent of the request. */
  trace: z.string().nullable(),
  grant: Grant,
  notices: Notices.optional(),
  /** A person sent what a session had drafted; left out where its sender did. */
  releasedBy: z.literal('user').optional(),
}

/** What the conversation of a persistent session gains with a turn: entry `n` asked, `n + 1` answered. */
const Exchange = z.strictObject({
  n: z.number().int(),
  asked: z.string(),
  askedTokens: z.number().int(),
  from: z.string().nullable(),
  startedAt: z.number(),
  answered: z.string(),
  answeredTokens: z.number().int(),
})

const step = { kind: StepKind, name: z.string(), key: z.string(), input: Json }

/** A tool and what it was given. */
export const ToolAsk = z.strictObject({ tool: z.string(), input: Json })
export type ToolAsk = z.infer<typeof ToolAsk>

/**
 * `session` and `turn` say on whose timeline an event stands; a call stands on its caller's, a draft on its
 * owner's, a message that was sent on its receiver's.
 */
const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.strictObject({ type: z.literal(type), session: SessionId, turn: TurnId.nullable(), ...shape })

export const Event = z.discriminatedUnion('type', [
  event('agent.created', { agent: z.string(), definition: AgentDefinition }),
  event('agent.deleted', { agent: z.string() }),
  event('session.created', {
    agent: z.string(),
    kind: SessionKind,
    parent: sessionOrNull,
    cwd: z.string(),
    title: z.string(),
    /** Instead of the agent's own. */
    model: z.string().nullable(),
    /** Of the turn that spawned it; null where a user, a call or a client made it. */
    flow: FlowId.nullable(),
  }),
  event('session.adopted', { parent: sessionOrNull, revives: z.literal(true).optional() }),
  event('session.renamed', { title: z.string() }),
  event('session.archived', { cause: z.enum(['idle', 'deleted']) }),
  /** `act` is the act's own id: tried again, also much later, it ends these turns and no others. */
  event('session.cancelled', { act: z.string(), turns: z.array(TurnId) }),
  event('session.claimed', { node: NodeId, epoch: z.number().int() }),
  /**
   * Shares the first `entries` of another conversation, up to `back` messages before its newest; what is said
   * later, in either, is not shared.
   */
  event('session.forked', { from: SessionId, entries: count, back: count }),
  event('message.drafted', {
    message: MessageId,
    target: MailTarget,
    source: MessageSource,
    inReplyTo: MessageId.nullable(),
    text: z.string(),
    act: actOrNull,
  }),
  event('message.revised', {
    message: MessageId,
    target: MailTarget,
    inReplyTo: MessageId.nullable(),
    text: z.string(),
    how: z.enum(['written', 'elaborated', 'iterated']),
    /** What the expansion was given beyond the text. */
    instructions: z.string().nullable(),
    /** Why the text stayed as it was. */
    note: z.string().nullable(),
    act: actOrNull,
    /** A person changed what a session had drafted; left out where its owner did. */
    revisedBy: z.literal('user').optional(),
    /** The turn that had written it, whose authority it keeps. */
    writtenIn: TurnId.nullable().optional(),
  }),
  /**
   * With a turn it has opened that turn; without one it waits in the inbox of its session. `use` is what a
   * client outside asked for in a turn of its own, whole, so that another process can go on with it.
   */
  event('message.sent', { ...letter, use: ToolAsk.optional() }),
  /** A person lets a client have what waits for it. */
  event('message.released', { message: MessageId, act: actOrNull, from: sessionOrNull }),
  /** `by` is null for the user. */
  event('message.accepted', { message: MessageId, by: sessionOrNull, act: actOrNull, from: sessionOrNull }),
  /** It reached its receiver: as a turn of its own (`opens`), or handed to the one who accepted it. */
  event('message.delivered', { ...letter, opens: z.boolean() }),
  event('message.answered', { message: MessageId, reply: MessageId, from: sessionOrNull }),
  event('message.declined', { message: MessageId, by: sessionOrNull, from: sessionOrNull }),
  event('message.died', { message: MessageId, from: sessionOrNull, cause: z.string() }),
  event('turn.started', { node: NodeId, epoch: z.number().int(), deadline: z.number() }),
  /** Its node stops in good order: the next one goes on with it. */
  event('turn.suspended', { node: NodeId, epoch: z.number().int() }),
  event('turn.cancelled', { outcome: Outcome, cause: z.string() }),
  event('turn.ended', {
    outcome: Outcome,
    output: z.string(),
    error: z.string().nullable(),
    tokensUsed: z.number().int(),
    /** By calls below it, or still held by them. */
    tokensBelow: z.number().int(),
    /** Left out where nothing of it has a price. */
    spent: Spent.optional(),
    spentBelow: Spent.optional(),
    iterations: z.number().int(),
    toolCalls: z.array(z.string()),
    entry: Exchange.nullable(),
    moved: Moved.optional(),
  }),
  event('step.started', step),
  event('step.ended', {
    ...step,
    ok: z.boolean(),
    output: Json,
    usage: Usage.nullable(),
    startedAt: z.number(),
  }),
  event('call.opened', {
    call: CallId,
    key: z.string(),
    flow: FlowId,
    target: SessionId,
    tool: z.string(),
    task: z.string(),
    taskHash: z.string(),
    input: Json,
    background: z.boolean(),
    outputSchema: Json,
    requested: Json,
    deadline: z.number(),
    grant: Grant,
    context: Manifest,
    /** Text given under the task as it is. */
    attachment: z.string().nullable(),
    boundary,
    notices: Notices.optional(),
    /** The callee is told with its task how to answer, and its answer is read so; not so in 0.1.0. */
    told: z.literal(true).optional(),
    /** For the calling model: what passed nothing, or named what does not exist. */
    notes: z.array(z.string()).optional(),
    /** Which limit its deadline comes from. */
    boundBy: BoundBy.optional(),
  }),
  event('call.refused', {
    call: CallId,
    key: z.string(),
    tool: z.string(),
    agent: z.string(),
    task: z.string(),
    taskHash: z.string(),
    requested: Json,
    boundary,
    refusal: Refusal,
  }),
  /** A word to the callee while it runs; `from` is null for the user. On the callee's timeline. */
  event('call.steered', { call: CallId, from: sessionOrNull, text: z.string(), act: actOrNull }),
  event('call.ended', {
    call: CallId,
    target: SessionId,
    outcome: Outcome,
    output: z.string(),
    outputBytes: z.number().int(),
    truncated: z.boolean(),
    errors: z.array(z.string()),
    toolCalls: z.array(z.string()),
    tokensUsed: z.number().int(),
    /** With everything below it; left out where nothing of it has a price. */
    spent: Spent.optional(),
    iterations: z.number().int(),
    openedAt: z.number(),
    endedAt: z.number(),
    cause: z.string(),
    moved: Moved.optional(),
  }),
  event('wait.started', { target: SessionId, until: z.number() }),
  event('wait.ended', { target: SessionId, reason: z.string() }),
  event('question.asked', asked),
  event('question.answered', answered),
  event('flow.seen', { flow: FlowId }),
  event('notice.raised', { about: z.string(), text: z.string() }),
  event('mail.announced', { messages: z.array(MessageId), moment: Moment }),
  event('session.woken', { messages: z.array(MessageId), reason: z.string() }),
  /** A program that the user has open works in this session, until it says that it does no longer. */
  event('session.opened', { program: z.string() }),
  event('session.closed', { cause: z.string() }),
  /** On the user's own session: all are. 0 ends it. */
  event('session.quieted', { until: z.number() }),
])
export type Event = z.infer<typeof Event>
export type EventType = Event['type']
export type EventOf<T extends EventType> = Extract<Event, { type: T }>

/** What opens a turn, with what was granted to it. */
export type OpeningMessage = EventOf<'message.sent'> | EventOf<'message.delivered'>
export type Opening = EventOf<'call.opened'> | OpeningMessage

/** `seq` is an opaque, ordered cursor to the outside. */
export type StoredEvent = { seq: number; at: number; event: Event }
