/**
 * Reading mail: inboxes, accepting, declining, what became of a message, and letters whose receiver is gone.
 * An inbox belongs to its session, those above it, and the user.
 */
import { agentsIn, findAgent } from '../kernel/projects-port.ts'
import type { EventOf } from '../../model/event.ts'
import type { MessageFacts, SessionFacts, SessionRow } from '../../model/facts.ts'
import type { Boundary } from '../../model/frame.ts'
import type { MessageId, SessionId, TurnId } from '../../model/id.ts'
import { inboxMax, noticesShownMax } from '../../model/limits.ts'
import {
  acceptMessage,
  buryMessages,
  declineMessage,
  isWaiting,
  messageIdPattern,
  pickWaiting,
  idSuffix,
  taken,
  type Which,
} from '../../model/mail.ts'
import { type Refusal, badInput, isRefusal } from '../../model/refusal.ts'
import { messageMsMax } from '../../model/time-limits.ts'
import { refuseAgent } from '../kernel/refuse-agent.ts'
import { assertOurs, commit, type OpenedTurn, run, startedEvent, startingOne } from '../kernel/commit.ts'
import { Stopped } from '../kernel/faults.ts'
import { isThere } from '../kernel/runtime.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { MailPage, Notice } from '../kernel/mail-port.ts'
import type { Key, Tx } from '../kernel/store-port.ts'
import type { Running } from '../kernel/running.ts'

/** Who reads: a session, or the user (null), and its turn. `address` is the inbox of a client's address. */
export type Reader = { session: SessionId | null; running: Running | null; address: SessionId | null }

const generationsMax = 100

/** Itself, its address, one below it, or, for the user, any. */
export async function covers(
  runtime: Runtime,
  { session, address }: Reader,
  other: SessionId | null,
): Promise<boolean> {
  if (session === null || (address !== null && address === other)) return true
  let at = other
  for (let generation = 0; at !== null && generation < generationsMax; generation += 1) {
    if (at === session) return true
    at = (await runtime.store.session(at))?.parent ?? null
  }
  return false
}

const notYours = (reader: Reader, session: SessionId): Refusal => ({
  code: 'not_allowed',
  agent: `Session ${reader.session ?? ''}`,
  what: `read the inbox of ${session}`,
  allowed: ['its own inbox', 'those of the sessions below it'],
})

export type InboxPage = MailPage & { total: number; notices: Notice[]; boundary: Boundary }

/** `total` counts also what is on other pages. */
export async function readInbox(
  runtime: Runtime,
  reader: Reader,
  session: SessionId,
  ask: { replies: boolean | null; limit: number; after: number | null; unitsMax?: number },
): Promise<InboxPage | Refusal> {
  if (!(await covers(runtime, reader, session))) return notYours(reader, session)
  const [{ messages, next }, { waiting }, notices] = await Promise.all([
    runtime.lists.mail.inbox(session, { ...ask, newest: false }),
    runtime.lists.mail.counts(session),
    runtime.lists.notices(session, noticesShownMax),
  ])
  return {
    messages,
    next,
    total: next === null && ask.after === null ? messages.length : waiting,
    notices,
    boundary: runtime.ids.boundary(),
  }
}

export type AcceptAsk = {
  session: SessionRow
  which: Which
  replies: boolean | null
  /** The act's own id. */
  act: string | null
  /** The same act may have taken from this one before: who asks has two inboxes. */
  orOf?: SessionId
}
/**
 * Takes one message, with one winner (M2). In the receiver's own turn it is handed over there; for a session
 * that is not run, to whoever fetches it; otherwise it becomes a turn of its receiver.
 * Null where nothing waits.
 */
