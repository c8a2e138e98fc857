/**
 * A person's accept of mail for a client: the client alone can work on it, so it is released to the client, and
 * waits there until the client takes it (M6).
 */
import type { MessageFacts, SessionRow } from '../../model/facts.ts'
import type { MessageId } from '../../model/id.ts'
import { inboxMax } from '../../model/limits.ts'
import { isWaiting, pickWaiting, releaseMessage, taken, type Which } from '../../model/mail.ts'
import { type Refusal, badInput } from '../../model/refusal.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { Tx } from '../kernel/store-port.ts'

/** Null where nothing waits that was not released before. */
export const releaseWaiting = (
  runtime: Runtime,
  { id: session }: SessionRow,
  which: Which,
  act: string | null,
): Promise<{ message: MessageId | null } | Refusal> =>
  runtime.store.transact(
    [`session:${session}`],
    async (tx): Promise<{ message: MessageId | null } | Refusal> => {
      const before = act === null ? null : await tx.accepted(act)
      if (before !== null)
        return before.to === session
          ? { message: before.id }
          : badInput('Idempotency-Key', act, 'a key that was not used for another inbox')
      const picked = await pick(tx, session, which)
      if (picked === null)
        return which.kind === 'named' ? { code: 'message_unknown', message: which.name } : { message: null }
      const events = isWaiting(picked) ? releaseMessage(picked, act) : taken(picked)
      if (!Array.isArray(events)) return events
      tx.append(...events)
      return { message: picked.id }
    },
  )

async function pick(tx: Tx, session: SessionRow['id'], which: Which): Promise<MessageFacts | null> {
  const named = which.kind === 'named' ? await tx.message(which.name) : null
  if (named !== null && named.to === session && named.status !== 'draft') return named
  const waiting = await tx.inbox(session, { replies: null, newest: false, limit: inboxMax })
  const left = which.kind === 'named' ? waiting : waiting.filter(({ status }) => status === 'buffered')
  const row = pickWaiting(left, which)
  return row === null ? null : tx.message(row.id)
}
