/** Mail for the doors: who asks is turned into who writes or reads, the acts do the rest. */
import type { MessageFacts, SessionRow } from '../model/facts.ts'
import type { SessionId } from '../model/id.ts'
import type { Which } from '../model/mail.ts'
import type { Refusal } from '../model/refusal.ts'
import type { ExchangeMail, Who } from './exchange.ts'
import { forkSession } from './fork.ts'
import type { Line } from './line.ts'
import { viewOfSession } from './look.ts'
import { acceptOne } from './mail-acts.ts'
import { declineMail, findMail, readInbox, threadOf, type Reader } from './mail-inbox.ts'
import { recordOfMessage, type MessageRecord } from './mail-record.ts'
import { releaseMail, releasing, reviseMail, sendMail, type Writer } from './mail.ts'
import type { Sender } from './send.ts'

type Parts = {
  line: Line
  cwd: string
  /** The running turn that speaks, a client, or the user. */
  senderOf: (line: Line, who: Who, session: SessionRow | null) => Sender | Refusal
}

/** `oldest` is what most want; a number or a text names one. */
export const whichOf = (given: string | number | boolean): Which =>
  given === true || given === 'oldest' || given === ''
    ? { kind: 'oldest' }
    : given === 'newest'
      ? { kind: 'newest' }
      : { kind: 'named', name: String(given) }

const deadPerPage = 100
const inboxPerPage = 200
const draftsPerPage = 200
const threadPerPage = 500

const pageOf = (
  found: readonly MessageFacts[],
  limit: number,
): { messages: MessageRecord[]; next: number | null } => ({
  messages: found.map(recordOfMessage),
  next: found.length === limit ? (found.at(-1)?.updatedSeq ?? null) : null,
})

export function exchangeMail({ line, cwd, senderOf }: Parts): ExchangeMail {
  const sessionOf = async (who: Who): Promise<SessionRow | null> => {
    if (who.kind === 'user') return null
    return line.store.session(
      who.kind === 'session' ? who.session : (line.running.get(who.turn)?.row.session ?? 'ses_'),
    )
  }
  const readerOf = (who: Who): Reader => {
    const running = who.kind === 'turn' ? (line.running.get(who.turn) ?? null) : null
    return {
      session:
        who.kind === 'user' ? null : who.kind === 'session' ? who.session : (running?.row.session ?? 'ses_'),
      running,
    }
  }
  const writerOf = async (who: Who, act: string | null, trace: string | null): Promise<Writer | Refusal> => {
    const session = await sessionOf(who)
    const sender = senderOf(line, who, session)
    return 'code' in sender ? sender : { sender, session, act, trace, cwd }
  }
  /** M3: the user may change and send what any session has drafted; it stays that session's. */
  const changerOf = async (
    who: Who,
    id: string,
    act: string | null,
    trace: string | null,
  ): Promise<Writer | Refusal> => {
    const releasedFor = who.kind === 'user' ? await releasing(line, id) : null
    return releasedFor === null ? writerOf(who, act, trace) : { ...releasedFor, act, trace, cwd }
  }
  const recordOf = async (who: Who, id: string) => {
    const known = await findMail(line, readerOf(who), id)
    return 'code' in known ? known : recordOfMessage(known)
  }
  const known = async (id: SessionId): Promise<SessionRow | Refusal> =>
    (await line.store.session(id)) ?? { code: 'session_unknown', session: id }
  return {
    async send(who, ask, act, trace) {
      const writer = await writerOf(who, act, trace)
      return 'code' in writer ? writer : sendMail(line, writer, ask)
    },
    async revise(who, ask, message, act) {
      const writer = await changerOf(who, ask.id, act, null)
      const revised = 'code' in writer ? writer : await reviseMail(line, writer, ask, message)
      return 'code' in revised ? revised : recordOf(who, ask.id)
    },
    async release(who, ask, act, trace) {
      const writer = await changerOf(who, ask.id, act, trace)
      return 'code' in writer ? writer : releaseMail(line, writer, ask)
    },
    async decline(who, id) {
      const refusal = await declineMail(line, readerOf(who), id)
      return refusal ?? recordOf(who, id)
    },
    async inbox(who, session, replies) {
      const page = await readInbox(line, readerOf(who), session, replies, inboxPerPage)
      return 'code' in page ? page : { messages: page.messages.map(recordOfMessage), total: page.total }
    },
    async accept(who, session, which, act) {
      const row = await known(session)
      const accepted =
        'code' in row ? row : await acceptOne(line, readerOf(who), row, whichOf(which), null, act)
      return accepted === null
        ? { message: null, accepted: false }
        : 'code' in accepted
          ? accepted
          : { message: recordOfMessage(accepted), accepted: true }
    },
    message: recordOf,
    async thread(who, id, after) {
      const thread = await threadOf(line, readerOf(who), id, after ?? 0, threadPerPage)
      return 'code' in thread ? thread : { messages: thread.messages.map(recordOfMessage), next: thread.next }
    },
    drafts: async (session, before) =>
      pageOf(await line.lists.mail.drafts(session, before, draftsPerPage), draftsPerPage),
    deadLetters: async (before) => pageOf(await line.lists.mail.dead(before, deadPerPage), deadPerPage),
    async fork(who, ask, id) {
      const session = await sessionOf(who)
      const sender = senderOf(line, who, session)
      const row =
        'code' in sender
          ? sender
          : await forkSession(line, sender, { ...ask, parent: session?.id ?? null, id })
      return 'code' in row ? row : viewOfSession(line, row)
    },
  }
}
