/** What a turn, or a client outside, may do with mail: list sessions, write, look into inboxes, accept. */
import type { MessageFacts, SessionRow } from '../../model/facts.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import type { Runtime } from '../kernel/runtime.ts'
import { findSession, listSessions } from '../look/look.ts'
import { acceptMail, readInbox, type Reader } from './mail-inbox.ts'
import type { MailActs } from '../kernel/mail-port.ts'
import { sendMail, type Writer } from './mail.ts'

const sessionsMax = 100

/** `deriveAct` makes the id of an act from the key of its step; null where nobody can try it again. */
export function createMailActs(
  runtime: Runtime,
  own: SessionRow,
  writer: Omit<Writer, 'act'>,
  reader: Reader,
  deriveAct: (key: string) => string | null,
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
      return sessions.map(
        ({ id, agent, title, cwd, status, active: isActive, parent, createdAt, updatedAt, buffered }) => ({
          id,
          agent,
          title,
          cwd,
          status,
          active: isActive,
          parent,
          createdAt,
          updatedAt,
          buffered,
        }),
      )
    },
    sendMail: (ask, key) => sendMail(runtime, { ...writer, act: deriveAct(key) }, ask),
    async readInbox({ session, replies, limit }) {
      const of = await findInbox(session)
      if (isRefusal(of)) return of
      // Only the beginnings are shown of these, so all of them have room.
      return readInbox(runtime, reader, of.id, { replies, limit, after: null, unitsMax: Infinity })
    },
    async acceptMail({ session, which, replies }, key) {
      const of = await findInbox(session)
      return isRefusal(of) ? of : acceptOne(runtime, reader, of, which, replies, deriveAct(key))
    },
  }
}

/** With the message as it is then. */
export async function acceptOne(
  runtime: Runtime,
  reader: Reader,
  session: SessionRow,
  which: Parameters<MailActs['acceptMail']>[0]['which'],
  replies: boolean | null,
  act: string | null,
): Promise<MessageFacts | null | Refusal> {
  const accepted = await acceptMail(runtime, reader, { session, which, replies, act })
  if (isRefusal(accepted)) return accepted
  return accepted.message === null ? null : runtime.lists.mail.message(accepted.message)
}
