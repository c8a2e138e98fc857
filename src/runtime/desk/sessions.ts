/** Sessions, as anybody may ask for them. */
import { findAgent } from '../kernel/projects-port.ts'
import type { z } from 'zod'
import type { SessionRow } from '../../model/facts.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import { waitSecondsDefault } from '../../model/limits.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type {
  Archived,
  Cancelled,
  CreatedSession,
  ForkedSession,
  History,
  NewMessage,
  SentMessage,
  Session,
  Sessions,
  SessionState,
  NewSession,
} from '../../wire/sessions.ts'
import { createActs } from '../sessions/acts.ts'
import { waitInOwnTurn } from '../sessions/client-turn.ts'
import { forkSession } from '../sessions/fork.ts'
import { readHistory, listSessions, viewOfSession } from '../look/look.ts'
import {
  adoptSession,
  archiveSession,
  cancelOnce,
  cancelSession,
  renameSession,
} from '../sessions/sessions.ts'
import { readState, untilResting } from '../look/state.ts'
import { andThen, onlyUser, refuseAsker, type Asker } from './asker.ts'
import { admitNow, findActor, refuseOpening, type Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'
import { create } from './create-session.ts'
import { sendTo } from './send-to-session.ts'

export type SessionsAsk = {
  dir?: string | undefined
  active?: boolean | undefined
  agent?: string | undefined
  parent?: string | undefined
  archived?: boolean | undefined
  cursor?: string | undefined
  limit?: number | undefined
}

export type SessionDesk = {
  create(session: NewSession): Promise<Omit<CreatedSession, 'token'> | Refusal>
  /** Of a program that names its sessions: the one of that name, made if it is not there yet. */
  bring(session: NewSession): Promise<Omit<CreatedSession, 'token'> | Refusal>
  list(ask: SessionsAsk): Promise<Sessions | Refusal>
  get(id: string): Promise<Session | Refusal>
  /** Cancels what runs in it, and archives it with all its children. */
  archive(id: string): Promise<Archived | Refusal>
  adopt(id: string, parent: string | null): Promise<Session | Refusal>
  rename(id: string, title: string): Promise<Session | Refusal>
  send(id: string, message: z.output<typeof NewMessage>): Promise<SentMessage | Refusal>
  /**
   * The newest page first; each page is oldest first. With `after` the pages go forward from there. A page
   * ends early where its texts are long: only `next` says whether there is more.
   */
  history(
    id: string,
    ask?: { before?: number | undefined; after?: number | undefined; limit?: number | undefined },
  ): Promise<History | Refusal>
  state(id: string): Promise<SessionState | Refusal>
  /** Until it is idle or the time is over; the wait of an agent is an edge of the wait-for graph. */
  wait(id: string, timeoutMs?: number): Promise<SessionState | Refusal>
  /** The current turn and everything below it; with `all` what is queued too, with `turn` that one alone. */
  cancel(
    id: string,
    ask?: { all?: boolean | undefined; turn?: string | undefined; timedOut?: boolean | undefined },
  ): Promise<Cancelled | Refusal>
  /** A session that shares the conversation of another: up to so many messages back, or up to one message. */
  fork(
    id: string,
    ask?: { back?: number | undefined; messageId?: string | undefined },
  ): Promise<ForkedSession | Refusal>
}

const pageDefault = 50

export function sessionDesk(parts: DeskParts, asker: Asker, gate: Gate): SessionDesk {
  const { runtime } = parts
  const { who } = asker
  const found = <T>(
    id: string,
    act: (row: SessionRow) => T | Refusal | Promise<T | Refusal>,
  ): Promise<T | Refusal> => andThen(gate.find(id), act)
  const show = async (id: SessionId): Promise<Session | Refusal> => {
    const row = await runtime.store.session(id)
    return row === null ? { code: 'session_unknown', session: id } : viewOfSession(runtime, row)
  }
  /** A session has children of its own, and sees only those; the user may name any parent, or none. */
  const resolveParent = async (given: string | null): Promise<{ id: SessionId | null } | Refusal> => {
    if (who.kind === 'turn') return refuseAsker(who, 'see or open sessions here')
    if (given === null) return { id: who.kind === 'session' ? who.session : null }
    return found(given, async (row) => ({ id: row.id }))
  }
  return {
    create: (session) =>
      andThen(resolveParent(session.parent ?? null), (parent) =>
        create(parts, asker, gate, session, parent.id),
      ),
    bring: (session) =>
      andThen(resolveParent(session.parent ?? null), (parent) =>
        create(parts, asker, gate, session, parent.id, true),
      ),
    list: ({ parent, limit = pageDefault, ...ask }) =>
      andThen(resolveParent(parent ?? null), (below) =>
        listSessions(runtime, { ...ask, parent: below.id, limit }),
      ),
    get: (id) => found(id, (row) => viewOfSession(runtime, row)),
    archive: (id) =>
      found(id, (row) =>
        who.kind === 'session' && row.id === who.session
          ? {
              code: 'not_allowed',
              agent: 'A session',
              what: 'archive itself',
              allowed: ['the sessions below it'],
            }
          : andThen(archiveSession(runtime, row.id), (archived) => ({ archived })),
      ),
    adopt: async (id, parent) =>
      onlyUser(who, 'adopt sessions') ??
      found(id, async (row) => {
        const above = parent === null ? { id: null } : await gate.find(parent)
        if (isRefusal(above)) return above
        return (await adoptSession(runtime, row.id, above.id)) ?? show(row.id)
      }),
    rename: (id, title) =>
      found(id, async (row) => (await renameSession(runtime, row.id, title)) ?? show(row.id)),
    send: (id, message) => sendTo(parts, asker, gate, id, message),
    history: (id, { before, after, limit = pageDefault } = {}) =>
      found(id, (row) => readHistory(runtime, row.id, before ?? null, limit, after ?? null)),
    state: (id) => found(id, (row) => readState(runtime, row.id)),
    wait: (id, timeoutMs = waitSecondsDefault * 1000) =>
      found(id, (row) => wait(parts, asker, row.id, timeoutMs)),
    cancel: (id, ask = {}) =>
      found(id, async (row) => ({ cancelled: await cancel(parts, asker, row.id, ask) })),
    fork: (id, ask = {}) => found(id, (row) => fork(parts, asker, gate, row, ask)),
  }
}

function cancel(
  { runtime }: DeskParts,
  { who, act }: Asker,
  session: SessionId,
  { all = false, turn, timedOut = false }: NonNullable<Parameters<SessionDesk['cancel']>[1]>,
): Promise<number> {
  const by = who.kind === 'session' ? who.session : 'the user'
  const ending = timedOut
    ? { outcome: 'timed_out' as const, cause: `the time that ${by} gave it is over` }
    : { outcome: 'cancelled' as const, cause: `cancelled by ${by}` }
  const only = (turn as TurnId | undefined) ?? null
  return act === null
    ? cancelSession(runtime, session, all, ending, only)
    : cancelOnce(runtime, session, act, all, ending, only)
}

async function wait(
  parts: DeskParts,
  { who, signal }: Asker,
  id: SessionId,
  timeoutMs: number,
): Promise<SessionState | Refusal> {
  const { runtime } = parts
  const actor = who.kind === 'user' ? null : await findActor(parts, who)
  if (actor === null || isRefusal(actor) || (actor.kind === 'client' && actor.session.kind === 'external'))
    return untilResting(runtime, id, timeoutMs, signal)
  return actor.kind === 'turn'
    ? createActs(runtime, actor.running, signal).waitForSession(id, timeoutMs)
    : waitInOwnTurn(runtime, actor, id, timeoutMs, signal)
}

async function fork(
  { runtime }: DeskParts,
  { who, act }: Asker,
  gate: Gate,
  from: SessionRow,
  { back, messageId }: { back?: number | undefined; messageId?: string | undefined },
): Promise<ForkedSession | Refusal> {
  const admitted = await admitNow(gate, { fork: back ?? true })
  if (isRefusal(admitted)) return admitted
  const sender = await gate.sender()
  if (isRefusal(sender)) return sender
  const refusal = refuseOpening(runtime, sender, findAgent(runtime, from))
  if (refusal !== null) return refusal
  const parent =
    who.kind === 'session' ? who.session : sender.kind === 'turn' ? sender.running.row.session : null
  const row = await forkSession(runtime, sender, {
    from: from.id,
    back: back ?? null,
    messageId: messageId ?? null,
    parent,
    id: act,
  })
  return isRefusal(row) ? row : { ...(await viewOfSession(runtime, row)), sessionId: row.id }
}
