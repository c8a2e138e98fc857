/** Everything that happens. The log is the truth (R10): sessions, turns, calls and conversations are folds of these. */
import { z } from 'zod'
import { Authority } from './authority.ts'
import { Manifest } from './context.ts'
import { CallId, FlowId, MessageId, NodeId, SessionId, TurnId } from './id.ts'
import { Json } from './json.ts'
import { Refusal } from './refusal.ts'

export const Outcome = z.enum(['completed', 'failed', 'timed_out', 'cancelled', 'budget_exhausted', 'refused', 'lost'])
export type Outcome = z.infer<typeof Outcome>

export const SessionKind = z.enum(['ephemeral', 'persistent', 'external'])
export type SessionKind = z.infer<typeof SessionKind>

export const StepKind = z.enum(['model', 'tool', 'summary'])
export type StepKind = z.infer<typeof StepKind>

export const Usage = z.strictObject({ input: z.number().int().min(0), output: z.number().int().min(0), estimated: z.boolean() })
export type Usage = z.infer<typeof Usage>

/** One hop of a call path, root first. */
export const Hop = z.strictObject({ session: SessionId, agent: z.string() })
export type Hop = z.infer<typeof Hop>

/** What was decided about a turn when its input was accepted; it never changes afterwards. */
export const Grant = z.strictObject({
  agent: z.string(),
  depth: z.number().int(),
  /** `subagent` hops so far: that tool has its own limit. */
  subagentDepth: z.number().int(),
  path: z.array(Hop),
  authority: Authority,
  tokensMax: z.number().int().nullable(),
  maxIterations: z.number().int(),
})
export type Grant = z.infer<typeof Grant>

/** `session` and `turn` say on whose timeline an event stands; a call stands on its caller's. */
const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) => z.strictObject({ type: z.literal(type), session: SessionId, turn: TurnId.nullable(), ...shape })

export const Event = z.discriminatedUnion('type', [
  event('session.created', { agent: z.string(), kind: SessionKind, parent: SessionId.nullable(), cwd: z.string(), title: z.string() }),
  event('session.archived', {}),
  event('session.claimed', { node: NodeId, epoch: z.number().int() }),
  event('message.sent', {
    message: MessageId, flow: FlowId, from: SessionId.nullable(), source: z.enum(['user', 'applet', 'agent']), text: z.string(), tokens: z.number().int(), /** Whoever sent it waits no longer than this. */ deadline: z.number().nullable(), grant: Grant,
  }),
  event('turn.started', { node: NodeId, epoch: z.number().int(), deadline: z.number() }),
  event('turn.cancelled', { outcome: Outcome, cause: z.string() }),
  event('turn.ended', {
    outcome: Outcome, output: z.string(), error: z.string().nullable(), tokensUsed: z.number().int(), /** By calls below it, or still held by them. */ tokensBelow: z.number().int(), iterations: z.number().int(), toolCalls: z.array(z.string()),
    /** What the conversation of a persistent session gains: entry `n` asked, entry `n + 1` answered. Null for an ephemeral one. */
    entry: z.strictObject({
      n: z.number().int(), asked: z.string(), askedTokens: z.number().int(), from: z.string().nullable(), startedAt: z.number(), answered: z.string(), answeredTokens: z.number().int(),
    }).nullable(),
  }),
  event('step.started', { kind: StepKind, name: z.string(), key: z.string(), input: Json }),
  event('step.ended', {
    kind: StepKind, name: z.string(), key: z.string(), input: Json, ok: z.boolean(), output: Json, usage: Usage.nullable(), startedAt: z.number(),
  }),
  event('call.opened', {
    call: CallId, key: z.string(), flow: FlowId, target: SessionId, tool: z.string(), task: z.string(), taskHash: z.string(), input: Json, background: z.boolean(),
    outputSchema: Json, requested: Json, deadline: z.number(), grant: Grant, context: Manifest, /** Text given under the task as it is. */ attachment: z.string().nullable(),
  }),
  event('call.refused', { call: CallId, key: z.string(), tool: z.string(), agent: z.string(), task: z.string(), taskHash: z.string(), requested: Json, refusal: Refusal }),
  event('call.ended', {
    call: CallId, target: SessionId, outcome: Outcome, output: z.string(), outputBytes: z.number().int(), truncated: z.boolean(), errors: z.array(z.string()), toolCalls: z.array(z.string()),
    tokensUsed: z.number().int(), iterations: z.number().int(), openedAt: z.number(), endedAt: z.number(), cause: z.string(),
  }),
  event('wait.started', { target: SessionId, until: z.number() }),
  event('wait.ended', { target: SessionId, reason: z.string() }),
  event('notice.raised', { about: z.string(), text: z.string() }),
])
export type Event = z.infer<typeof Event>
export type EventType = Event['type']
export type EventOf<T extends EventType> = Extract<Event, { type: T }>

/** `seq` is an opaque, ordered cursor to the outside. */
export type StoredEvent = { seq: number; at: number; event: Event }
