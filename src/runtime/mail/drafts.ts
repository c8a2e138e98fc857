/** Changing and releasing drafts. */
import { findAgent } from '../kernel/projects-port.ts'
import type { MessageFacts, SessionRow } from '../../model/facts.ts'
import { userSession } from '../../model/mail.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import type { Runtime } from '../turns/runtime.ts'
import type { DraftAsk } from '../kernel/mail-port.ts'
import { recordOfMessage } from './mail-record.ts'
import { senderOwner, type Released } from './sender.ts'
import type { SentMail } from '../../wire/mail.ts'
import { type Writer, sendMail } from './mail.ts'
import { readSent } from './read-sent.ts'

/** Changes the text of a draft; only its owner may, or the user (M3). */
export async function reviseMail(
  runtime: Runtime,
  writer: Writer,
  ask: DraftAsk,
  message: string,
): Promise<SentMail | Refusal> {
  const known = await seenDraft(runtime, ask)
  return isRefusal(known)
    ? known
    : sendMail(
        runtime,
        writer,
        { id: known.id, message, draft: true },
        known.status === 'draft' && ask.read !== null ? known.updatedSeq : undefined,
      )
}

/** Sends a draft as it is, once; a second try has the same answer. */
export async function releaseMail(
  runtime: Runtime,
  writer: Writer,
  ask: DraftAsk,
): Promise<SentMail | Refusal> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const known = await seenDraft(runtime, ask)
    if (isRefusal(known)) return known
    if (known.status !== 'draft')
      return known.owner === senderOwner(writer.sender)
        ? readSent(runtime, known.id)
        : { code: 'message_not_yours', message: known.id }
    // What is sent is what was read here: one that is changed, sent or declined meanwhile is read again.
    const sent = await sendMail(
      runtime,
      writer,
      { id: known.id, message: known.text, draft: false },
      known.updatedSeq,
    )
    if (!isRefusal(sent) || !(sent.code === 'message_changed' || sent.code === 'message_already_sent'))
      return sent
  }
  return { code: 'message_changed', message: ask.id }
}

const triesMax = 5

async function seenDraft(runtime: Runtime, { id, read }: DraftAsk): Promise<MessageFacts | Refusal> {
  const known = await runtime.lists.mail.message(id)
  if (known === null) return { code: 'message_unknown', message: id }
  return read !== null && known.status === 'draft' && recordOfMessage(known).updated_at !== read
    ? { code: 'message_changed', message: known.id }
    : known
}

/** The user in the place of whoever wrote a draft; null where that is the user. */
export async function releasing(
  runtime: Runtime,
  id: string,
): Promise<{ sender: Released; session: SessionRow } | null> {
  const known = await runtime.lists.mail.message(id)
  const session =
    known === null || known.owner === userSession ? null : await runtime.store.session(known.owner)
  if (known === null || session === null) return null
  const writtenIn = known.writtenIn === null ? null : await runtime.store.turn(known.writtenIn)
  return {
    sender: {
      kind: 'released',
      session: session.id,
      agent: session.kind === 'external' ? null : (findAgent(runtime, session) ?? null),
      writtenIn,
    },
    session,
  }
}
