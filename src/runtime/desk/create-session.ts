/** Creating a session, as anybody may ask for it. */
import { inProject, resolveAgent } from '../kernel/projects-port.ts'
import { externalAgent } from '../../model/agent.ts'
import type { SessionId } from '../../model/id.ts'
import { isSameButMarks } from '../../model/secret-mark.ts'
import { canonical } from '../../model/json.ts'
import { badInput, isRefusal, type Refusal } from '../../model/refusal.ts'
import { refuseAgent } from '../kernel/refuse-agent.ts'
import type { CreatedSession, NewSession } from '../../wire/sessions.ts'
import { refuseDirectory } from '../kernel/is-directory.ts'
import { send } from '../mail/send.ts'
import type { NewSession as SessionToMake } from '../kernel/new-session.ts'
import { createSession } from '../sessions/sessions.ts'
import { type Asker } from './asker.ts'
import { refuseOpening, type Gate } from './gate.ts'
import { mustDraft } from '../mail/sender.ts'
import { draftTo } from '../sessions/session-acts.ts'
import { findDirectory, type DeskParts } from './parts.ts'

/** `named`: the act's id is the name that a program gives its session, which may be there for long. */
export async function create(
  parts: DeskParts,
  asker: Asker,
  gate: Gate,
  { parent: _parent, ...given }: NewSession,
  parent: SessionId | null,
  named = false,
): Promise<Omit<CreatedSession, 'token'> | Refusal> {
  const { runtime } = parts
  const { who, act, trace } = asker
  const key = named ? null : act
  const asked = await gate.admit('create_agent_session', given)
  if (isRefusal(asked)) return asked
  const { cwd, model = null, title = '', initialMessage } = asked
  const unusable = refuseDirectory(cwd)
  if (unusable !== null) return unusable
  const sender = await gate.sender()
  if (isRefusal(sender)) return sender
  // Only the user opens a place for a program outside; for everybody else there is no such agent.
  if (asked.agent === externalAgent.name && who.kind === 'user')
    return createExternal(parts, asked, parent, act)
  // The user means the agents of the directory where the session will work; all others those of their own.
  const from = who.kind === 'user' ? cwd : await findDirectory(parts, asker)
  const here = inProject(runtime, from)
  const name = asked.agent ?? here.agents.names()[0]
  const agent = name === undefined ? undefined : resolveAgent(here.agents, name)
  if (agent === undefined) return refuseAgent(here.agents, name ?? '')
  const refusal = refuseOpening(here, sender, agent)
  if (refusal !== null) return refusal
  const spelled = here.agents.spell?.(agent.name, cwd) ?? agent.name
  const place = { cwd, agent: spelled, model: model ?? agent.model ?? null }
  const to = { agent: spelled, calledAs: agent.name, cwd, title, model, parent }
  if (initialMessage === undefined || mustDraft(runtime, sender, null)) {
    const row = await createSession(runtime, to, sender, act)
    if (isRefusal(row)) return key === null ? row : nameKey(row, key)
    const used = await refuseUsedKey(runtime, to, key, initialMessage)
    if (used !== null) return used
    const kept =
      initialMessage === undefined ? null : await draftTo(runtime, sender, row.id, initialMessage, act)
    if (kept !== null && isRefusal(kept)) return kept
    return { ...place, sessionId: row.id, messageId: kept?.messageId ?? null, status: kept?.status ?? null }
  }
  const sent = await send(runtime, {
    to,
    text: initialMessage,
    sender,
    id: act === null ? null : `msg_${act}`,
    trace,
  })
  if (isRefusal(sent)) return sent
  const used = await refuseUsedKey(runtime, to, key, initialMessage)
  if (used !== null) return used
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
  const to = { agent: externalAgent.name, cwd, title, parent }
  const row = await createSession(runtime, to, { kind: 'user' }, id)
  if (isRefusal(row)) return id === null ? row : nameKey(row, id)
  const used = await refuseUsedKey(runtime, to, id)
  if (used !== null) return used
  return { sessionId: row.id, cwd: row.cwd, agent: row.agent, model: null, messageId: null, status: null }
}

/**
 * A retry gets the session of the first try, if it asks for the same. What was asked is in the event that made it: the
 * session may have another title and another parent by now.
 */
async function refuseUsedKey(
  { store, lists }: DeskParts['runtime'],
  { agent, cwd, title = '', model = null, parent = null }: SessionToMake,
  act: string | null,
  initialMessage?: string,
): Promise<Refusal | null> {
  if (act === null) return null
  const { events } = await store.read(0, { sessions: [`ses_${act}`], types: ['session.created'] }, 1)
  const made = events[0]?.event
  const isSame =
    made?.type !== 'session.created' ||
    isSameButMarks(
      canonical([made.agent, made.cwd, made.title, made.model, made.parent]),
      canonical([agent, cwd, title, model, parent]),
    )
  return isSame && (initialMessage !== undefined || (await lists.mail.message(`msg_${act}`)) === null)
    ? null
    : usedKey(act)
}

const usedKey = (key: string): Refusal =>
  badInput('Idempotency-Key', key, 'a key that was not used for another session')

/** Who gave a key gave no id. */
const nameKey = (refusal: Refusal, key: string): Refusal =>
  refusal.code === 'bad_input' && refusal.field === 'id' ? usedKey(key) : refusal
