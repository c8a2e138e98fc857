/** Sessions: opening, listing, reading and writing to them. */
import { z } from 'zod'
import { MessageSource, Outcome, SessionKind } from '../model/event.ts'
import { FlowId, SessionId, TurnId } from '../model/id.ts'
import { waitSecondsDefault, waitSecondsMax } from '../model/limits.ts'
import { ClientState } from '../model/presence.ts'
import { messageIdPattern } from '../model/mail.ts'
import { CostView, count, Directory, Flag, IdText, millis, PageNumber, pageSize, Text } from './scalars.ts'

const pageMax = 200

export const SessionStatus = z.enum(['idle', 'streaming', 'error'])
export type SessionStatus = z.infer<typeof SessionStatus>

/** What became of a message to a session. */
/** `draft`: a person releases it, as the configuration wants. */
export const Dispatch = z.enum(['dispatched', 'queued', 'buffered', 'draft'])
export type Dispatch = z.infer<typeof Dispatch>

export const NewSession = z.strictObject({
  cwd: Directory.describe('the directory that it works in'),
  agent: IdText.optional().describe('by name or id; without it the first that is configured'),
  model: IdText.optional(),
  title: z.string().max(200).optional(),
  parent: IdText.nullish().describe('the session that it belongs to'),
  initialMessage: z.string().min(1).optional(),
})
export type NewSession = z.infer<typeof NewSession>

export const CreatedSession = z.object({
  sessionId: SessionId,
  cwd: z.string(),
  agent: z.string(),
  model: z.string().nullable(),
  messageId: z.string().nullable(),
  status: Dispatch.nullable(),
  token: z
    .string()
    .nullable()
    .describe('acts as that session; given for an external one that the user opens'),
})
export type CreatedSession = z.infer<typeof CreatedSession>

export const Session = z
  .object({
    id: SessionId,
    agent: z.string(),
    agentName: z.string().describe('what people call the agent, where it has a name besides its id'),
    title: z.string().describe('as it was given, or the first words of its first message'),
    cwd: z.string(),
    model: z.string().nullable(),
    kind: SessionKind,
    status: SessionStatus,
    active: z.boolean(),
    away: z.boolean().describe('what is queued waits for the program that runs it, which is not connected'),
    presence: ClientState.nullable().describe(
      'of a program that the user has open: working, idle, away (not heard of), closed; null for any other session',
    ),
    wakeable: z.boolean().describe('mail can start it while it rests'),
    quietUntil: millis.nullable().describe('it is not told of mail until then'),
    parent: SessionId.nullable(),
    orphan: z.boolean().describe('its parent is archived: it can be adopted'),
    archived: z.boolean(),
    createdAt: millis,
    updatedAt: millis,
    buffered: count.describe('messages that wait to be accepted'),
    tokensUsed: count.describe('by its turns, with everything that they called'),
    cost: CostView.describe('of those tokens'),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>

export const SessionsQuery = z.strictObject({
  dir: Directory.optional(),
  active: Flag.optional().describe('running or queued'),
  agent: IdText.optional(),
  parent: IdText.optional(),
  archived: Flag.optional(),
  cursor: IdText.optional(),
  limit: pageSize(pageMax),
})
export const Sessions = z.object({
  sessions: z.array(Session),
  next: z.string().nullable().describe('the cursor of the next page'),
})
export type Sessions = z.infer<typeof Sessions>

export const Archived = z.object({ archived: z.array(SessionId) })
export type Archived = z.infer<typeof Archived>
export const NewParent = z.strictObject({ parent: IdText.nullable().describe("null makes it nobody's") })

export const SessionState = z
  .object({
    sessionId: SessionId,
    status: SessionStatus,
    cwd: z.string(),
    isActive: z.boolean().describe('a turn runs or waits'),
    lastMessage: z
      .object({ role: z.enum(['user', 'assistant']), content: z.string(), timestamp: z.string() })
      .nullable(),
    queued: count,
    parent: SessionId.nullable(),
    depth: count,
  })
  .meta({ id: 'State' })
export type SessionState = z.infer<typeof SessionState>

export const WaitQuery = z.strictObject({
  timeoutMs: z.coerce
    .number()
    .min(0)
    .transform((ms) => Math.min(ms, waitSecondsMax * 1000))
    .optional()
    .describe(
      `at most ${waitSecondsMax * 1000}, ${waitSecondsDefault * 1000} unless given; ask again to go on`,
    ),
})

export const Cancel = z
  .strictObject({
    all: z.boolean().optional().describe('what is queued too'),
    turn: IdText.optional().describe('this turn alone, whether it runs or waits'),
    timedOut: z
      .boolean()
      .optional()
      .describe('its time is over, for the one who asks: it ends as timed_out and not as cancelled'),
  })
  .default({})
export const Cancelled = z.object({ cancelled: count.describe('how many turns were told to stop') })
export type Cancelled = z.infer<typeof Cancelled>

export const Fork = z
  .strictObject({
    back: z.number().int().min(0).optional().describe('so many messages back'),
    messageId: z.string().min(1).max(132).optional().describe('up to this message, with it'),
  })
  .default({})
/** As one that was opened, and as one that is looked at. */
export const ForkedSession = Session.extend({ sessionId: SessionId })
export type ForkedSession = z.infer<typeof ForkedSession>

export const NewMessage = z.strictObject({
  message: Text,
  source: MessageSource.optional().describe('agent if and only if fromSession is given; user otherwise'),
  fromSession: IdText.optional().describe('the session that sends'),
  applet: z.string().min(1).max(64).optional().describe('the name of the applet, for that source'),
  delivery: z
    .enum(['auto', 'buffer', 'now'])
    .default('auto')
    .describe('auto: at once if idle, queued if busy; buffer: waits to be accepted; now: refused if busy'),
  inReplyTo: z.string().min(1).max(132).optional(),
  messageId: z
    .string()
    .regex(messageIdPattern, 'letters, digits, "_" and "-", at most 128')
    .optional()
    .describe("the sender's own id; the same again is the same message"),
})
export type NewMessage = z.input<typeof NewMessage>

export const SentMessage = z.object({
  messageId: z.string(),
  status: Dispatch,
  sessionId: SessionId,
  turn: TurnId.nullable(),
  flow: FlowId.nullable(),
})
export type SentMessage = z.infer<typeof SentMessage>

export const HistoryEntry = z
  .object({
    n: count,
    role: z.enum(['user', 'assistant']),
    text: z.string(),
    at: millis,
    turn: z.string(),
    source: MessageSource.nullable(),
    from: SessionId.nullable(),
    fromAgent: z.string().nullable(),
    applet: z.string().nullable(),
    messageId: z.string().nullable(),
    toolCalls: z.array(z.string()),
    outcome: Outcome.nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'Message' })
export type HistoryEntry = z.infer<typeof HistoryEntry>

export const HistoryQuery = z.strictObject({ before: PageNumber, limit: pageSize(pageMax) })
export const History = z.object({
  messages: z.array(HistoryEntry),
  next: count.nullable().describe('`before` of the next page'),
})
export type History = z.infer<typeof History>
