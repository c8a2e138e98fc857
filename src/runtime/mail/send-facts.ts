/** What the rules of sending are asked with: keys, facts, and the session that a message makes. */
import { findAgent } from '../kernel/projects-port.ts'
import type { Boundary } from '../../model/frame.ts'
import type { Event } from '../../model/event.ts'
import type { MessageRow, SendFacts, SessionFacts, SessionRow } from '../../model/facts.ts'
import type { FlowId, SessionId, TurnId } from '../../model/id.ts'
import { beforeSending, replyTo, idSuffix, userSession, type Draft } from '../../model/mail.ts'
import { type Refusal, badInput } from '../../model/refusal.ts'
import { toForkRow } from '../../model/fork.ts'
import { assertOurs } from '../kernel/commit.ts'
import { deadlineNow } from '../kernel/kept-time.ts'
import { newSession, type NewSession } from '../kernel/new-session.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { Key, Tx } from '../kernel/store-port.ts'
import { type Sender, senderOwner, senderAuthor } from './sender.ts'

/** A session that goes on from another's conversation, so many messages back. */
export type ForkSession = { fork: SessionId; back: number; parent: SessionId | null }

export type SendRequest = {
  /** An existing session, an agent for a new one, or what a new one is forked from. */
  to: { session: SessionId } | NewSession | ForkSession
  text: string
  timeoutMs?: number | undefined
  maxTokens?: number | undefined
  maxUsd?: number | undefined
  sender?: Sender
  /** Refused rather than queued. */
  now?: boolean
  inReplyTo?: string | null
  /** The sender's own id: a second try with the same one has no second effect. */
  id?: string | null
  /** The id is the sender's own, rather than derived from a key or drawn here. */
  chosen?: boolean
  /** The id was drawn just now: nobody has it yet. */
  drawn?: boolean
  trace?: string | null
  /** Whether it may wait in the inbox: where its receiver is not run (`auto`), or in any case. */
  inbox?: 'auto' | 'always'
  /** As it was written and made: recorded where it was a draft, or is not sent as it was written. */
  draft?: Draft
  /** The draft's `updatedSeq` as it was read: one that was changed since is not sent. */
  seen?: number
}

/** A session that is made now: its id is new, so there is nothing to look for. */
const nothingYet: SessionFacts = { session: null, running: null, runnerAlive: false, queued: 0, next: null }

export type Sending = {
  request: SendRequest
  sender: Sender
  owner: SessionId
  suffix: string
  session: SessionId
  flow: FlowId
  tokens: number
  boundary: Boundary
}

/**
 * M5: one id is one message. A draft of the sender's own is sent; anything else that has this id was sent
 * before.
 */
export async function findDraft(
  tx: Tx,
  { request, sender }: Sending,
  turn: TurnId,
): Promise<{ events: Event[] } | Refusal | 'known'> {
  const mayBeKnown = request.id != null && request.drawn !== true
  const known = mayBeKnown ? await tx.message(request.id ?? '') : null
  if (known === null && mayBeKnown && (await tx.turn(turn)) !== null) return 'known'
  if (known?.status === 'draft' && request.seen !== undefined && known.updatedSeq !== request.seen)
    return { code: 'message_changed', message: known.id }
  const events = beforeSending(known, senderAuthor(sender), request.draft ?? null)
  return Array.isArray(events) ? { events } : events
}

/** M4: what this replies to. A user reads everything, and may answer whatever the receiver wrote. */
export async function answeredBy(
  tx: Tx,
  { request, sender, owner, session }: Sending,
): Promise<MessageRow | Refusal | null> {
  const given = request.inReplyTo
  if (given == null) return null
  const known = await tx.message(given)
  const byUser = known !== null && (sender.kind === 'user' || sender.kind === 'applet')
  const to = byUser ? (known.from ?? userSession) : replyTo(given, known, owner)
  if (typeof to === 'object') return to
  return to === session && known !== null ? known : badInput('session', session, `${to}, who wrote ${given},`)
}

type Fresh = { row: SessionRow; events: Event[] }

/** The session that the message makes, if it makes one. */
export async function makeSession(
  tx: Tx,
  runtime: Runtime,
  { request: { to }, session }: Sending,
): Promise<Fresh | Refusal | null> {
  if ('session' in to) return null
  if (!('fork' in to)) return { row: newSession(to, session, tx.now), events: [] }
  const from = (await tx.session(to.fork)).session
  const forked =
    from === null
      ? ({ code: 'session_unknown', session: to.fork } as const)
      : toForkRow(from, to.back, session, to.parent, tx.now, findAgent(runtime, from)?.driver === 'host')
  return forked
}

export const listKeys = ({ request: { id, inReplyTo, to }, sender, session, flow }: Sending): Key[] => [
  `session:${session}`,
  `flow:${flow}`,
  ...(sender.kind === 'turn' || sender.kind === 'released'
    ? [`session:${senderOwner(sender)}` as const]
    : []),
  ...(sender.kind === 'released' && sender.writtenIn !== null
    ? [`flow:${sender.writtenIn.flow}` as const]
    : []),
  ...(id == null ? [] : [`message:${idSuffix(id)}` as const]),
  ...(inReplyTo == null ? [] : [`message:${idSuffix(inReplyTo)}` as const]),
  ...('fork' in to ? [`session:${to.fork}` as const] : []),
]

/**
 * Only a turn's message needs to know what its flow has sent; a new session of a user's has nothing to be
 * read at all.
 */
export async function readFacts(
  tx: Tx,
  runtime: Runtime,
  { request, sender, session, flow }: Sending,
): Promise<SendFacts> {
  if (sender.kind === 'released' && sender.writtenIn !== null)
    return tx.send({ senderTurn: sender.writtenIn.id, flow: sender.writtenIn.flow, target: session })
  if (sender.kind !== 'turn') {
    const mail = request.inbox === 'always' ? await tx.mail(session) : null
    const target =
      mail !== null
        ? { ...nothingYet, session: mail.session }
        : 'session' in request.to || request.id != null
          ? await tx.session(session)
          : nothingYet
    return {
      ...(mail === null ? {} : { waiting: mail.waiting, pending: mail.pending }),
      sender: null,
      target,
      callback: false,
      descendants: 0,
      messagesLastMinute: 0,
      oldestMessageAt: null,
      flowStartedAt: tx.now,
    }
  }
  const facts = await tx.send({ senderTurn: sender.running.row.id, flow, target: session })
  const turn = assertOurs(facts.sender?.turn, sender.running, runtime)
  return {
    ...facts,
    sender: {
      turn: {
        ...turn,
        tokensUsed: sender.running.tokensUsed,
        spent: sender.running.spent,
        deadline: deadlineNow(runtime, turn.id, turn.deadline),
      },
      session: sender.running.session,
    },
  }
}