export async function acceptMail(
  runtime: Runtime,
  reader: Reader,
  ask: AcceptAsk,
): Promise<{ message: MessageId | null } | Refusal> {
  if (!(await covers(runtime, reader, ask.session.id))) return notYours(reader, ask.session.id)
  const own = reader.running?.row.session === ask.session.id ? reader.running : null
  const keys: Key[] = [
    `session:${ask.session.id}`,
    ...(namesMessage(ask.which) ? [`message:${idSuffix(ask.which.name)}` as const] : []),
  ]
  return startingOne(runtime, ask.session.id, async (note) => {
    const work = async (tx: Tx): Promise<{ message: MessageId | null; start: OpenedTurn | null } | Refusal> =>
      acceptIn(tx, runtime, reader, ask, own, note)
    const accepted =
      own === null
        ? await runtime.store.transact(keys, work)
        : await commit(runtime, own, keys, async (tx, buffered) => {
            const { stopping } = assertOurs(await tx.activation(own.row.id), own, runtime)
            if (stopping !== null) throw new Stopped(stopping)
            tx.append(...buffered)
            return work(tx)
          })
    if (isRefusal(accepted)) return accepted
    const { start, message } = accepted
    if (start !== null) run(runtime, start)
    return { message }
  })
}

async function acceptIn(
  tx: Tx,
  runtime: Runtime,
  reader: Reader,
  { session, which, replies, act, orOf }: AcceptAsk,
  own: Running | null,
  note: (turn: TurnId) => void,
): Promise<{ message: MessageId | null; start: OpenedTurn | null } | Refusal> {
  const before = act === null ? null : await tx.accepted(act)
  if (before !== null)
    return before.to === session.id || (before.to !== null && before.to === orOf)
      ? { message: before.id, start: null }
      : badInput('Idempotency-Key', act, 'a key that was not used for another inbox')
  const picked = await pick(tx, session.id, which, replies)
  if (picked === null)
    return which.kind === 'named'
      ? { code: 'message_unknown', message: which.name }
      : { message: null, start: null }
  if (!isWaiting(picked)) return taken(picked)
  const target = await tx.session(session.id)
  const opens = session.kind === 'persistent' && own === null
  const full = opens ? roomIn(runtime, target, session.id) : null
  if (full !== null) return full
  const turn: TurnId | null = opens ? `turn_${idSuffix(picked.id)}` : (own?.row.id ?? null)
  const notices = opens ? await tx.notices(session.id) : null
  const events = acceptMessage(picked, {
    by: reader.session,
    turn,
    opens,
    act,
    tokens: opens ? runtime.count(picked.text) : (picked.sent?.tokens ?? 0),
    notices,
  })
  if (!Array.isArray(events)) return events
  const start = opens && turn !== null ? planStart(runtime, target, events, turn, tx.now) : null
  if (start !== null) note(turn as TurnId)
  tx.append(...events, ...(start?.started == null ? [] : [start.started]))
  return { message: picked.id, start }
}

const namesMessage = (which: Which): which is Extract<Which, { kind: 'named' }> =>
  which.kind === 'named' && messageIdPattern.test(which.name)

/**
 * An id, or else a place in the list, oldest first. An id of what does not wait any more says what became of
 * it, unless it is a number that stands for a place.
 */
async function pick(
  tx: Tx,
  session: SessionId,
  which: Which,
  replies: boolean | null,
): Promise<MessageFacts | null> {
  const named = namesMessage(which) ? await tx.message(which.name) : null
  const mine = named !== null && named.to === session && named.status !== 'draft' ? named : null
  if (mine !== null && isWaiting(mine)) return mine
  const limit = which.kind === 'named' ? Math.min(inboxMax, Number(which.name) || 0) : 1
  const row = pickWaiting(await tx.inbox(session, { replies, newest: which.kind === 'newest', limit }), which)
  return row === null ? mine : tx.message(row.id)
}

/** It stays in the inbox where its receiver cannot take it now. */
function roomIn(runtime: Runtime, { session, queued }: SessionFacts, id: SessionId): Refusal | null {
  if (session === null || session.archived === 'deleted') return { code: 'session_unknown', session: id }
  if (findAgent(runtime, session) === undefined)
    return refuseAgent(agentsIn(runtime, session.cwd), session.agent)
  return queued >= runtime.limits.queuedPerSessionMax
    ? { code: 'queue_full', session: id, queued, queuedMax: runtime.limits.queuedPerSessionMax }
    : null
}

