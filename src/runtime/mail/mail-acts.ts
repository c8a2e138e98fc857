/** What a turn, or a client outside, may do with mail: list sessions, write, look into inboxes, accept. */
import type { MessageFacts, SessionRow } from '../../model/facts.ts'
import { judgeAccept } from '../../model/mail.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import type { Runtime } from '../turns/runtime.ts'
import { findSession, listSessions } from '../look/look.ts'
import { acceptOwnMail, readOwnInbox } from './address-inbox.ts'
import { acceptMail, readInbox, type Reader } from './mail-inbox.ts'
import type { MailActs, SessionSummary } from '../kernel/mail-port.ts'
import type { Session } from '../../wire/sessions.ts'
import { sendMail, type Writer } from './mail.ts'
import { untilMail } from './until-mail.ts'
import { releaseWaiting } from './release-waiting.ts'

const sessionsMax = 100

/** `deriveAct` makes the id of an act from the key of its step; null where nobody can try it again. */
export function createMailActs(
  runtime: Runtime,
  own: SessionRow,
  writer: Omit<Writer, 'act'>,
  reader: Reader,
  deriveAct: (key: string) => string | null,
  signal: AbortSignal,
): MailActs {
  const findInbox = async (session: string | null): Promise<SessionRow | Refusal> =>
    session === null ? own : findSession(runtime, session)
  return {
    async listSessions({ dir, active }) {
      const { sessions } = await listSessions(runtime, {
        dir,
        active,
        limit: sessionsMax,
      })
      // What a program has closed is gone until it is opened again; mail can still be written to it.
      return sessions.filter(({ presence }) => presence !== 'closed').map(summarise)
    },
    sendMail: (ask, key) => sendMail(runtime, { ...writer, act: deriveAct(key) }, ask),
    async readInbox({ session, replies, limit }) {
      const of = await findInbox(session)
      if (isRefusal(of)) return of
      // Only the beginnings are shown of these, so all of them have room.
      const ask = { replies, limit, after: null, unitsMax: Infinity }
      return of.id === own.id
        ? readOwnInbox(runtime, reader, own, ask)
        : readInbox(runtime, reader, of.id, ask)
    },
    waitForMail: (timeoutMs) => untilMail(runtime, [own.id, reader.address], timeoutMs, signal),
    async acceptMail({ session, which, replies }, key) {
      const of = await findInbox(session)
      return isRefusal(of) ? of : acceptOne(runtime, reader, of, which, replies, deriveAct(key))
    },
  }
}

/** A model reads only what it can use. */
const summarise = ({
  agentName: _name,
  model: _model,
  kind: _kind,
  away: _away,
  quietUntil: _quiet,
  orphan: _orphan,
  archived: _archived,
  tokensUsed: _tokensUsed,
  cost: _cost,
  ...shown
}: Session): SessionSummary => shown

/** With the message as it is then: one that still waits was released. */
export async function acceptOne(
  runtime: Runtime,
  reader: Reader,
  session: SessionRow,
  which: Parameters<MailActs['acceptMail']>[0]['which'],
  replies: boolean | null,
  act: string | null,
): Promise<MessageFacts | null | Refusal> {
  const how = judgeAccept(session, reader)
  if (typeof how === 'object') return how
  const ask = { session, which, replies, act }
  const accepted = await (how === 'release'
    ? releaseWaiting(runtime, session, which, act)
    : session.id === reader.session
      ? acceptOwnMail(runtime, reader, ask)
      : acceptMail(runtime, reader, ask))
  if (isRefusal(accepted)) return accepted
  return accepted.message === null ? null : runtime.lists.mail.message(accepted.message)
}
