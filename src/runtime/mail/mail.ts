import { agentsIn } from '../kernel/projects-port.ts'
import type { MailTarget } from '../../model/event-parts.ts'
import type { MessageFacts, SessionRow } from '../../model/facts.ts'

import { isSessionId } from '../../model/id.ts'
import { inboxMax } from '../../model/limits.ts'
import {
  changeable,
  draftMessage,
  looksDrawn,
  messageIdPattern,
  replyTo,
  idSuffix,
  userSession,
  type Draft,
} from '../../model/mail.ts'
import { badInput, type Refusal, isRefusal } from '../../model/refusal.ts'
import { byteLength } from '../../model/text.ts'
import { userDesk } from './user-session.ts'
import { elaborate } from './elaborate.ts'
import { assertOurs } from '../kernel/commit.ts'
import type { Runtime } from '../turns/runtime.ts'
import { findSession } from '../look/look.ts'
import { findReceiver } from './address-inbox.ts'
import type { MailAsk } from '../kernel/mail-port.ts'
import { mustDraft, senderAuthor, senderOwner, type Sender } from './sender.ts'
import { type SendRequest } from './send-facts.ts'
import { readPresent, readSent } from './read-sent.ts'
import { post } from './send.ts'
import type { SentMail } from '../../wire/mail.ts'

/** Who writes. `act` is the act's own id: tried again, it has one effect. */
export type Writer = {
  sender: Sender
  /** Its own session; null for the user. */
  session: SessionRow | null
  act: string | null
  trace: string | null
  /** Where a new session works that the user asks for. */
  cwd: string
}

/** `seen` is the `updatedSeq` of the draft as it was read: one that was changed since stays as it is. */
export async function sendMail(
  runtime: Runtime,
  writer: Writer,
  given: MailAsk,
  seen?: number,
): Promise<SentMail | Refusal> {
  const message = given.message ?? (await readPresent(runtime, given))
  if (typeof message === 'object') return message
  const ask: WholeAsk = { ...given, message }
  const problem = findProblem(runtime, ask)
  if (problem !== null) return problem
  const owner = senderOwner(writer.sender)
  if (owner === userSession) await userDesk(runtime)
  const id = ask.id ?? `msg_${writer.act ?? runtime.ids.next()}`
  const known = ask.id === undefined && writer.act === null ? null : await runtime.lists.mail.message(id)
  if (known === null && ask.id !== undefined && looksDrawn(ask.id))
    return badInput('id', ask.id, 'an id of your own: this one looks like one of ours')
  const refusal =
    known === null
      ? ask.iterate === true
        ? { code: 'message_unknown' as const, message: id }
        : null
      : known.status === 'draft' || ask.draft === true || ask.iterate === true
        ? changeable(known, owner)
        : null
  if (refusal !== null) return refusal
  const inReplyTo = ask.reply === undefined ? (known?.inReplyTo ?? null) : (ask.reply[0] ?? null)
  const target = await resolveTarget(runtime, writer, ask, known, inReplyTo)
  if (isRefusal(target)) return target
  const draft: Draft = {
    message: known?.id ?? id,
    target,
    inReplyTo,
    ...(await writeText(runtime, writer, ask, known)),
    act: writer.act,
  }
  const to = target.kind === 'session' ? target.session : null
  // What could not be written out is not sent as it is: its writer sees why, and decides.
  if (ask.draft === true || draft.note !== null || mustDraft(runtime, writer.sender, to)) {
    const refused = await keepDraft(runtime, writer, draft, seen)
    return refused ?? readSent(runtime, draft.message, draft.note)
  }
  const drawn = ask.id === undefined && writer.act === null
  const sent = await sendDraft(runtime, writer, draft, drawn, seen)
  if (
    !isRefusal(sent) ||
    sent.code !== 'session_unknown' ||
    target.kind !== 'session' ||
    sent.session !== target.session
  )
    return sent
  // It was no whole id after all.
  const found = await findSession(runtime, target.session)
  return isRefusal(found)
    ? found
    : found.id === target.session
      ? sent
      : sendDraft(runtime, writer, { ...draft, target: { kind: 'session', session: found.id } }, drawn, seen)
}

type WholeAsk = MailAsk & { message: string }

function findProblem(
  runtime: Runtime,
  { message, id, fork, session, reply, iterate }: WholeAsk,
): Refusal | null {
  if (message.trim() === '') return badInput('message', message, 'a text that says something')
  if (id !== undefined && !messageIdPattern.test(id))
    return badInput('id', id, 'letters, digits, "_" and "-", at most 128 of them,')
  if (reply !== undefined && reply.length > 1) return badInput('reply', reply, 'one id of a message, or none')
  if (typeof fork === 'number' && !(Number.isInteger(fork) && fork >= 0))
    return badInput('fork', fork, 'true, or a whole number of messages back')
  const forks = session === 'fork' || fork === true || typeof fork === 'number'
  if (forks && session !== undefined && session !== 'fork')
    return badInput('fork', fork, 'nothing together with a session; leave session out to fork')
  if (forks && (reply?.length ?? 0) > 0)
    return badInput('reply', reply, 'nothing together with fork: a reply goes to whoever wrote to you')
  if (iterate === true && id === undefined)
    return badInput('id', undefined, 'the id of the draft to iterate on')
  const bytes = byteLength(message)
  return bytes > runtime.limits.taskBytesMax
    ? { code: 'too_large', field: 'message', bytes, bytesMax: runtime.limits.taskBytesMax }
    : null
}

/**
 * What is not said stays as it was in the draft; a reply needs no receiver; otherwise it is for a new
 * session.
 */
