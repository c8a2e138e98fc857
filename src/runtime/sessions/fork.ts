/** Forking a session without writing to it: the act behind the doors. What a fork is, is in `fork-row.ts`. */
import { findAgent } from '../kernel/projects-port.ts'
import { judgeOpening } from './sessions.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import { badInput, type Refusal, isRefusal } from '../../model/refusal.ts'
import { toForkRow } from '../../model/fork.ts'
import type { Runtime } from './runtime.ts'
import type { Key } from '../kernel/store-port.ts'
import { type Sender } from '../mail/sender.ts'
import { createdEvent } from '../kernel/new-session.ts'

/** So many messages back, or right after one message. */
export type ForkAsk = {
  from: SessionId
  back: number | null
  messageId: string | null
  parent: SessionId | null
  id: string | null
}

/** The same id again gives the session that is there. */
export async function forkSession(
  runtime: Runtime,
  sender: Sender,
  ask: ForkAsk,
): Promise<SessionRow | Refusal> {
  if (ask.back !== null && ask.messageId !== null)
    return badInput('messageId', ask.messageId, 'nothing together with back')
  const upTo = ask.messageId === null ? null : await findEntry(runtime, ask.from, ask.messageId)
  if (upTo !== null && typeof upTo === 'object') return upTo
  const session: SessionId = `ses_${ask.id ?? runtime.ids.next()}`
  const own = sender.kind === 'turn' ? sender.running.row : null
  const keys: Key[] = [
    `session:${session}`,
    `session:${ask.from}`,
    ...(own === null ? [] : [`session:${own.session}` as const, `flow:${own.flow}` as const]),
  ]
  const made = await runtime.store.transact(keys, async (tx): Promise<SessionRow | Refusal> => {
    const known = ask.id === null ? null : (await tx.session(session)).session
    if (known !== null) return known
    const { session: from } = await tx.session(ask.from)
    if (from === null) return { code: 'session_unknown', session: ask.from }
    const refusal = await judgeOpening(tx, runtime, sender, session, from)
    if (refusal !== null) return refusal
    const forked = toForkRow(
      from,
      upTo === null ? (ask.back ?? 0) : from.entries - upTo,
      session,
      ask.parent,
      tx.now,
      findAgent(runtime, from)?.driver === 'host',
    )
    if (isRefusal(forked)) return forked
    tx.append(createdEvent(forked.row, { flow: own?.flow ?? null }), ...forked.events)
    return forked.row
  })
  if (isRefusal(made) || ask.id === null) return made
  const {
    events: [forked],
  } = await runtime.store.read(0, { sessions: [session], types: ['session.forked'] }, 1)
  return forked?.event.type === 'session.forked' &&
    forked.event.from === ask.from &&
    (upTo === null ? forked.event.back === (ask.back ?? 0) : forked.event.entries === upTo)
    ? made
    : badInput('Idempotency-Key', ask.id, 'a key that was not used for another session')
}

/** Which entry of a conversation a message is. */
async function findEntry(runtime: Runtime, session: SessionId, messageId: string): Promise<number | Refusal> {
  const known = await runtime.lists.mail.message(messageId)
  if (known === null) return { code: 'message_unknown', message: messageId }
  const turn = known.turn === null ? null : await runtime.store.turn(known.turn)
  const ended = turn?.endedSeq == null ? null : (await runtime.store.event(turn.endedSeq))?.event
  const n = ended?.type === 'turn.ended' ? (ended.entry?.n ?? 0) : 0
  const [entry] = n === 0 ? [] : await runtime.store.entriesByNumber(session, [n])
  return entry !== undefined && entry.turn === known.turn
    ? n
    : badInput('messageId', messageId, `a message that ${session} has answered`)
}
