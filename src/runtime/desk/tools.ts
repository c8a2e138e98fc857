/** Tools by name, as anybody may use them. */
import { resolveAgent } from '../kernel/projects-port.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import { refuseAgent } from '../kernel/refuse-agent.ts'
import type { Recorded, Tools, TracedTool, ToolSpec } from '../../wire/tools.ts'
import type { ToolAnswer, Acts, ToolContext, TurnContext } from '../kernel/ports.ts'
import { traceTool } from '../sessions/trace-tool.ts'
import { type Asker, type Who, toUse } from './asker.ts'
import { actorDirectory, type Gate, findActor, findTool, isOffered, refuseOpening } from './gate.ts'
import { findDirectory, partsIn, type DeskParts } from './parts.ts'
import type { Sender } from '../mail/sender.ts'
import { externalAgent } from '../../model/agent.ts'
import { listCallableAgents } from '../look/callable-agents.ts'
import { readOutput, steerOwn, waitAsClient } from '../sessions/acts.ts'
import { listCallable } from '../turns/callable.ts'
import type { Actor, Client } from '../sessions/actor.ts'
import { actInOwnTurn, type ToolUse } from '../sessions/client-turn.ts'
import type { Runtime } from '../sessions/runtime.ts'
import { useInTurn } from '../sessions/live-turn.ts'
import { createMailActs } from '../mail/mail-acts.ts'
import type { Running } from '../kernel/running.ts'
import { newSession } from '../kernel/new-session.ts'
import { sendTo, spawn, stateNamed } from '../sessions/session-acts.ts'
import { untilResting } from '../look/state.ts'
import { refusedAnswer } from '../turns/run-tool.ts'
import { listForClients, restingTurn } from './client-tools.ts'

export type ToolDesk = {
  /** What the asker is offered, or what any session of an agent is. */
  list(ask?: { session?: string | undefined; agent?: string | undefined }): Promise<Tools | Refusal>
  /** Blocks until the tool has answered. What a rule does not allow is an answer in the tool's own shape. */
  use(name: string, input: Json, ask?: { session?: string | undefined }): Promise<ToolAnswer | Refusal>
  /** Records what a program outside did with a tool of its own. */
  trace(session: string, traced: TracedTool): Promise<Recorded | Refusal>
  /** As whom the asker uses tools. */
  actor(session?: string): Promise<Exclude<Who, { kind: 'user' }> | Refusal>
}

export const toolDesk = (parts: DeskParts, asker: Asker, gate: Gate): ToolDesk => ({
  async list({ session, agent } = {}) {
    const who = agent === undefined ? await gate.actor('session', session ?? null) : asker.who
    const tools = isRefusal(who) ? who : await listTools(parts, { ...asker, who }, agent)
    return isRefusal(tools) ? tools : { tools }
  },
  async use(name, input, { session } = {}) {
    const who = await gate.actor('session', session ?? null)
    if (isRefusal(who)) return who
    return useTool(parts, { ...asker, who }, name, input, await gate.addressInbox(session ?? null))
  },
  async trace(session, traced) {
    const row = await gate.find(session)
    return isRefusal(row) ? row : traceTool(parts.runtime, row.id as SessionId, traced)
  },
  actor: (session) => gate.actor('session', session ?? null),
})

// Tools at a door: which an asker is offered, and one use of one.

/** A session that is not there yet: what its tools say of themselves holds for all sessions of its agent. */
function imagineSession({ runtime }: DeskParts, cwd: string, name: string): Actor | Refusal {
  const agent = resolveAgent(runtime.agents, name)
  if (agent === undefined) return refuseAgent(runtime.agents, name)
  return {
    kind: 'client',
    agent,
    session: newSession(
      { agent: agent.name, cwd },
      'the one that you are in' as SessionId,
      runtime.clock.now(),
    ),
  }
}

/**
 * The tools that a door offers to `who`, described as for anybody like it; with an agent, those that any session
 * of it has.
 */
async function listTools(server: DeskParts, asker: Asker, agent?: string): Promise<ToolSpec[] | Refusal> {
  const cwd = await findDirectory(server, asker)
  const parts = partsIn(server, cwd)
  if (agent === externalAgent.name) return listForClients(parts.doorTools, parts.runtime.subagent)
  const actor = agent === undefined ? await findActor(parts, asker.who) : imagineSession(parts, cwd, agent)
  if (isRefusal(actor)) return actor
  const context =
    actor.kind === 'turn' ? buildContext(parts.runtime, actor.running) : clientContext(parts.runtime, actor)
  return parts.doorTools
    .filter((tool) => isOffered(parts, actor, tool))
    .map((tool) => tool.describe({ ...context, atDoor: true }))
}

