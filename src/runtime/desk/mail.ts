/** Mail, as anybody may ask for it. */
import type { SessionRow } from '../../model/facts.ts'
import { isWaiting, type Which } from '../../model/mail.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { AcceptedMail, Inbox, MailPage, MessageRecord, NewMail, SentMail } from '../../wire/mail.ts'
import { acceptOne } from '../mail/mail-acts.ts'
import { declineMail, findMail, readInbox, readThread, type Reader } from '../mail/mail-inbox.ts'
import type { MailAsk, MailPage as FactsPage } from '../kernel/mail-port.ts'
import { recordOfMessage } from '../mail/mail-record.ts'
import { releaseMail, releasing, reviseMail } from '../mail/drafts.ts'
import { sendMail, type Writer } from '../mail/mail.ts'
import { andThen, onlyUser, refuseAsker, type Asker, type Who } from './asker.ts'
import { admitNow, type Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'

export type InboxPlace = { after?: number | undefined; replies?: boolean | undefined }
export type MailPlace = { before?: number | undefined }
export type MailChange = { from?: string | undefined; ifUpdatedAt?: string | undefined }

export type MailDesk = {
  send(mail: NewMail): Promise<SentMail | Refusal>
  /** Changes a draft; its owner may, and the user. */
  revise(id: string, change: MailChange & { message: string }): Promise<MessageRecord | Refusal>
  /** Sends a draft, once. Released by the user, it is still from the session that wrote it. */
  release(id: string, change?: MailChange): Promise<SentMail | Refusal>
  decline(id: string, change?: { from?: string | undefined }): Promise<MessageRecord | Refusal>
  /**
   * What waits for a session, oldest first; `total` counts also what this page has no room for, and `next` is
   * the `after` of the next page.
   */
  inbox(session: string, ask?: InboxPlace): Promise<Inbox | Refusal>
  /**
   * `oldest`, `newest`, an id, or a place in the inbox that counts from 1. What waits for a client is released to
   * it, unless the client itself asks.
   */
  accept(session: string, which: string | number): Promise<AcceptedMail | Refusal>
  /** What became of a message, for its sender, its receiver, those above them, and the user. */
  get(id: string): Promise<MessageRecord | Refusal>
  /** A message with all that it answers and all that answer it, oldest first. */
  thread(id: string, ask?: { after?: number | undefined }): Promise<MailPage | Refusal>
  /** Of one session, or of all (null); the newest first. */
  drafts(session: string | null, ask?: MailPlace): Promise<MailPage | Refusal>
  /** Messages whose receiver is gone; the newest first. */
  deadLetters(ask?: MailPlace): Promise<MailPage | Refusal>
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

export const mailDesk = (parts: DeskParts, asker: Asker, gate: Gate): MailDesk => ({
  ...writing(parts, asker, gate),
  ...reading(parts, asker, gate),
})

const showMessage = (parts: DeskParts, asker: Asker, id: string): Promise<MessageRecord | Refusal> =>
  andThen(findMail(parts.runtime, readerFor(asker.who), id), recordOfMessage)

function writing(
  parts: DeskParts,
  asker: Asker,
  gate: Gate,
): Pick<MailDesk, 'send' | 'revise' | 'release' | 'decline'> {
  const { runtime, cwd } = parts
  const { act, trace } = asker
  /** As whom a request writes: the user, or the session that a token or a believed name speaks for. */
  const speaker = async (given: string | undefined): Promise<Gate | Refusal> => {
    const session = await gate.speaker('from', given ?? null)
    if (session !== null && typeof session === 'object') return session
    return session === null ? gate : gate.as({ kind: 'session', session })
  }
  const writer = (as: Gate): Promise<Writer | Refusal> =>
    andThen(as.sender(), async (sender) => {
      const session = as.who.kind === 'session' ? await runtime.store.session(as.who.session) : null
      return { sender, session, act, trace, cwd }
    })
  /** M3: the user may change and send what any session has drafted; it stays that session's. */
  const changer = async (as: Gate, id: string): Promise<Writer | Refusal> => {
    const releasedFor = as.who.kind === 'user' ? await releasing(runtime, id) : null
    return releasedFor === null ? writer(as) : { ...releasedFor, act, trace, cwd }
  }
  /** Passes the gate with what `send-message` would be given, and goes on as the speaker. */
  const admitted = <T extends object, R>(
    from: string | undefined,
    fields: T,
    then: (as: Gate, asked: T) => Promise<R | Refusal>,
  ): Promise<R | Refusal> =>
    andThen(speaker(from), (as) => andThen(as.admit('send-message', fields), (asked) => then(as, asked)))
  return {
    send: ({ from, ...mail }) =>
      admitted(from, withoutUndefined(mail), (as, asked) =>
        andThen(writer(as), (by) => sendMail(runtime, by, asked as MailAsk)),
      ),
    revise: (id, { from, message, ifUpdatedAt }) =>
      admitted(from, { id, message }, (as) =>
        andThen(changer(as, id), (by) =>
          andThen(reviseMail(runtime, by, { id, read: ifUpdatedAt ?? null }, message), () =>
            showMessage(parts, asker, id),
          ),
        ),
      ),
    release: (id, { from, ifUpdatedAt } = {}) =>
      andThen(speaker(from), (as) =>
        andThen(admitNow(as, { id }), () =>
          andThen(changer(as, id), (by) => releaseMail(runtime, by, { id, read: ifUpdatedAt ?? null })),
        ),
      ),
    decline: (id, { from } = {}) =>
      andThen(speaker(from), (as) =>
        andThen(as.admit('buffer', {}), async () => {
          return (await declineMail(runtime, readerFor(as.who), id)) ?? showMessage(parts, asker, id)
        }),
      ),
  }
}

function reading(
  parts: DeskParts,
  asker: Asker,
  gate: Gate,
): Omit<MailDesk, 'send' | 'revise' | 'release' | 'decline'> {
  const { runtime } = parts
  const { who, act } = asker
  const reader = readerFor(who)
  const notATurn = (): Refusal | null => (who.kind === 'turn' ? refuseAsker(who, 'read mail') : null)
  return {
    inbox: (session, { replies = null, after = null } = {}) =>
      andThen(gate.find(session), (row) =>
        andThen(
          readInbox(runtime, reader, row.id, { replies, limit: inboxPerPage, after }),
          async (page) => ({
            ...toPage(page),
            total: page.total,
            notices: await readNotices(parts, row),
          }),
        ),
      ),
    accept: (session, which) =>
      andThen(gate.find(session), (row) =>
        andThen(gate.admit('buffer', { accept: which }), async () => {
          const by = (await gate.isOwn(row.id)) ? { ...reader, session: row.id } : reader
          const accepted = await acceptOne(runtime, by, row, parseWhich(which), null, act)
          if (accepted === null) return { message: null, accepted: false, released: false }
          if (isRefusal(accepted)) return accepted
          const released = isWaiting(accepted)
          return { message: recordOfMessage(accepted), accepted: !released, released }
        }),
      ),
    get: async (id) => notATurn() ?? showMessage(parts, asker, id),
    thread: async (id, { after } = {}) =>
      notATurn() ?? andThen(readThread(runtime, reader, id, after ?? 0, threadPerPage), toPage),
    drafts: async (session, { before } = {}) =>
      session === null
        ? (onlyUser(who, 'see all drafts') ?? draftPage(parts, null, before))
        : andThen(gate.find(session), (row) => draftPage(parts, row, before)),
    async deadLetters({ before } = {}) {
      const refusal = notATurn()
      if (refusal !== null) return refusal
      const dead = toPage(await runtime.lists.mail.dead(before ?? null, deadPerPage))
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
  address: null,
})

const withoutUndefined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

const toPage = ({ messages, next }: FactsPage): MailPage => ({
  messages: messages.map(recordOfMessage),
  next,
})

const draftPage = async (
  { runtime }: DeskParts,
  row: SessionRow | null,
  before: number | undefined,
): Promise<MailPage> =>
  toPage(await runtime.lists.mail.drafts(row?.id ?? null, before ?? null, draftsPerPage))

/** What it was told that nobody asked for, newest last. */
const readNotices = async ({ runtime }: DeskParts, { id }: SessionRow): Promise<Inbox['notices']> =>
  (await runtime.lists.raisedNotices(id, noticesMax)).map(({ seq, ...notice }) => ({
    seq: String(seq),
    ...notice,
  }))
