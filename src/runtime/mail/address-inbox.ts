/**
 * The inbox that a client sees: its own, and that of its address (`<client>@<directory>`), which it shares with
 * the others that work there. What one of them has taken is gone for the rest (M2).
 */
import { externalAgent } from '../../model/agent.ts'
import { nameInbox, renderAddress } from '../../model/client-address.ts'
import type { SessionRow } from '../../model/facts.ts'
import { inboxMax } from '../../model/limits.ts'
import { isWaiting, pickWaiting, type Which } from '../../model/mail.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import type { MessageFacts } from '../../model/facts.ts'
import { createdEvent, newSession } from '../kernel/new-session.ts'
import { findOpening, findSession } from '../look/look.ts'
import type { Runtime } from '../turns/runtime.ts'
import { acceptMail, readInbox, type AcceptAsk, type InboxPage, type Reader } from './mail-inbox.ts'

/** Whom a message is for. Mail to an address where nobody has worked yet opens its inbox (A3). */
export async function findReceiver(runtime: Runtime, given: string): Promise<SessionRow | Refusal> {
  const found = await findSession(runtime, given)
  if (!isRefusal(found) || found.code !== 'session_unknown') return found
  const opens = await findOpening(runtime, given)
  if (opens === null) return found
  const id = nameInbox({ name: opens.client }, opens.dir)
  return runtime.store.transact([`session:${id}`], async (tx) => {
    const { session } = await tx.session(id)
    if (session !== null) return session
    const to = { agent: externalAgent.name, cwd: opens.dir, title: renderAddress(opens) }
    const row = newSession(to, id, tx.now, 'external')
    tx.append(createdEvent(row))
    return row
  })
}

type PageAsk = { replies: boolean | null; limit: number; after: null; unitsMax: number }

/** Oldest first. */
export async function readOwnInbox(
  runtime: Runtime,
  reader: Reader,
  own: SessionRow,
  ask: PageAsk,
): Promise<InboxPage | Refusal> {
  const mine = await readInbox(runtime, reader, own.id, ask)
  if (reader.address === null || reader.address === own.id || isRefusal(mine)) return mine
  const shared = await readInbox(runtime, reader, reader.address, ask)
  if (isRefusal(shared)) return shared
  const messages = [...mine.messages, ...shared.messages].sort((a, b) => a.createdSeq - b.createdSeq)
  return {
    ...mine,
    messages: messages.slice(0, ask.limit),
    total: mine.total + shared.total,
    notices: [...mine.notices, ...shared.notices],
  }
}

const triesMax = 5

/** Takes one from either. One that another client at this address takes meanwhile is passed over. */
export async function acceptOwnMail(
  runtime: Runtime,
  reader: Reader,
  ask: AcceptAsk,
): ReturnType<typeof acceptMail> {
  const { address } = reader
  if (address === null || address === ask.session.id) return acceptMail(runtime, reader, ask)
  const shared = await runtime.store.session(address)
  if (shared === null) return acceptMail(runtime, reader, ask)
  for (let tries = 1; ; tries += 1) {
    const picked = await pickOwn(runtime, reader, ask)
    const [session, other] = picked?.to === shared.id ? [shared, ask.session] : [ask.session, shared]
    const which: Which = picked === null ? ask.which : { kind: 'named', name: picked.id }
    const accepted = await acceptMail(runtime, reader, { ...ask, session, which, orOf: other.id })
    const wasTaken = isRefusal(accepted) && accepted.code === 'message_taken'
    if (!wasTaken || ask.which.kind === 'named' || tries === triesMax) return accepted
  }
}

async function pickOwn(
  runtime: Runtime,
  reader: Reader,
  { session, which, replies }: AcceptAsk,
): Promise<MessageFacts | null> {
  const named = which.kind === 'named' ? await runtime.lists.mail.message(which.name) : null
  if (named !== null && (named.to === reader.address || named.to === session.id) && isWaiting(named))
    return named
  const page = { replies, limit: inboxMax, after: null, unitsMax: Infinity }
  const listed = await readOwnInbox(runtime, reader, session, page)
  return isRefusal(listed) ? null : (pickWaiting(listed.messages, which) ?? named)
}
