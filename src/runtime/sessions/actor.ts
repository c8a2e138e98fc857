/** As whom an asker acts: in the turn of it that runs, or as a client between its turns. */
import { findAgent } from '../kernel/projects-port.ts'
import { externalAgent, type Agent } from '../../model/agent.ts'
import type { SessionRow } from '../../model/facts.ts'
import { type Refusal } from '../../model/refusal.ts'
import type { Who } from '../kernel/who.ts'
import type { Runtime } from './runtime.ts'
import type { Running } from '../kernel/running.ts'
import { findRunning } from '../kernel/runtime.ts'

/**
 * Who acts between turns: a client by its own session, or a session that a connected program runs, as its own
 * agent.
 */
export type Client = { session: SessionRow; agent: Agent }

/**
 * Whether a session acts as a client does: it is one, or a connected program runs it. Null where it is
 * neither.
 */
export function resolveClient(runtime: Runtime, session: SessionRow): Client | null {
  if (session.kind === 'external') return { session, agent: externalAgent }
  const agent = findAgent(runtime, session)
  return agent?.driver === 'host' ? { session, agent } : null
}

export type Actor = { kind: 'turn'; running: Running } | ({ kind: 'client' } & Client)

/**
 * As whom a checked `who` acts: in the turn of it that runs, else as a client. R7: while a turn of it runs,
 * nobody can tell what a program does for that turn from what it does besides,
 * so all of it has that turn's place, authority and end.
 */
export function resolveActor(
  runtime: Runtime,
  who: Exclude<Who, { kind: 'user' }>,
  session: SessionRow | null,
): Actor | Refusal {
  const running =
    who.kind === 'turn'
      ? findRunning(runtime, who.turn)
      : session?.kind === 'external'
        ? undefined
        : [...runtime.running.values()].find((one) => one.row.session === who.session)
  if (running !== undefined) return { kind: 'turn', running }
  const client = session === null || who.kind === 'turn' ? null : resolveClient(runtime, session)
  return client === null
    ? { code: 'call_ended', why: 'the session that this speaks for has no turn that runs' }
    : { kind: 'client', ...client }
}
