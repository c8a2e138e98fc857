/** What an explanation is made from. */
import type { MessageFacts, SessionRow, TurnRow } from '../../model/facts.ts'
import type { MessageId, Millis, SessionId, TurnId } from '../../model/id.ts'
import type { Explanation } from '../../wire/explain.ts'
import type { IdLists, LogReader } from '../kernel/scope.ts'
import type { Store } from '../kernel/store-port.ts'

export type ExplainStore = LogReader & Pick<Store, 'sessionFacts'>

export type ExplainPorts = {
  store: ExplainStore
  now: Millis
  /** Whether what runs a session's turns is there; null where no server runs on this log. */
  isRun: ((session: SessionRow) => boolean) | null
  lists: IdLists & {
    mail: {
      message(id: MessageId): Promise<MessageFacts | null>
      inbox(
        session: SessionId,
        ask: { replies: null; newest: boolean; limit: number },
      ): Promise<{ messages: MessageFacts[] }>
    }
  }
  /** What stands in the way of a turn that runs here; empty where nothing does. */
  remark?: (turn: TurnId) => string
  /** Whether the one who asks may see a session; left out where it may see all. */
  sees?: (session: SessionId) => Promise<boolean>
}

/** A turn that has not ended, and the session that it is in. */
export type Live = { row: TurnRow; session: SessionRow | null }

/** Everything but the words. */
export type Known = Omit<Explanation, 'roots' | 'text'>