function planStart(
  runtime: Runtime,
  { session, running, next }: SessionFacts,
  events: readonly { type: string }[],
  turn: TurnId,
  now: number,
): OpenedTurn | null {
  const delivered = events.find((event) => event.type === 'message.delivered') as
    | EventOf<'message.delivered'>
    | undefined
  if (
    session === null ||
    delivered === undefined ||
    running !== null ||
    next !== null ||
    !isThere(runtime, findAgent(runtime, session), session)
  )
    return null
  const msMax = messageMsMax(findAgent(runtime, session), runtime.limits)
  const started = startedEvent(runtime, session.id, turn, now + msMax)
  return { session, input: delivered, started, at: now }
}

export async function declineMail(runtime: Runtime, reader: Reader, id: MessageId): Promise<Refusal | null> {
  const seen = await runtime.lists.mail.message(id)
  if (seen === null) return { code: 'message_unknown', message: id }
  // A draft is its owner's and the user's, also after it was thrown away: a second try finds that done.
  const allowed =
    seen.sent === null
      ? reader.session === null || seen.owner === reader.session
      : await covers(runtime, reader, seen.to)
  if (!allowed) return { code: 'message_not_yours', message: seen.id }
  const keys: Key[] = [`message:${idSuffix(id)}`, `session:${seen.to ?? seen.owner}`, `session:${seen.owner}`]
  return runtime.store.transact(keys, async (tx) => {
    const known = await tx.message(id)
    const events =
      known === null
        ? ({ code: 'message_unknown', message: id } as const)
        : declineMessage(known, reader.session)
    if (!Array.isArray(events)) return events
    tx.append(...events)
    return null
  })
}

/** Its sender, its receiver, and those above either may ask what became of a message. */
export async function findMail(
  runtime: Runtime,
  reader: Reader,
  id: MessageId,
): Promise<MessageFacts | Refusal> {
  const known = await runtime.lists.mail.message(id)
  if (known === null) return { code: 'message_unknown', message: id }
  const mine =
    (await covers(runtime, reader, known.owner)) ||
    (known.status !== 'draft' && (await covers(runtime, reader, known.to)))
  return mine ? known : { code: 'message_not_yours', message: known.id }
}

/** What somebody may see of a conversation by mail: a page of it, and where the next one begins. */
export async function readThread(
  runtime: Runtime,
  reader: Reader,
  id: MessageId,
  after: number,
  limit: number,
): Promise<MailPage | Refusal> {
  const known = await findMail(runtime, reader, id)
  if (isRefusal(known)) return known
  const { messages: all, next } = await runtime.lists.mail.thread(id, after, limit)
  const seen = await Promise.all(
    all.map(async (one) =>
      (await covers(runtime, reader, one.owner)) ||
      (one.status !== 'draft' && (await covers(runtime, reader, one.to)))
        ? [one]
        : [],
    ),
  )
  return {
    messages: all.length === 0 && after === 0 ? [known] : seen.flat(),
    next,
  }
}

const strandedPerSweep = 100

/** Level, not edge: what waits for a session that a call made, and that is over, is found by looking. */
export async function buryStranded(runtime: Runtime): Promise<void> {
  for (const session of await runtime.lists.mail.stranded(strandedPerSweep)) {
    await runtime.store.transact([`session:${session}`], async (tx) => {
      const { running, next } = await tx.session(session)
      if (running?.call?.pending === true || next?.call?.pending === true) return
      tx.append(...(await buried(tx, session, 'the call that it served has ended')))
    })
  }
}

/** For whoever takes a session away, in the same transaction. */
export const buried = async (tx: Tx, session: SessionId, cause: string) =>
  buryMessages(await tx.inbox(session, { replies: null, newest: false, limit: inboxMax }), cause)
