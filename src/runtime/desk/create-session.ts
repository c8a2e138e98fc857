/** Creating a session, as anybody may ask for it. */
import { inProject, resolveAgent } from '../kernel/projects-port.ts'
import { externalAgent } from '../../model/agent.ts'
import type { SessionId } from '../../model/id.ts'
import { badInput, isRefusal, type Refusal } from '../../model/refusal.ts'
import { refuseAgent } from '../kernel/refuse-agent.ts'
import type { CreatedSession, NewSession } from '../../wire/sessions.ts'
import { refuseDirectory } from '../kernel/is-directory.ts'
import { send } from '../mail/send.ts'
import { createSession } from '../sessions/sessions.ts'
import { type Asker } from './asker.ts'
import { refuseOpening, type Gate } from './gate.ts'
import { mustDraft } from '../mail/sender.ts'
import { draftTo } from '../sessions/session-acts.ts'
import { findDirectory, type DeskParts } from './parts.ts'

export async function create(
  parts: DeskParts,
  asker: Asker,
  gate: Gate,
  { parent: _parent, ...given }: NewSession,
  parent: SessionId | null,
): Promise<Omit<CreatedSession, 'token'> | Refusal> {
  const { runtime } = parts
  const { who, act, trace } = asker
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
    if (isRefusal(row)) return row
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
