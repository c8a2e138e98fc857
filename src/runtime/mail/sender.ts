/** Who sends, and whose messages those are. */
import { type Agent } from '../../model/agent.ts'
import type { MessageSource } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import { userSession, type Author } from '../../model/mail.ts'
import { type SendWorld } from '../../model/send.ts'
import type { Runtime } from '../turns/runtime.ts'
import { type Running } from '../kernel/running.ts'

/** Who sends: a person, an applet by name, a client outside by its session, or a turn that runs here. */
export type Sender =
  | { kind: 'user' }
  | { kind: 'applet'; name: string }
  | {
      kind: 'client'
      session: SessionId
      /** Whose leave it needs; a client outside needs none. */
      agent?: Agent
    }
  | { kind: 'turn'; running: Running }
  | Released

/**
 * A person, who sends or changes what a session has drafted: it stays that session's, with no more leave than
 * the turn had that wrote it.
 */
export type Released = {
  kind: 'released'
  session: SessionId
  agent: Agent | null
  writtenIn: TurnRow | null
}

/** Whose drafts a sender's are, and where replies to it go. */
export const senderOwner = (sender: Sender): SessionId =>
  sender.kind === 'turn'
    ? sender.running.row.session
    : sender.kind === 'client' || sender.kind === 'released'
      ? sender.session
      : userSession

export const senderAuthor = (sender: Sender): Author => ({
  session: senderOwner(sender),
  turn: sender.kind === 'turn' ? sender.running.row.id : null,
  source: senderSource(sender),
  by: sender.kind === 'released' ? 'user' : undefined,
})

/**
 * Whether a person must send it: with `release = "person"`, whatever agents write to each other. What goes to the
 * user does not.
 */
export const mustDraft = (runtime: Runtime, sender: Sender, to: SessionId | null): boolean =>
  runtime.release === 'person' && (sender.kind === 'turn' || sender.kind === 'client') && to !== userSession

export const senderClient = (sender: Sender): SessionId | null =>
  sender.kind === 'client' || sender.kind === 'released' ? sender.session : null

/** An agent is judged by what its own project says, and reads only that project's names. */
export const readWorld = (runtime: Runtime, sender: Sender, now: number): SendWorld => ({
  senderAgent:
    sender.kind === 'turn'
      ? sender.running.agent
      : sender.kind === 'client' || sender.kind === 'released'
        ? (sender.agent ?? null)
        : null,
  ...worldAround(runtime, sender),
  now,
  senderTaskHash:
    sender.kind === 'turn' && sender.running.input.type === 'call.opened'
      ? sender.running.input.taskHash
      : null,
})

export const senderSource = (sender: Sender): MessageSource =>
  sender.kind === 'user' || sender.kind === 'applet' ? sender.kind : 'agent'

function worldAround(
  runtime: Runtime,
  sender: Sender,
): Pick<SendWorld, 'knownAgents' | 'untrusted' | 'limits'> {
  const own = sender.kind === 'turn' ? runtime.projects?.known(sender.running.session.cwd) : undefined
  const { agents, limits } = own ?? runtime
  return { knownAgents: agents.names(), untrusted: agents.untrusted?.(), limits }
}
