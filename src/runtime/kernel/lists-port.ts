/** The part of the ports that is about looking around: lists that no decision rests on. */
import type { EventOf, StoredEvent } from '../../model/event.ts'
import type { Answer } from '../../model/question.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { CallId, FlowId, Millis, SessionId, TurnId } from '../../model/id.ts'
import type { Spent } from '../../model/money.ts'
import type { ClientFacts } from '../../model/presence.ts'
import type { MailLists, Notice } from './mail-port.ts'

export type Lists = {
  /**
   * Sessions that are not a call's own, newest first, with what a list shows of them. A page may be short, `next`
   * says where to go on.
   */
  listing(ask: ListAsk, limit: number): Promise<SessionPage>
  /** Ids of sessions that end or begin with a text, and those of the newest that contain it. */
  sessionsLike(part: string, limit: number): Promise<SessionId[]>
  /** Sessions that may be the inbox of an address of a client, newest first. */
  addresses(limit: number): Promise<SessionRow[]>
  children(parent: SessionId): Promise<SessionRow[]>
  /** Spawned sessions that have done nothing since then, and have nothing live below them. */
  restingSince(before: Millis, limit: number): Promise<SessionId[]>
  /** Agents that doors made, by their `agent.created`. */
  agentRows(): Promise<{ created: EventOf<'agent.created'>; at: Millis; deleted: boolean }[]>
  openQuestions(): Promise<StoredEvent[]>
  question(id: string): Promise<{ asked: StoredEvent; answer: Answer | null; by: string | null } | null>
  /** Calls that somebody waits for, and inputs that wait for their session. */
  counts(): Promise<{ openCalls: number; queued: number }>
  /** Who waits for whom at this moment. */
  waits(): Promise<WaitRow[]>
  /**
   * Calls, opened or refused, newest first; of a session those that it made and those that were made to it. A
   * page may be short, `next` says where to go on.
   */
  calls(ask: CallsAsk, limit: number): Promise<CallPage>
  /**
   * Requests, newest first: the turns that flows began with, without what clients only looked up. A page may be short,
   * `next` says where to go on.
   */
  roots(ask: RootsAsk, limit: number): Promise<RootPage>
  /**
   * Newest first: calls or requests whose id ends or begins with a text, those of the newest and open questions that
   * contain it; with an empty one the newest.
   */
  idsLike(kind: 'call' | 'flow' | 'question', part: string, limit: number): Promise<string[]>
  /** Whether a program has a session open, and until when it is quiet. */
  client(session: SessionId): Promise<ClientFacts>
  /** Sessions that are quiet after that time; the user's own for all. */
  quiet(after: Millis, limit: number): Promise<{ session: SessionId; until: Millis }[]>
  /** What its turns that have ended used, with everything that they called. */
  spentBy(session: SessionId): Promise<{ tokens: number; spent: Spent }>
  /** What a session was told that no turn of it was given yet, newest last. */
  notices(session: SessionId, limit: number): Promise<Notice[]>
  /**
   * What a session was told, whether a turn was given it or not, newest last: all that none was given, and of the rest
   * what stands among the newest rows of its timeline.
   */
  raisedNotices(session: SessionId, limit: number): Promise<RaisedNotice[]>
  readonly mail: MailLists
}

export type RaisedNotice = Notice & { seq: number; at: Millis }

/**
 * `live` has turns that have not ended. `ended`, `failed` and `unseen` (failed, and nobody has seen it) are about how
 * it ended for the one who asked; something that it left in the background may still run.
 */
export type RootsAsk = {
  before: number | null
  state?: 'live' | 'ended' | 'failed' | 'unseen'
  /** Those that asked one of these. */
  agents?: readonly string[]
  /** Those that work there or below. */
  dir?: string
}
export type RootPage = { roots: RootRow[]; next: number | null }
/** `seen`: a person has seen how it ended. */
export type RootRow = { turn: TurnId; openedSeq: number; seen: boolean }

export type CallsAsk = { session: SessionId | null; before: number | null }
export type CallPage = {
  calls: {
    /** `call.opened` or `call.refused`. */
    first: StoredEvent
    ended: EventOf<'call.ended'> | null
    /** What its turn had used when it stopped, which may be after the call had ended. */
    used: number
    /** Of a refused one. */
    flow: FlowId | null
  }[]
  next: number | null
}
export type ListAsk = {
  dir?: string
  active?: boolean
  agent?: string
  parent?: SessionId
  archived: boolean
  before?: { createdAt: Millis; id: SessionId }
}
export type SessionPage = { sessions: SessionListing[]; next: { createdAt: Millis; id: SessionId } | null }
export type SessionListing = {
  row: SessionRow
  active: boolean
  updatedAt: Millis
  parentArchived: boolean
  lastTurn: TurnId | null
  buffered: number
}
export type WaitRow = {
  waiter: SessionId
  waiterAgent: string
  target: SessionId
  targetAgent: string
  call: CallId | null
  since: Millis
  until: Millis
}
