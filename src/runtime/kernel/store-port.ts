/** The store: the log, its views, and the transactions that decide and record at once. */
import type { ContextFilter, Entry } from '../../model/context.ts'
import type { Event, EventOf, Outcome, StoredEvent } from '../../model/event.ts'
import type { Notices } from '../../model/event-parts.ts'
import type {
  Activation,
  BelowRow,
  MailFacts,
  MessageFacts,
  MessageRow,
  OpenFacts,
  QuestionFacts,
  SendFacts,
  SessionFacts,
  SessionRow,
  TurnFacts,
  TurnRow,
} from '../../model/facts.ts'
import type { DayRow } from '../../model/day-budget.ts'
import type { CallId, FlowId, MessageId, Millis, NodeId, SessionId, TurnId } from '../../model/id.ts'
import type { ClientFacts } from '../../model/presence.ts'
import type { InboxAsk } from './mail-port.ts'
import type { StoreHealth } from './store-health.ts'

export type Key = `session:${string}` | `call:${string}` | `flow:${string}` | `message:${string}`

/** Something was appended. May be late, doubled or lost: it saves time, nothing depends on it. */
export type Hint =
  | {
      kind: 'call.ended'
      call: CallId
      /** Given where the commit was made in this process. */
      event?: EventOf<'call.ended'>
    }
  | { kind: 'turn.ended'; turn: TurnId; session: SessionId; event?: EventOf<'turn.ended'> }
  | { kind: 'turn.queued'; session: SessionId }
  | { kind: 'turn.cancelled'; turn: TurnId; outcome: Outcome }
  | { kind: 'question.answered'; question: string }
  | { kind: 'call.steered'; turn: TurnId; event?: EventOf<'call.steered'> }
  | {
      kind: 'appended'
      /** What was appended, with the number of the first; given where the commit was made in this process. */
      events?: readonly Event[]
      first?: number
      at?: Millis
    }

/**
 * A page of the log. It is full with `limit` events, or once they carry `pageUnitsMax`: only `more` says
 * whether to go on, not the number of events.
 */
export type EventPage = {
  events: StoredEvent[]
  /** Where to go on: everything up to here was looked at, also where nothing passed. */
  next: number
  /** The page is full, and there may be more behind it. */
  more: boolean
  /** About how long the rows are that its events stand in, in UTF-16 units. */
  units: number
}

export type EventFilter = { sessions?: readonly SessionId[]; types?: readonly Event['type'][] }

/** Work that no notification is needed for: found by looking. */
export type Due = {
  /** Pending calls past their deadline. */
  calls: CallId[]
  /** Sessions with something queued and nothing running, or whose runner has lost its lease. */
  sessions: SessionId[]
  /**
   * Where to go on looking for sessions; null where there are no more. Those that nobody can run now stay
   * due, and must not hide the others.
   */
  next: SessionId | null
  /** Running turns past their own deadline. */
  turns: TurnId[]
  /** Turns of clients outside whose node is gone: nobody can run them again. */
  lost: TurnId[]
}

export type Store = {
  /**
   * Runs `work` alone with respect to all work that names one of the same keys. It reads facts, then appends;
   * it may run again. Settles, yes or no, when durable. `urgent`: it must not be late, as the end of what has a
   * deadline, so it goes before what only follows from others.
   */
  transact<T>(keys: readonly Key[], work: (tx: Tx) => Promise<T>, urgent?: boolean): Promise<T>
  /** In commit order; never skips a late commit. A long read lets others run in between. */
  read(after: number, filter: EventFilter, limit: number): Promise<EventPage>
  /** The cursor after the newest event. */
  lastSeq(): number
  /**
   * Whether it can write. While it cannot, every transaction is rejected with StoreUnavailable, and reading
   * goes on.
   */
  health(): StoreHealth
  onHint(listener: (hints: readonly Hint[]) => void): () => void
  heartbeat(node: NodeId, ttlMs: number): Promise<void>
  /** At most `limit` of each kind; sessions in the order of their ids, those after `after`. */
  due(now: Millis, limit: number, after?: SessionId | null): Promise<Due>
  /** Single rows, read outside a transaction: for answers, never for decisions. */
  turn(id: TurnId): Promise<TurnRow | null>
  session(id: SessionId): Promise<SessionRow | null>
  sessionFacts(id: SessionId): Promise<SessionFacts>
  turns(
    filter: { flow?: FlowId; session?: SessionId; callerTurn?: TurnId },
    limit: number,
  ): Promise<TurnRow[]>
  sessions(filter: { agent?: string; kind?: SessionRow['kind'] }, limit: number): Promise<SessionRow[]>
  event(seq: number): Promise<StoredEvent | null>
  /** What was recorded as spent on a day (`toDay`). */
  spentOn(day: number): Promise<DayRow[]>
  /** The refusal of a call that never opened. */
  refused(call: string): Promise<StoredEvent | null>
  /**
   * Entries of a conversation, newest first, that pass `select`; cost grows with what is returned, not with
   * the history.
   */
  entries(session: SessionId, select: EntrySelect): Promise<EntryPage>
  /**
   * Single entries by their numbers, in that order; they never change. Ends early once their texts have more
   * than `unitsMax`, with at least one. A long read lets others run in between.
   */
  entriesByNumber(session: SessionId, numbers: readonly number[], unitsMax?: number): Promise<Entry[]>
  close(): Promise<void>
}

