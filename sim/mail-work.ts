/**
 * What clients and people outside do with mail in a plan: send, send again, draft and release, accept at the
 * same moment on two nodes, and try again when they get no answer.
 */
import { isRefusal } from '../src/model/refusal.ts'
import type { Moment } from '../src/model/wake.ts'
import { announceMail } from '../src/runtime/mail/announce.ts'
import { acceptMail } from '../src/runtime/mail/mail-inbox.ts'
import { releaseMail, releasing } from '../src/runtime/mail/drafts.ts'
import { sendMail } from '../src/runtime/mail/mail.ts'
import type { Runtime } from '../src/runtime/sessions/runtime.ts'
import type { SessionId } from '../src/model/id.ts'
import { getMainSession, nameAgent } from './agents.ts'
import { writeTask } from './driver.ts'
import type { MailAct } from './plan.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'

export const clientSessions: readonly SessionId[] = ['ses_out-0', 'ses_out-1']
export const mailId = (id: number): string => `mail-${id}`

/** Sends a message once more if asked to; the id is the same. */
export async function playSend(
  runtime: Runtime,
  store: SqliteStore,
  act: Extract<MailAct, { do: 'send' }>,
): Promise<string> {
  const session = clientSessions[act.id % clientSessions.length] as SessionId
  const row = await store.session(session)
  const sent = await sendMail(
    runtime,
    { sender: { kind: 'client', session }, session: row, act: null, trace: null, cwd: '/' },
    {
      session: getMainSession(nameAgent(act.to)),
      message: writeTask(act.script, `mail ${act.id}`),
      id: mailId(act.id),
      draft: act.draft === true,
    },
  )
  return act.draft === true ? release(runtime, mailId(act.id)) : isRefusal(sent) ? sent.code : 'sent'
}

/** A person releases the draft; it may already be released, here or on another node. */
async function release(runtime: Runtime, id: string): Promise<string> {
  const place = await releasing(runtime, id)
  if (place === null) return 'unknown'
  const released = await releaseMail(
    runtime,
    { ...place, act: null, trace: null, cwd: '/' },
    { id, read: null },
  )
  if (isRefusal(released)) return released.code
  // A draft that was thrown away is not sent: the answer says what became of it.
  return released.status === 'declined' ? 'declined' : 'released'
}

/** Twice at once, as two hooks of one program: each message is told once. */
export async function playAnnounce(runtime: Runtime, of: number, moment: Moment): Promise<void> {
  const session = getMainSession(nameAgent(of))
  const place = { session, inbox: null }
  await Promise.all([announceMail(runtime, place, moment), announceMail(runtime, place, moment)])
}

/** Null where nothing was accepted. */
export async function playAccept(
  runtime: Runtime,
  store: SqliteStore,
  act: Extract<MailAct, { do: 'accept' }>,
  name: string,
): Promise<string | null> {
  const session = await store.session(getMainSession(nameAgent(act.of)))
  if (session === null) return null
  const which =
    act.id === undefined
      ? { kind: act.newest === true ? ('newest' as const) : ('oldest' as const) }
      : { kind: 'named' as const, name: mailId(act.id) }
  const accepted = await acceptMail(
    runtime,
    { session: null, running: null, address: null },
    { session, which, replies: null, act: name },
  )
  return isRefusal(accepted) ? null : accepted.message
}
