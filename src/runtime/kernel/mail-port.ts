/**
 * The part of the ports that is about mail: what is asked for, what is answered, and what lists there are.
 */
import type { ClientState } from '../../model/presence.ts'
import type { MessageFacts } from '../../model/facts.ts'
import type { Boundary } from '../../model/frame.ts'
import type { MessageId, Millis, SessionId } from '../../model/id.ts'
import type { Which } from '../../model/mail.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { SentMail } from '../../wire/mail.ts'

/** `replies`: only those, none of them, or all. The oldest first, unless `newest`. */
export type InboxAsk = { replies: boolean | null; newest: boolean; limit: number }

/**
 * `next` is where to go on; null where nothing is left. A page is full with `limit` messages, or once their
 * texts have `pageUnitsMax`.
 */
export type MailPage = { messages: MessageFacts[]; next: number | null }

export type MailLists = {
  /** By either spelling of its id, with what stands only in the log. */
  message(id: MessageId): Promise<MessageFacts | null>
  /** `after` is the `next` of the page before. Ends early with `unitsMax` of texts, if given with those. */
  inbox(session: SessionId, ask: InboxAsk & { after?: number | null; unitsMax?: number }): Promise<MailPage>
  counts(session: SessionId): Promise<{ waiting: number; drafts: number }>
  /** Of one session, or of all (null); the newest first, `before` is the `next` of the page before. */
  drafts(owner: SessionId | null, before: number | null, limit: number): Promise<MailPage>
  /**
   * A message with all that it answers and all that answer it, oldest first; `after` is the `next` of the
   * page before.
   */
  thread(id: MessageId, after: number, limit: number): Promise<MailPage>
  /** Dead letters, the newest first; `before` is the `next` of the page before. */
  dead(before: number | null, limit: number): Promise<MailPage>
  /** Sessions that a call made, that are over, and for which mail still waits. */
  stranded(limit: number): Promise<SessionId[]>
}

/** What a session was told that nobody asked for, and about what. */
export type Notice = { about: string; text: string }

/**
 * What `send-message` takes: whatever is left out stays as it is in a draft, and has its default otherwise.
 */
export type MailAsk = {
  /** Left out: the text that the draft with this id has. */
  message?: string
  /** `new`, `fork`, or an id or a unique part of one. */
  session?: string
  elaborate?: boolean
  fork?: boolean | number
  iterate?: boolean
  id?: string
  draft?: boolean
  /** One id of a message, or none. */
  reply?: readonly string[]
}
/** One draft. `read` is its `updated_at` as it was read: one that was changed since is left as it is. */
export type DraftAsk = { id: string; read: string | null }
export type SessionSummary = {
  id: SessionId
  agent: string
  title: string
  cwd: string
  status: 'idle' | 'streaming' | 'error'
  active: boolean
  parent: SessionId | null
  createdAt: Millis
  updatedAt: Millis
  buffered: number
  presence: ClientState | null
  wakeable: boolean
}

/** What tools may ask of mail, bound to one turn. */
export type MailActs = {
  /** Sessions that are not a call's own, newest first. `dir` null is anywhere. */
  listSessions(ask: { dir: string | null; active: boolean | null }): Promise<SessionSummary[]>
  sendMail(ask: MailAsk, key: string): Promise<SentMail | Refusal>
  /** `session` null is one's own. */
  readInbox(ask: { session: string | null; replies: boolean | null; limit: number }): Promise<
    | {
        messages: MessageFacts[]
        total: number
        notices: Notice[]
        /** For the frames of what is shown of them. */
        boundary: Boundary
      }
    | Refusal
  >
  /** Until a message waits in one's own inbox, news come, or the time is over. */
  waitForMail(timeoutMs: number): Promise<void>
  /** Null where nothing waits. The same key takes no second message. */
  acceptMail(
    ask: { session: string | null; which: Which; replies: boolean | null },
    key: string,
  ): Promise<MessageFacts | null | Refusal>
}