async function resolveTarget(
  runtime: Runtime,
  { session: own, sender }: Writer,
  { session, fork, draft }: MailAsk,
  known: MessageFacts | null,
  inReplyTo: string | null,
): Promise<MailTarget | Refusal> {
  if (session === 'fork' || fork === true || typeof fork === 'number') {
    if (own === null || own.kind === 'external')
      return badInput(
        'session',
        'fork',
        'the id of a session, or "new": only a session with a conversation here can fork itself,',
      )
    return { kind: 'fork', back: typeof fork === 'number' ? fork : 0 }
  }
  // What looks like a whole id is taken for one: whether it is, is seen where it is sent.
  if (session !== undefined && isSessionId(session) && draft !== true) return { kind: 'session', session }
  const named = session === undefined || session === 'new' ? null : await findReceiver(runtime, session)
  if (named !== null && isRefusal(named)) return named
  if (named !== null) return { kind: 'session', session: named.id }
  if (inReplyTo !== null) {
    const answered = await runtime.lists.mail.message(inReplyTo)
    const to = replyTo(inReplyTo, answered, senderOwner(sender))
    return typeof to === 'object' ? to : { kind: 'session', session: to }
  }
  return session === undefined && known !== null && known.status === 'draft'
    ? known.target
    : sentTo(session, known)
}

/** A second try of what made its session finds it there. */
const sentTo = (session: string | undefined, known: MessageFacts | null): MailTarget =>
  session === undefined && known?.to != null && known.sent?.turn == null
    ? { kind: 'session', session: known.to }
    : { kind: 'new' }

async function writeText(
  runtime: Runtime,
  writer: Writer,
  ask: WholeAsk,
  known: MessageFacts | null,
): Promise<Pick<Draft, 'initial' | 'text' | 'how' | 'instructions' | 'note'>> {
  const initial = known?.initial ?? ask.message
  // The same act again: what it made stands already.
  if (
    known !== null &&
    (known.status !== 'draft' || (writer.act !== null && known.draftAct === writer.act))
  ) {
    return {
      initial: ask.message,
      text: known.status === 'draft' ? known.text : ask.message,
      how: 'written',
      instructions: null,
      note: null,
    }
  }
  if (ask.iterate === true && known !== null) {
    const made = await elaborate(runtime, writer, idSuffix(known.id), {
      text: known.text,
      instructions: ask.message,
    })
    return { initial, text: made.text, how: 'iterated', instructions: ask.message, note: made.note }
  }
  if (ask.elaborate !== true)
    return { initial, text: ask.message, how: 'written', instructions: null, note: null }
  const made = await elaborate(runtime, writer, idSuffix(known?.id ?? ask.id ?? `msg_${writer.act ?? 'x'}`), {
    text: ask.message,
    instructions: null,
  })
  return { initial, text: made.text, how: 'elaborated', instructions: null, note: made.note }
}

/** M3 */
async function keepDraft(
  runtime: Runtime,
  { sender }: Writer,
  draft: Draft,
  seen: number | undefined,
): Promise<Refusal | null> {
  const session = senderOwner(sender)
  return runtime.store.transact([`session:${session}`, `message:${idSuffix(draft.message)}`], async (tx) => {
    if (sender.kind === 'turn')
      assertOurs(await tx.activation(sender.running.row.id), sender.running, runtime)
    const known = await tx.message(draft.message)
    const { drafts } = known === null ? await tx.mail(session) : { drafts: 0 }
    if (drafts >= inboxMax)
      return { code: 'queue_full', session, queued: drafts, queuedMax: inboxMax } as const
    if (known !== null && seen !== undefined && known.updatedSeq !== seen)
      return { code: 'message_changed', message: known.id } as const
    const events = draftMessage(known, senderAuthor(sender), draft)
    if (!Array.isArray(events)) return events
    tx.append(...events)
    return null
  })
}

async function sendDraft(
  runtime: Runtime,
  writer: Writer,
  draft: Draft,
  drawn: boolean,
  seen: number | undefined,
): Promise<SentMail | Refusal> {
  const { target, inReplyTo, text } = draft
  if (target.kind === 'session' && target.session === userSession) await userDesk(runtime)
  const to = resolveReceiver(runtime, writer, target)
  if (isRefusal(to)) return to
  const inbox =
    target.kind !== 'session' ? {} : { inbox: inReplyTo === null ? ('always' as const) : ('auto' as const) }
  const request: SendRequest = {
    to,
    text,
    sender: writer.sender,
    id: draft.message,
    chosen: true,
    drawn,
    inReplyTo,
    trace: writer.trace,
    draft,
    ...inbox,
    ...(seen === undefined ? {} : { seen }),
  }
  const posted = await post(runtime, request)
  if (isRefusal(posted)) return posted
  if (posted.again) return readSent(runtime, posted.message)
  const status =
    posted.status === 'buffered'
      ? inReplyTo === null
        ? 'buffered'
        : 'ready'
      : posted.status === 'queued'
        ? 'queued'
        : 'delivered'
  return {
    id: posted.message,
    session: posted.session,
    status,
    draft: false,
    buffered: status === 'buffered',
    message: null,
    note: null,
  }
}

function resolveReceiver(
  runtime: Runtime,
  { session: own, cwd }: Writer,
  target: MailTarget,
): SendRequest['to'] | Refusal {
  if (target.kind === 'session') return { session: target.session }
  if (target.kind === 'fork')
    return own === null
      ? badInput('session', 'fork', 'the id of a session, or "new",')
      : { fork: own.id, back: target.back, parent: own.id }
  const agent =
    own === null || own.kind === 'external' ? agentsIn(runtime, own?.cwd ?? cwd).names()[0] : own.agent
  return agent === undefined
    ? { code: 'agent_unknown', agent: '', known: [] }
    : { agent, cwd: own?.cwd ?? cwd, parent: own === null || own.archived === 'deleted' ? null : own.id }
}