/**
 * A tool that only reads needs no turn of its own. What calls has one, so that it has a place in a flow and a
 * record; so has what waits, where others could wait for the one who waits; and what a person is asked about.
 */
async function useTool(
  server: DeskParts,
  asker: Asker,
  name: string,
  input: Json,
  address: SessionId | null = null,
): Promise<ToolAnswer | Refusal> {
  const use = toUse(asker)
  const actor = await findActor(server, asker.who)
  if (isRefusal(actor)) return actor
  const parts = partsIn(server, actorDirectory(actor))
  const { runtime } = parts
  if (actor.kind === 'turn') return useInTurn(runtime, actor.running, { tool: name, input }, use)
  const { tool, no } = findTool(parts, actor, name)
  if (tool === undefined) return refusedAnswer(no)
  const waits = tool.waits === true && actor.session.kind !== 'external'
  if (tool.effect === 'call' || (no === null && (waits || actor.agent.ask.includes(name))))
    return actInOwnTurn(runtime, actor, { tool: name, input }, use, no)
  const context: ToolContext = {
    ...clientContext(runtime, actor),
    signal: use.signal,
    acts: clientActs(runtime, actor, use, address),
    stepKey: use.id ?? runtime.ids.next(),
    shownTokens: runtime.limits.resultShownTokens,
  }
  // A refusal in the tool's own shape, where it has one.
  return no === null ? tool.run(input, context) : (tool.refuse?.(no, input, context) ?? refusedAnswer(no))
}

const buildContext = (runtime: Runtime, running: Running): TurnContext => ({
  turn: running.row,
  session: running.session,
  agent: running.agent,
  callable: listCallable(runtime, running.agent),
})

const clientContext = (runtime: Runtime, { session, agent }: Client): TurnContext => ({
  turn: restingTurn(session.id, agent.name),
  session,
  agent,
  callable: listCallable(runtime, agent),
})

const needsTurn = (): Promise<never> => Promise.reject(new Error('a call is made in a turn'))

/** `address` is the inbox of the address at which a person's own client works. */
function clientActs(runtime: Runtime, client: Client, use: ToolUse, address: SessionId | null): Acts {
  const { session, agent } = client
  const { signal } = use
  const sender: Sender = { kind: 'client', session: session.id, agent }
  return {
    call: needsTurn,
    refuse: needsTurn,
    waitForCall: (call, timeoutMs) => waitAsClient(runtime, session.id, call, timeoutMs, signal),
    readOutput: (call, offset, limit) => readOutput(runtime, session.id, call, offset, limit),
    listAgents: async (callable, query) => listCallableAgents(runtime, callable, query),
    steer: (call, text) => steerOwn(runtime, session.id, call, text, use.id),
    send: (to, text) => sendTo(runtime, sender, to, text, use.id),
    spawn: (request) => spawnFor(runtime, client, sender, request, use.id),
    ...createMailActs(
      runtime,
      session,
      { sender, session, trace: use.trace, cwd: session.cwd },
      { session: session.id, running: null, address },
      () => use.id,
      signal,
    ),
    state: (id) => stateNamed(runtime, id),
    async waitForSession(id, timeoutMs) {
      const state = await stateNamed(runtime, id)
      return isRefusal(state) ? state : untilResting(runtime, state.sessionId, timeoutMs, signal)
    },
  }
}

/** A client outside has no definition of its own to spawn: the first agent stands in. */
async function spawnFor(
  runtime: Runtime,
  { session }: Client,
  sender: Sender,
  request: Parameters<Acts['spawn']>[0],
  id: string | null,
): ReturnType<Acts['spawn']> {
  const name = request.agent ?? (session.kind === 'external' ? runtime.agents.names()[0] : session.agent)
  if (name === undefined) return { code: 'agent_unknown', agent: '', known: [] }
  const agent = resolveAgent(runtime.agents, name)
  return (
    refuseOpening(runtime, sender, agent) ?? spawn(runtime, sender, session, { ...request, agent: name }, id)
  )
}
