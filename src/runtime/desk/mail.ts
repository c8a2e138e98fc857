/** Mail, as anybody may ask for it. */
import type { MessageFacts, SessionRow } from '../../model/facts.ts'
import type { Which } from '../../model/mail.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { AcceptedMail, Inbox, MailPage, MessageRecord, NewMail, SentMail } from '../../wire/mail.ts'
import { acceptOne } from '../mail/mail-acts.ts'
import { declineMail, findMail, readInbox, readThread, type Reader } from '../mail/mail-inbox.ts'
import type { MailAsk } from '../kernel/mail-port.ts'
import { recordOfMessage } from '../mail/mail-record.ts'
import { releaseMail, releasing, reviseMail, sendMail, type Writer } from '../mail/mail.ts'
import { readAll } from '../kernel/scope.ts'
import { onlyUser, refuseAsker, type Asker, type Who } from './asker.ts'
import { admitNow, type Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'

type Page = { before?: number | undefined }
type Changing = { from?: string | undefined; ifUpdatedAt?: string | undefined }

export type MailDesk = {
  send(mail: NewMail): Promise<SentMail | Refusal>
  /** Changes a draft; its owner may, and the user. */
  revise(id: string, change: Changing & { message: string }): Promise<MessageRecord | Refusal>
  /** Sends a draft, once. Released by the user, it is still from the session that wrote it. */
  release(id: string, change?: Changing): Promise<SentMail | Refusal>
  decline(id: string, change?: { from?: string | undefined }): Promise<MessageRecord | Refusal>
  /** What waits for a session, oldest first; `total` counts also what this page has no room for. */
  inbox(session: string, ask?: { replies?: boolean | undefined }): Promise<Inbox | Refusal>
  /** `oldest`, `newest`, an id, or a place in the inbox that counts from 1. */
  accept(session: string, which: string | number): Promise<AcceptedMail | Refusal>
  /** What became of a message, for its sender, its receiver, those above them, and the user. */
  get(id: string): Promise<MessageRecord | Refusal>
  /** A message with all that it answers and all that answer it, oldest first. */
  thread(id: string, ask?: { after?: number | undefined }): Promise<MailPage | Refusal>
  /** Of one session, or of all (null); the newest first. */
  drafts(session: string | null, ask?: Page): Promise<MailPage | Refusal>
  /** Messages whose receiver is gone; the newest first. */
  deadLetters(ask?: Page): Promise<MailPage | Refusal>
}

const deadPerPage = 100
const inboxPerPage = 200
const draftsPerPage = 200
const threadPerPage = 500
const noticesMax = 100

export const parseWhich = (given: string | number | boolean): Which =>
  given === true || given === 'oldest' || given === ''
    ? { kind: 'oldest' }
    : given === 'newest'
      ? { kind: 'newest' }
      : { kind: 'named', name: String(given) }

export function mailDesk(parts: DeskParts, asker: Asker, gate: Gate): MailDesk {
  const { runtime, cwd } = parts
  const { who, act, trace } = asker
  const reader = readerFor(who)
  const found = async <T>(
    id: string,
    look: (row: SessionRow) => Promise<T | Refusal>,
  ): Promise<T | Refusal> => {
    const row = await gate.find(id)
    return isRefusal(row) ? row : look(row)
  }
  const notATurn = (): Refusal | null => (who.kind === 'turn' ? refuseAsker(who, 'read mail') : null)
  /** As whom a request writes: the user, or the session that a token or a believed name speaks for. */
  const speaker = async (given: string | undefined): Promise<Gate | Refusal> => {
    const session = await gate.speaker('from', given ?? null)
    if (session !== null && typeof session === 'object') return session
    return session === null ? gate : gate.as({ kind: 'session', session })
  }
  const writer = async (as: Gate): Promise<Writer | Refusal> => {
    const sender = await as.sender()
    if (isRefusal(sender)) return sender
    const session = as.who.kind === 'session' ? await runtime.store.session(as.who.session) : null
    return { sender, session, act, trace, cwd }
  }
  /** M3: the user may change and send what any session has drafted; it stays that session's. */
  const changer = async (as: Gate, id: string): Promise<Writer | Refusal> => {
    const releasedFor = as.who.kind === 'user' ? await releasing(runtime, id) : null
    return releasedFor === null ? writer(as) : { ...releasedFor, act, trace, cwd }
  }
  const record = async (id: string): Promise<MessageRecord | Refusal> => {
    const known = await findMail(runtime, reader, id)
    return isRefusal(known) ? known : recordOfMessage(known)
  }
  return {
    async send({ from, ...mail }) {
      const as = await speaker(from)
      const asked = isRefusal(as) ? as : await as.admit('send-message', withoutUndefined(mail))
      if (isRefusal(as) || isRefusal(asked)) return isRefusal(as) ? as : (asked as Refusal)
      const by = await writer(as)
      return isRefusal(by) ? by : sendMail(runtime, by, asked as MailAsk)
    },
    async revise(id, { from, message, ifUpdatedAt }) {
      const as = await speaker(from)
      if (isRefusal(as)) return as
      const asked = await as.admit('send-message', { id, message })
      const by = isRefusal(asked) ? asked : await changer(as, id)
      const revised = isRefusal(by)
        ? by
        : await reviseMail(runtime, by, { id, read: ifUpdatedAt ?? null }, message)
      return isRefusal(revised) ? revised : record(id)
    },
    async release(id, { from, ifUpdatedAt } = {}) {
      const as = await speaker(from)
      if (isRefusal(as)) return as
      const asked = await admitNow(as, { id })
      const by = isRefusal(asked) ? asked : await changer(as, id)
      return isRefusal(by) ? by : releaseMail(runtime, by, { id, read: ifUpdatedAt ?? null })
    },
    async decline(id, { from } = {}) {
      const as = await speaker(from)
      if (isRefusal(as)) return as
      const asked = await as.admit('buffer', {})
      if (isRefusal(asked)) return asked
      return (await declineMail(runtime, readerFor(as.who), id)) ?? record(id)
    },
    inbox: (session, { replies } = {}) =>
      found(session, async (row) => {
        const page = await readInbox(runtime, reader, row.id, replies ?? null, inboxPerPage)
        if (isRefusal(page)) return page
        const notices = await noticesOf(parts, row)
        return { messages: page.messages.map(recordOfMessage), total: page.total, notices }
      }),
    accept: (session, which) =>
      found(session, async (row) => {
        const asked = await gate.admit('buffer', { accept: which })
        const accepted = isRefusal(asked)
          ? asked
          : await acceptOne(runtime, reader, row, parseWhich(which), null, act)
        if (accepted === null) return { message: null, accepted: false }
        return isRefusal(accepted) ? accepted : { message: recordOfMessage(accepted), accepted: true }
      }),
    get: async (id) => notATurn() ?? record(id),
    async thread(id, { after } = {}) {
      const refusal = notATurn()
      if (refusal !== null) return refusal
      const thread = await readThread(runtime, reader, id, after ?? 0, threadPerPage)
      if (isRefusal(thread)) return thread
      return { messages: thread.messages.map(recordOfMessage), next: thread.next }
    },
    async drafts(session, { before } = {}) {
      if (session === null) {
        const refusal = onlyUser(who, 'see all drafts')
        return refusal ?? draftPage(parts, null, before)
      }
      return found(session, (row) => draftPage(parts, row, before))
    },
    async deadLetters({ before } = {}) {
      const refusal = notATurn()
      if (refusal !== null) return refusal
      const dead = pageOf(await runtime.lists.mail.dead(before ?? null, deadPerPage), deadPerPage)
      return who.kind === 'user'
        ? dead
        : { ...dead, messages: dead.messages.filter((one) => one.from === reader.session) }
    },
  }
}

/** A turn reads its mail with its tools, and nothing here: no session has the id that stands for it. */
const readerFor = (who: Who): Reader => ({
  session: who.kind === 'user' ? null : who.kind === 'session' ? who.session : 'ses_',
  running: null,
})

const withoutUndefined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

const pageOf = (found: readonly MessageFacts[], limit: number): MailPage => ({
  messages: found.map(recordOfMessage),
  next: found.length === limit ? (found.at(-1)?.updatedSeq ?? null) : null,
})

const draftPage = async (
  { runtime }: DeskParts,
  row: SessionRow | null,
  before: number | undefined,
): Promise<MailPage> =>
  pageOf(await runtime.lists.mail.drafts(row?.id ?? null, before ?? null, draftsPerPage), draftsPerPage)

/** What it was told that nobody asked for, newest last. */
async function noticesOf({ runtime }: DeskParts, { id }: SessionRow): Promise<Inbox['notices']> {
  const stored = await readAll(runtime.store, 0, { sessions: [id], types: ['notice.raised'] })
  return stored
    .slice(-noticesMax)
    .flatMap(({ seq, at, event }) =>
      event.type === 'notice.raised' ? [{ seq: String(seq), at, about: event.about, text: event.text }] : [],
    )
}
