/**
 * The gate in front of every act: who asks, what they may see, as whom they may act, and whether the tool that
 * stands for the act is theirs to use. A model that uses a tool and a program that asks over HTTP pass the same
 * checks, so no door can do what another could not.
 */
import { findAgent } from '../kernel/projects-port.ts'
import { readWorld } from '../mail/sender.ts'
import { type Agent } from '../../model/agent.ts'
import { mayUse } from '../../model/authority.ts'
import type { SendFacts, SessionRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { badInput, isRefusal, type Refusal } from '../../model/refusal.ts'
import { openSession } from '../../model/send.ts'
import type { Tool } from '../kernel/ports.ts'
import type { Runtime } from '../sessions/runtime.ts'
import { findSession } from '../look/look.ts'
import type { Sender } from '../mail/sender.ts'
import { type Actor, resolveActor } from '../sessions/actor.ts'
import { readState } from '../look/state.ts'
import { refuseAsker, type Asker, type Who } from './asker.ts'
import { nameClient, placeClient, type ClientPlace } from './client-session.ts'
import { offersToClient } from './client-tools.ts'
import { partsIn, type DeskParts } from './parts.ts'
import { sees } from './sight.ts'

export type Gate = {
  readonly who: Who
  /** The same gate for somebody else, whom the asker may speak for. */
  as(who: Who): Gate
  /** The session by its id or a unique part of it, if the asker may see it. */
  find(idOrPart: string): Promise<SessionRow | Refusal>
  /** The same for what may reach any session: the rules of the act decide whether it does. */
  findAny(idOrPart: string): Promise<SessionRow | Refusal>
  sees(session: SessionId): Promise<boolean>
  /** Who acts: a turn that runs here, a client, or the user. */
  sender(): Promise<Sender | Refusal>
  /**
   * As whom the asker speaks when a request names a session; null for the user's own words. A token speaks for
   * its own session alone.
   */
  speaker(field: string, given: string | null): Promise<SessionId | null | Refusal>
  /** As which session or turn the asker acts: the one that is named, its own, or a session of its client. */
  actor(field: string, given: string | null): Promise<Exclude<Who, { kind: 'user' }> | Refusal>
  /** Whether a session is that of the client who asks. */
  isOwn(session: SessionId): Promise<boolean>
  /**
   * The inbox of the address at which the asker works. It is a person's own client's: a token, and a session
   * that is only named, have none.
   */
  addressInbox(given: string | null): Promise<SessionId | null>
  /**
   * Whether the asker may do what a tool does: `fields` as the configuration leaves them, with its defaults and
   * what it fixes. The user may do everything, and is bound by no default.
   */
  admit<T extends object>(tool: string, fields: T): Promise<T | Refusal>
}

export function openGate(parts: DeskParts, asker: Asker): Gate {
  const { runtime } = parts
  const { who } = asker
  const place = (): Promise<ClientPlace> => placeClient(runtime, asker.client, parts.cwd)
  const findAny = async (idOrPart: string): Promise<SessionRow | Refusal> => {
    await runtime.place?.catchUp()
    return findSession(runtime, idOrPart)
  }
  const speaker = (field: string, given: string | null): Promise<SessionId | null | Refusal> =>
    findSpeaker(parts, asker, field, given)
  return {
    who,
    as: (other) => openGate(parts, { ...asker, who: other }),
    async find(idOrPart) {
      const found = await findAny(idOrPart)
      if (isRefusal(found) || (await sees(runtime.store, who, found.id))) return found
      return refuseAsker(who, `see session ${found.id}`)
    },
    findAny,
    sees: (session) => sees(runtime.store, who, session),
    sender: () => findSender(parts, who),
    speaker,
    async actor(field, given) {
      if (who.kind === 'turn' && given === null) return who
      const session = await speaker(field, given)
      if (session !== null && typeof session === 'object') return session
      return { kind: 'session', session: session ?? (await place()).session }
    },
    isOwn: async (session) =>
      who.kind === 'user' && asker.client !== null && (await nameClient(asker.client)) === session,
    addressInbox: async (given) =>
      who.kind === 'user' && given === null && asker.client !== null ? (await place()).inbox : null,
    async admit(tool, fields) {
      if (who.kind === 'user') return fields
      const actor = await findActor(parts, who)
      if (!isRefusal(actor)) return admitActor(parts, actor, tool, fields)
      const resting = await findResting(parts, who)
      return resting === null ? actor : admitActor(parts, resting, tool, fields)
    },
  }
}

/** A session that has no turn now may still look into its inbox: its agent's tools decide, as in a turn. */
async function findResting({ runtime }: DeskParts, who: Who): Promise<Actor | null> {
  const session = who.kind === 'session' ? await runtime.store.session(who.session) : null
  const agent = session === null || session.archived === 'deleted' ? null : findAgent(runtime, session)
  return session === null || agent == null ? null : { kind: 'client', session, agent }
}

/** For what leaves the session at once: a default may keep drafts, but a lock that does is in the way. */
export async function admitNow(gate: Gate, fields: object): Promise<object | Refusal> {
  const asked: object = await gate.admit('send-message', fields)
  return !isRefusal(asked) && 'draft' in asked && asked.draft === true
    ? gate.admit('send-message', { ...fields, draft: false })
    : asked
}

export async function findActor(parts: DeskParts, who: Who): Promise<Actor | Refusal> {
  if (who.kind === 'user') return badInput('from', undefined, 'the session that asks')
  const session = who.kind === 'session' ? await parts.runtime.store.session(who.session) : null
  if (who.kind === 'session' && (session === null || session.archived === 'deleted'))
    return { code: 'session_unknown', session: who.session }
  return resolveActor(parts.runtime, who, session)
}

async function findSender(parts: DeskParts, who: Who): Promise<Sender | Refusal> {
  if (who.kind === 'user') return { kind: 'user' }
  const actor = await findActor(parts, who)
  if (isRefusal(actor) || actor.kind === 'turn') return actor
  return { kind: 'client', session: actor.session.id, agent: actor.agent }
}

/** Where no turn acts, no flow holds anything against it. */
const noFlow: SendFacts = {
  sender: null,
  target: { session: null, running: null, runnerAlive: false, queued: 0, next: null },
  callback: false,
  descendants: 0,
  messagesLastMinute: 0,
  oldestMessageAt: null,
  flowStartedAt: 0,
}

/**
 * A program between its turns needs the same leave as in one. A turn is judged in the transaction that opens
 * the session, where its facts are.
 */
export function refuseOpening(runtime: Runtime, sender: Sender, agent: Agent | undefined): Refusal | null {
  if (sender.kind !== 'client' || agent === undefined) return null
  return openSession(
    { targetAgent: agent },
    agent.name,
    noFlow,
    readWorld(runtime, sender, runtime.clock.now()),
  )
}

/**
 * Without tokens there is no proof, so a name is believed only where somebody can be behind it: a session with
 * a live turn, or a client outside.
 */
async function findSpeaker(
  { runtime }: DeskParts,
  { who, open }: Asker,
  field: string,
  given: string | null,
): Promise<SessionId | null | Refusal> {
  if (who.kind === 'turn') return refuseAsker(who, `name another session (${field})`)
  if (given === null) return who.kind === 'session' ? who.session : null
  const found = await findSession(runtime, given)
  if (isRefusal(found)) return found
  if (who.kind === 'session')
    return found.id === who.session
      ? found.id
      : notAs(`The token of session ${who.session}`, `act as ${found.id} (${field})`, `${field} left out`)
  if (!open)
    return notAs(
      'The token of the server',
      `act as session ${found.id} (${field})`,
      'the token of that session',
    )
  if (found.kind === 'external') return found.id
  const state = await readState(runtime, found.id)
  return !isRefusal(state) && state.isActive
    ? found.id
    : notAs(
        'A request without a token',
        `act as session ${found.id} (${field}), which has no live turn and is not external`,
        'a session that is running now',
      )
}

const notAs = (agent: string, what: string, allowed: string): Refusal => ({
  code: 'not_allowed',
  agent,
  what,
  allowed: [allowed],
})

/** Where it acts: its project decides about its tools. */
export const actorDirectory = (actor: Actor): string =>
  actor.kind === 'turn' ? actor.running.session.cwd : actor.session.cwd

export function isOffered({ runtime }: DeskParts, actor: Actor, tool: Tool): boolean {
  if (actor.kind !== 'turn') return offersToClient(tool, actor.agent, runtime.subagent)
  const { row, agent } = actor.running
  return tool.disabled === undefined && mayUse(row.grant.authority, agent.tools, tool.name)
}

/** A tool by its name, and why the actor may not use it. */
export function findTool(
  server: DeskParts,
  actor: Actor,
  name: string,
): { tool: Tool; no: Refusal | null } | { tool: undefined; no: Refusal } {
  const parts = partsIn(server, actorDirectory(actor))
  const tool = parts.doorTools.find((one) => one.name === name)
  if (tool !== undefined && isOffered(parts, actor, tool)) return { tool, no: null }
  const why =
    tool?.disabled ??
    (name === 'subagent'
      ? 'no agent is configured for it; set [subagent] agent'
      : 'only agents that Tieline runs have it')
  return { tool, no: { code: 'tool_disabled', tool: name, why } }
}

function admitActor<T extends object>(parts: DeskParts, actor: Actor, name: string, fields: T): T | Refusal {
  const { tool, no } = findTool(parts, actor, name)
  if (no !== null) return no
  const agent = actor.kind === 'turn' ? actor.running.agent : actor.agent
  // A question belongs to a turn: the agent's own tool asks it, and waits for the answer.
  if (agent.ask.includes(name))
    return { code: 'tool_disabled', tool: name, why: `a person is asked first: use the tool ${name} itself` }
  const settled = tool?.settle?.(fields as Json) ?? { input: fields as Json }
  return isRefusal(settled) ? settled : (settled.input as T)
}
