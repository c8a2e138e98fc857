/** Sessions, as anybody may ask for them. */
import type { z } from 'zod'
import { externalAgent } from '../../model/agent.ts'
import type { MessageSource } from '../../model/event.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import { waitSecondsDefault } from '../../model/limits.ts'
import { looksDrawn } from '../../model/mail.ts'
import { agentUnknown, badInput, isRefusal, type Refusal } from '../../model/refusal.ts'
import type {
  Archived,
  Cancelled,
  CreatedSession,
  ForkedSession,
  History,
  NewMessage,
  NewSession,
  SentMessage,
  Session,
  Sessions,
  SessionState,
} from '../../wire/sessions.ts'
import { waitInOwnTurn } from '../sessions/client-turn.ts'
import { forkSession } from '../sessions/fork.ts'
import { isDirectory } from '../kernel/is-directory.ts'
import { readHistory, listSessions, viewOfSession } from '../look/look.ts'
import { post, send, type Sender } from '../mail/send.ts'
import {
  adoptSession,
  archiveSession,
  cancelOnce,
  cancelSession,
  createSession,
  renameSession,
} from '../sessions/sessions.ts'
import { readState, untilResting } from '../sessions/state.ts'
import { onlyUser, refuseAsker, type Asker } from './asker.ts'
import { admitNow, findActor, refuseOpening, type Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'

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
  list(ask: SessionsAsk): Promise<Sessions | Refusal>
  get(id: string): Promise<Session | Refusal>
  /** Cancels what runs in it, and archives it with all its children. */
  archive(id: string): Promise<Archived | Refusal>
  adopt(id: string, parent: string | null): Promise<Session | Refusal>
  rename(id: string, title: string): Promise<Session | Refusal>
  send(id: string, message: z.output<typeof NewMessage>): Promise<SentMessage | Refusal>
  /** The newest page first; each page is oldest first. */
  history(
    id: string,
    ask?: { before?: number | undefined; limit?: number | undefined },
  ): Promise<History | Refusal>
  state(id: string): Promise<SessionState | Refusal>
  /** Until it is idle or the time is over; the wait of an agent is an edge of the wait-for graph. */
  wait(id: string, timeoutMs?: number): Promise<SessionState | Refusal>
  /** The current turn and everything below it; with `all` what is queued too, with `turn` that one alone. */
  cancel(
    id: string,
    ask?: { all?: boolean | undefined; turn?: string | undefined },
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
  const found = async <T>(
    id: string,
    act: (row: SessionRow) => Promise<T | Refusal>,
  ): Promise<T | Refusal> => {
    const row = await gate.find(id)
    return isRefusal(row) ? row : act(row)
  }
  const show = async (id: SessionId): Promise<Session | Refusal> => {
    const row = await runtime.store.session(id)
    return row === null ? { code: 'session_unknown', session: id } : viewOfSession(runtime, row)
  }
  /** A session has children of its own, and sees only those; the user may name any parent, or none. */
  const parentOf = async (given: string | null): Promise<{ id: SessionId | null } | Refusal> => {
    if (who.kind === 'turn') return refuseAsker(who, 'see or open sessions here')
    if (given === null) return { id: who.kind === 'session' ? who.session : null }
    return found(given, async (row) => ({ id: row.id }))
  }
  return {
    async create(session) {
      const parent = await parentOf(session.parent ?? null)
      return isRefusal(parent) ? parent : create(parts, asker, gate, session, parent.id)
    },
    async list({ parent, limit = pageDefault, ...ask }) {
      const below = await parentOf(parent ?? null)
      return isRefusal(below)
        ? below
        : listSessions(runtime, runtime.lists, {
            dir: ask.dir ?? null,
            active: ask.active ?? null,
            agent: ask.agent ?? null,
            archived: ask.archived ?? false,
            cursor: ask.cursor ?? null,
            parent: below.id,
            limit,
          })
    },
    get: (id) => found(id, (row) => viewOfSession(runtime, row)),
    archive: (id) =>
      found(id, async (row) => {
        if (who.kind === 'session' && row.id === who.session)
          return {
            code: 'not_allowed',
            agent: 'A session',
            what: 'archive itself',
            allowed: ['the sessions below it'],
          }
        const archived = await archiveSession(runtime, runtime.lists, row.id)
        return isRefusal(archived) ? archived : { archived }
      }),
    async adopt(id, parent) {
      const refusal = onlyUser(who, 'adopt sessions')
      if (refusal !== null) return refusal
      return found(id, async (row) => {
        const above = parent === null ? { id: null } : await gate.find(parent)
        if (isRefusal(above)) return above
        return (await adoptSession(runtime, row.id, above.id)) ?? show(row.id)
      })
    },
    async rename(id, title) {
      return found(id, async (row) => (await renameSession(runtime, row.id, title)) ?? show(row.id))
    },
    send: (id, message) => sendTo(parts, asker, gate, id, message),
    history: (id, { before, limit = pageDefault } = {}) =>
      found(id, (row) => readHistory(runtime, row.id, before ?? null, limit)),
    state: (id) => found(id, (row) => readState(runtime, row.id)),
    wait: (id, timeoutMs = waitSecondsDefault * 1000) =>
      found(id, (row) => wait(parts, asker, row.id, timeoutMs)),
    cancel: (id, { all = false, turn } = {}) =>
      found(id, async (row) => {
        const by = who.kind === 'session' ? `cancelled by ${who.session}` : 'cancelled by the user'
        const { act } = asker
        const one = (turn as TurnId | undefined) ?? null
        const cancelled =
          act === null
            ? cancelSession(runtime, row.id, all, by, one)
            : cancelOnce(runtime, row.id, act, all, by, one)
        return { cancelled: await cancelled }
      }),
    fork: (id, ask = {}) => found(id, (row) => fork(parts, asker, gate, row, ask)),
  }
}

async function create(
  parts: DeskParts,
  { who, act, trace }: Asker,
  gate: Gate,
  { parent: _parent, ...given }: NewSession,
  parent: SessionId | null,
): Promise<Omit<CreatedSession, 'token'> | Refusal> {
  const { runtime, book } = parts
  const asked = await gate.admit('create_agent_session', given)
  if (isRefusal(asked)) return asked
  const { cwd, model = null, title = '', initialMessage } = asked
  if (!isDirectory(cwd)) return badInput('cwd', cwd, 'a directory that exists')
  const sender = await gate.sender()
  if (isRefusal(sender)) return sender
  // Only the user opens a place for a program outside; for everybody else there is no such agent.
  if (asked.agent === externalAgent.name && who.kind === 'user')
    return createExternal(parts, asked, parent, act)
  const name = asked.agent ?? book.names()[0]
  const agent = name === undefined ? undefined : book.resolve?.(name)
  if (agent === undefined) return agentUnknown(name ?? '', book.names())
  const refusal = refuseOpening(runtime, sender, agent)
  if (refusal !== null) return refusal
  const place = { cwd, agent: agent.name, model: model ?? agent.model ?? null }
  const to = { agent: agent.name, cwd, title, model, parent }
  if (initialMessage === undefined) {
    const row = await createSession(runtime, to, sender, act)
    return isRefusal(row) ? row : { ...place, sessionId: row.id, messageId: null, status: null }
  }
  const sent = await send(runtime, {
    to,
    text: initialMessage,
    sender,
    id: act === null ? null : `msg_${act}`,
    trace,
  })
  if (isRefusal(sent)) return sent
  const status = who.kind === 'turn' ? null : sent.status
  return { ...place, sessionId: sent.session, messageId: sent.message, status }
}

async function createExternal(
  { runtime }: DeskParts,
  { cwd, title = '', initialMessage }: NewSession,
  parent: SessionId | null,
  id: string | null,
): Promise<Omit<CreatedSession, 'token'> | Refusal> {
  if (initialMessage !== undefined)
    return badInput('initialMessage', initialMessage, 'nothing: a client outside is never run')
  const row = await createSession(
    runtime,
    { agent: externalAgent.name, cwd, title, parent },
    { kind: 'user' },
    id,
  )
  if (isRefusal(row)) return row
  return { sessionId: row.id, cwd: row.cwd, agent: row.agent, model: null, messageId: null, status: null }
}

/** Any session may be written to by those who may call it: that is for the rules to decide. */
async function sendTo(
  { runtime }: DeskParts,
  asker: Asker,
  gate: Gate,
  id: string,
  message: z.output<typeof NewMessage>,
): Promise<SentMessage | Refusal> {
  const from = await gate.speaker('fromSession', message.fromSession ?? null)
  if (from !== null && typeof from === 'object') return from
  const source = checkSource(asker, message, from)
  if (typeof source === 'object') return source
  const target = await gate.findAny(id)
  if (isRefusal(target)) return target
  if (target.id === from) return { code: 'self_call', agent: target.agent }
  const own = message.messageId ?? null
  if (own !== null && looksDrawn(own) && (await runtime.lists.mail.message(own)) === null)
    return badInput('messageId', own, 'an id of your own: this one looks like one of ours')
  const speaker = from === null ? gate : gate.as({ kind: 'session', session: from })
  const admitted =
    source === 'agent'
      ? await speaker.admit('send_agent_message', { sessionId: target.id, message: message.message })
      : { sessionId: target.id, message: message.message }
  if (isRefusal(admitted)) return admitted
  const sender = source === 'agent' ? await speaker.sender() : personOf(source, message)
  if (isRefusal(sender)) return sender
  const sent = await post(runtime, {
    to: { session: target.id },
    text: admitted.message,
    sender,
    now: message.delivery === 'now',
    inbox: message.delivery === 'buffer' ? 'always' : 'auto',
    inReplyTo: message.inReplyTo ?? null,
    id: own ?? asker.act,
    trace: asker.trace,
  })
  return isRefusal(sent)
    ? sent
    : {
        messageId: sent.message,
        status: sent.status,
        sessionId: sent.session,
        turn: sent.turn,
        flow: sent.flow,
      }
}

const personOf = (source: MessageSource, { applet }: z.output<typeof NewMessage>): Sender =>
  source === 'applet' ? { kind: 'applet', name: applet ?? '' } : { kind: 'user' }

function checkSource(
  { who }: Asker,
  { applet, ...message }: z.output<typeof NewMessage>,
  from: SessionId | null,
): MessageSource | Refusal {
  const source = message.source ?? (from === null ? 'user' : 'agent')
  if (who.kind === 'session' && source !== 'agent')
    return {
      code: 'not_allowed',
      agent: `Session ${who.session}`,
      what: `send as source "${source}"`,
      allowed: ['agent'],
    }
  if (source === 'agent' && from === null)
    return badInput('fromSession', undefined, 'the id of the session that sends, because source is "agent",')
  if (source !== 'agent' && from !== null)
    return badInput('source', source, '"agent", because fromSession is given,')
  if (source === 'applet' && applet === undefined)
    return badInput('applet', undefined, 'the name of the applet, because source is "applet",')
  if (source !== 'applet' && applet !== undefined)
    return badInput('applet', applet, 'nothing, unless source is "applet",')
  return source
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
    ? actor.running.acts.waitForSession(id, timeoutMs)
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
  const refusal = refuseOpening(runtime, sender, runtime.agents.get(from.agent))
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