export type EntrySelect = {
  filter: Pick<ContextFilter, 'roles' | 'keywords' | 'last_messages' | 'max_age_seconds'>
  now: Millis
  tokensMax: number
}

export type EntryPage = {
  /** Oldest first. Contiguous in the selection: the first that did not fit ended it. */
  entries: Entry[]
  total: number
  dropped: Record<string, number>
  /** Only of a replay: recorded by 0.1.0, which passed nothing of the present turn and counted no note. */
  older?: boolean
}

/**
 * Facts are one statement each. `append` is buffered and applied to log and views after `work` returns: a
 * refusal or a throw has written nothing, and own writes are not read back.
 */
export type Tx = {
  now: Millis
  turn(id: TurnId): Promise<TurnFacts | null>
  /** The cheap part of `turn`, for whoever runs it and has the rest. */
  activation(id: TurnId): Promise<Activation | null>
  session(id: SessionId): Promise<SessionFacts>
  /** Also the caller's side of the wait-for graph. Throws NeedsKeys where the wait path leaves the keys. */
  open(query: { call: CallId; callerTurn: TurnId; target: SessionId | null }): Promise<OpenFacts | null>
  /** For a message: its sender, its target, and what its flow has sent. */
  send(query: { senderTurn: TurnId | null; flow: string; target: SessionId }): Promise<SendFacts>
  question(id: string): Promise<QuestionFacts | null>
  /** Whether a person has allowed a tool for the rest of this session. */
  permitted(session: SessionId, tool: string): Promise<boolean>
  /** Whether a person has seen how a flow ended, whose root is a turn of this session. */
  seen(session: SessionId, flow: FlowId): Promise<boolean>
  /** What a session was told that no turn of it was given yet. */
  notices(session: SessionId): Promise<Notices | null>
  /** How far a use of a tool by a program outside is on record. */
  traced(session: SessionId, key: string): Promise<'begun' | 'ended' | null>
  /** Which of these messages a client's session was told of. */
  announced(session: SessionId, messages: readonly MessageId[]): Promise<ReadonlySet<MessageId>>
  /** Whether a program has it open, and until when it is quiet. */
  client(session: SessionId): Promise<ClientFacts>
  /** How often a session was made to go on since then. */
  woken(session: SessionId, since: Millis): Promise<number>
  message(id: MessageId): Promise<MessageFacts | null>
  /** What waits for a session. */
  inbox(session: SessionId, ask: InboxAsk): Promise<MessageRow[]>
  /** What an act with this id has accepted. */
  accepted(act: string): Promise<MessageFacts | null>
  mail(session: SessionId): Promise<MailFacts>
  /** Pending calls below a turn, all levels. Throws NeedsKeys where they leave the keys. */
  below(turn: TurnId): Promise<BelowRow[]>
  append(...events: Event[]): void
}

/**
 * Decides what of some events is written. `clean` gives what is written instead of them, null where that is
 * themselves, or undefined where finding out takes longer than others may be held up: then `inspect` finds
 * out while others run, and `clean` is asked again with what it found.
 */
export type Cleaner<Known = unknown> = {
  clean(events: readonly Event[], known?: Known | null): readonly Event[] | null | undefined
  inspect(events: readonly Event[]): Promise<Known>
}

/** Facts were read that the named keys do not cover; the store runs the work again with these added. */
export class NeedsKeys extends Error {
  readonly keys: readonly Key[]
  constructor(keys: readonly Key[]) {
    super(`facts outside the keys: ${keys.join(', ')}`)
    this.keys = keys
  }
}

/** These events cannot be written; nothing of them was. */
export class AppendFault extends Error {}
