/** Tools at a door: which an asker is offered, and one use of one. */
import type { Sender } from '../mail/sender.ts'
import { fullAuthority } from '../../model/authority.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { agentUnknown, isRefusal, type Refusal } from '../../model/refusal.ts'
import type { ToolSpec } from '../../wire/tools.ts'
import { readOutput, waitAsClient } from '../sessions/acts.ts'
import { listCallable } from '../turns/callable.ts'
import { type Actor, type Client } from '../sessions/actor.ts'
import { inOwnTurn, useInOwnTurn, type ToolUse } from '../sessions/client-turn.ts'
import type { Runtime } from '../kernel/runtime.ts'
import { useInTurn } from '../sessions/live-turn.ts'
import { createMailActs } from '../mail/mail-acts.ts'
import type { Acts, ToolAnswer, ToolContext, TurnContext } from '../kernel/ports.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { newSession } from '../kernel/new-session.ts'
import { sendTo, spawn, stateNamed } from '../sessions/session-acts.ts'
import { untilResting } from '../look/state.ts'
import { refusedAnswer } from '../turns/run-tool.ts'
import type { Asker, Who } from './asker.ts'
import { findActor, isOffered, notOffered, refuseOpening } from './gate.ts'
import type { DeskParts } from './parts.ts'

/** A session that is not there yet: what its tools say of themselves holds for all sessions of its agent. */
function imagineSession({ runtime, book, cwd }: DeskParts, name: string): Actor | Refusal {
  const agent = book.resolve?.(name)
  if (agent === undefined) return agentUnknown(name, book.names())
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

/** The tools that a door offers to `who`, described for it; with an agent, those that any session of it has. */
export async function listTools(parts: DeskParts, who: Who, agent?: string): Promise<ToolSpec[] | Refusal> {
  const actor = agent === undefined ? await findActor(parts, who) : imagineSession(parts, agent)
  if (isRefusal(actor)) return actor
  const context =
    actor.kind === 'turn' ? buildContext(parts.runtime, actor.running) : clientContext(parts.runtime, actor)
  return parts.doorTools.filter((tool) => isOffered(parts, actor, tool)).map((tool) => tool.describe(context))
}

/**
 * A tool that only reads needs no turn of its own. What calls has one, so that it has a place in a flow and a
 * record; so has what waits, where others could wait for the one who waits; and what a person is asked about.
 */
export async function useTool(
  parts: DeskParts,
  asker: Asker,
  name: string,
  input: Json,
): Promise<ToolAnswer | Refusal> {
  const { runtime } = parts
  const use: ToolUse = { signal: asker.signal, id: asker.act, trace: asker.trace }
  const actor = await findActor(parts, asker.who)
  if (isRefusal(actor)) return actor
  if (actor.kind === 'turn') return useInTurn(runtime, actor.running, name, input, use)
  const tool = parts.doorTools.find((one) => one.name === name)
  if (tool === undefined || !isOffered(parts, actor, tool)) return refuseHere(parts, name, input, actor, use)
  const waits = tool.waits === true && actor.session.kind !== 'external'
  if (tool.effect === 'call' || waits || actor.agent.ask.includes(name))
    return useInOwnTurn(runtime, actor, name, input, use)
  return tool.run(input, {
    ...clientContext(runtime, actor),
    signal: use.signal,
    acts: clientActs(runtime, actor, use),
    stepKey: use.id ?? runtime.ids.next(),
    shownTokens: runtime.limits.resultShownTokens,
  })
}

/**
 * In its own shape where there is such a tool at all; a call that was not allowed is on record, like any
 * other.
 */
async function refuseHere(
  { runtime, doorTools }: DeskParts,
  name: string,
  input: Json,
  client: Client,
  use: ToolUse,
): Promise<ToolAnswer | Refusal> {
  const tool = doorTools.find((one) => one.name === name)
  const refusal = notOffered(tool, name)
  if (tool?.refuse === undefined) return refusedAnswer(refusal)
  const refuse = (more: Pick<ToolContext, 'acts' | 'stepKey'> & Partial<ToolContext>): Promise<ToolAnswer> =>
    tool.refuse?.(refusal, input, { ...context, ...more }) ?? Promise.resolve(refusedAnswer(refusal))
  const context = {
    ...clientContext(runtime, client),
    signal: use.signal,
    shownTokens: runtime.limits.resultShownTokens,
  }
  if (tool.effect !== 'call') return refuse({ acts: clientActs(runtime, client, use), stepKey: '' })
  return inOwnTurn(runtime, client, { tool: name, input }, use, async (turn) => {
    const running = runtime.running.get(turn)
    return running === undefined
      ? refusedAnswer(refusal)
      : refuse({ turn: running.row, acts: running.acts, stepKey: makeStepKey('tool', name, input) })
  })
}

const buildContext = (runtime: Runtime, running: Running): TurnContext => ({
  turn: running.row,
  session: running.session,
  agent: running.agent,
  callable: listCallable(runtime, running.agent),
})

/** A client between its turns: nothing of this row is stored. */
function clientContext(runtime: Runtime, { session, agent }: Client): TurnContext {
  const turn: TurnRow = {
    id: 'turn_none',
    session: session.id,
    flow: 'flow_none',
    state: 'ended',
    call: null,
    node: null,
    epoch: 0,
    deadline: 0,
    stopping: null,
    openedAt: 0,
    openedSeq: 0,
    endedSeq: null,
    tokensUsed: 0,
    tokensBelow: 0,
    grant: {
      agent: agent.name,
      depth: 0,
      subagentDepth: 0,
      path: [],
      authority: fullAuthority,
      tokensMax: null,
      maxIterations: 1,
    },
  }
  return { turn, session, agent, callable: listCallable(runtime, agent) }
}

const needsTurn = (): Promise<never> => Promise.reject(new Error('a call is made in a turn'))

function clientActs(runtime: Runtime, client: Client, use: ToolUse): Acts {
  const { session, agent } = client
  const { signal } = use
  const sender: Sender = { kind: 'client', session: session.id, agent }
  return {
    call: needsTurn,
    refuse: needsTurn,
    waitForCall: (call, timeoutMs) => waitAsClient(runtime, session.id, call, timeoutMs, signal),
    readOutput: (call, offset, limit) => readOutput(runtime, session.id, call, offset, limit),
    send: (to, text) => sendTo(runtime, sender, to, text, use.id),
    spawn: (request) => spawnFor(runtime, client, sender, request, use.id),
    ...createMailActs(
      runtime,
      session,
      { sender, session, trace: use.trace, cwd: session.cwd },
      { session: session.id, running: null },
      () => use.id,
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
  const agent = runtime.agents.resolve?.(name) ?? runtime.agents.get(name)
  return (
    refuseOpening(runtime, sender, agent) ?? spawn(runtime, sender, session, { ...request, agent: name }, id)
  )
}
