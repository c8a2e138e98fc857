/** What the rules decide over: rows of the views, read inside the deciding transaction. */
import type { Grant, Outcome, SessionKind } from './event.ts'
import type { CallId, FlowId, Millis, NodeId, SessionId, TurnId } from './id.ts'

export type SessionRow = {
  id: SessionId
  agent: string
  kind: SessionKind
  parent: SessionId | null
  cwd: string
  title: string
  createdAt: Millis
  archived: boolean
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
  call: { id: CallId; caller: SessionId; callerTurn: TurnId; pending: boolean; outcome: Outcome | null; background: boolean; deadline: Millis; key: string } | null
  grant: Grant
  node: NodeId | null
  epoch: number
  deadline: Millis
  /** Told to stop, and how it will have ended when its driver has. */
  stopping: Outcome | null
  openedAt: Millis
  openedSeq: number
  endedSeq: number | null
  tokensUsed: number
  /** Held by calls below that have not stopped, plus used by those that have. */
  tokensBelow: number
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
}

export type TurnFacts = { turn: TurnRow; session: SessionRow }

export type OpenFacts = {
  /** A call with this id already, from an earlier try of the same request. */
  known: boolean
  caller: TurnFacts
  openCalls: number
  /** Sessions that calls of this flow created. */
  descendants: number
  callsLastMinute: number
  /** When the oldest call of the last minute opened; null if none did. */
  oldestCallAt: Millis | null
  /** Null where the call makes its own session. */
  target: { session: SessionRow | null; queued: number; /** Sessions from the target back to the caller along waits; null if none. */ waitPath: Hop[] | null } | null
}
export type Hop = { session: SessionId; agent: string }

/** A pending call somewhere below a turn, or a running turn whose own call has ended (it must stop too). */
export type BelowRow = { turn: TurnRow; sessionKind: SessionKind }
