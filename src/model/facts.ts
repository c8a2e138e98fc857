/** What the rules decide over: rows of the views, read inside the deciding transaction. */
import { z } from 'zod'
import type { DayBudget } from './day-budget.ts'
import type { EventOf, Grant, MessageSource, Outcome, SessionKind } from './event.ts'
import type { MailTarget } from './event-parts.ts'
import type { CallId, FlowId, MessageId, Millis, NodeId, SessionId, TurnId } from './id.ts'
import type { Spent } from './money.ts'
import type { Answer } from './question.ts'

export type SessionRow = {
  id: SessionId
  agent: string
  kind: SessionKind
  parent: SessionId | null
  cwd: string
  title: string
  /** Instead of its agent's own. */
  model: string | null
  createdAt: Millis
  /** A message brings back one that was only idle. */
  archived: false | 'idle' | 'deleted'
  /** How many entries its conversation has. */
  entries: number
  summary: string | null
  /** Entries that the summary covers. */
  summaryEntries: number
}

export type TurnState = 'queued' | 'running' | 'ended'

/** One input of a session and the turn that serves it: a call's turn has the call's suffix. */
export type TurnRow = {
  id: TurnId
  session: SessionId
  flow: FlowId
  state: TurnState
  /** Null for a turn that a message started. */
  call: {
    id: CallId
    caller: SessionId
    callerTurn: TurnId
    pending: boolean
    outcome: Outcome | null
    background: boolean
    deadline: Millis
    key: string
  } | null
  grant: Grant
  node: NodeId | null
  epoch: number
  deadline: Millis
  /** How it will have ended when its driver has stopped; null while it may go on. */
  stopping: Outcome | null
  openedAt: Millis
  openedSeq: number
  endedSeq: number | null
  tokensUsed: number
  /** Held by calls below that have not stopped, plus used by those that have. */
  tokensBelow: number
  /** Its own, once it has ended. */
  spent: Spent
  /** The same as `tokensBelow`, in billionths of a dollar. */
  nanoUsdBelow: number
}

export type SessionFacts = {
  session: SessionRow | null
  running: TurnRow | null
  /** Whether the node that runs `running` still has its lease. */
  runnerAlive: boolean
  queued: number
  next: TurnRow | null
}

/** What can change about a running turn; the rest of its row was fixed when it opened. */
export type Activation = {
  state: TurnState
  node: NodeId | null
  epoch: number
  stopping: Outcome | null
  pending: boolean
  outcome: Outcome | null
  tokensUsed: number
  tokensBelow: number
  nanoUsdBelow: number
}

export type TurnFacts = { turn: TurnRow; session: SessionRow }

export type OpenFacts = {
  caller: TurnFacts
  /** Those that the caller blocks on: what goes on in the background is none of them. */
  openCalls: number
  /** Sessions that calls of this flow created. */
  descendants: number
  callsLastMinute: number
  /** When the oldest call of the last minute opened; null if none did. */
  oldestCallAt: Millis | null
  /** Null where the call makes its own session. */
  target: {
    session: SessionRow | null
    queued: number
    /** Sessions from the target back to the caller along waits; null if none. */
    waitPath: Hop[] | null
  } | null
  /** Only of a replay: the budget of the day that was used up then. */
  day?: DayBudget
}
export type Hop = { session: SessionId; agent: string }

export type SendFacts = {
  /** The live turn that sends; null for a user, an applet or a client outside. */
  sender: TurnFacts | null
  target: SessionFacts
  /** The target made the sender, directly or not: a message to it is a reply, and no hop. */
  callback: boolean
  /** Sessions that this flow created. */
  descendants: number
  messagesLastMinute: number
  oldestMessageAt: Millis | null
  /** When the user spoke last in this flow. */
  flowStartedAt: Millis
  /** Messages in the target's inbox, and whether a call of its own is pending; asked for where this one waits. */
  waiting?: number
  pending?: boolean
}

/**
 * Where a message is in its life. `draft`: with its sender. `buffered`: in the inbox, to be accepted first.
 * `ready`: in the inbox of a session that is not run, which only has to fetch it.
 * `queued`: its turn waits. `delivered`: its receiver has it. `answered`: and has replied. `declined`: nobody
 * will. `dead`: its receiver is gone.
 */
export const MessageStatus = z.enum([
  'draft',
  'ready',
  'buffered',
  'queued',
  'delivered',
  'answered',
  'declined',
  'dead',
])
export type MessageStatus = z.infer<typeof MessageStatus>

export type MessageRow = {
  id: MessageId
  status: MessageStatus
  /** Whose draft it was: the session that wrote it, or the user's own. */
  owner: SessionId
  from: SessionId | null
  /** Null while it is a draft for a session that is not there yet. */
  to: SessionId | null
  inReplyTo: MessageId | null
  createdAt: Millis
  createdSeq: number
  updatedAt: Millis
  updatedSeq: number
  acceptedAt: Millis | null
  acceptedSeq: number | null
  /** Who accepted it, or declined it. */
  acceptedBy: SessionId | 'user' | null
  /** The turn that it opened, or in which it was accepted. */
  turn: TurnId | null
  /** How often its text or its target was changed. */
  revisions: number
  /** Of the act that wrote or changed it last as a draft. */
  draftAct: string | null
}

/** A session as far as its mail goes: whether a call to it is pending, how much waits for it, its drafts. */
export type MailFacts = { session: SessionRow | null; pending: boolean; waiting: number; drafts: number }

/** A message with what stands only in the log. */
export type MessageFacts = MessageRow & {
  source: MessageSource
  /** What was written first. */
  initial: string
  text: string
  target: MailTarget
  /** The turn in which its owner wrote it, before a person changed it; only of a draft. */
  writtenIn: TurnId | null
  /** Null while it is a draft. */
  sent: EventOf<'message.sent'> | null
}

/** A question that a turn has asked; `live` while that turn runs. */
export type QuestionFacts = {
  turn: TurnId
  session: SessionId
  answer: Answer | null
  by: string | null
  live: boolean
}

/** A pending call somewhere below a turn, or a running turn whose own call has ended (it must stop too). */
export type BelowRow = { turn: TurnRow; sessionKind: SessionKind }
