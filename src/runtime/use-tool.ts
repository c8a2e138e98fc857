/** Tools at a door: which a client may use, and one use of one. */
import type { Agent } from '../model/agent.ts'
import { fullAuthority, mayUse } from '../model/authority.ts'
import type { SessionRow, TurnRow } from '../model/facts.ts'
import type { SessionId } from '../model/id.ts'
import type { Json } from '../model/json.ts'
import { agentUnknown, type Refusal } from '../model/refusal.ts'
import { readOutput, waitAsClient } from './acts.ts'
import { callableOf } from './callable.ts'
import { actorOf, inOwnTurn, useInOwnTurn, type Actor, type Client } from './client-turn.ts'
import type { ToolUse, Who } from './exchange.ts'
import type { Line } from './line.ts'
import { useInTurn } from './live-turn.ts'
import { mailActsOf } from './mail-acts.ts'
import type { ExchangeParts } from './open-exchange.ts'
import type { Acts, Tool, ToolAnswer, ToolContext, ToolSpec, TurnContext } from './ports.ts'
import type { Running } from './running.ts'
import { keyOf } from './recorded.ts'
import { newSession } from './send.ts'
import { sendTo, spawn, stateNamed } from './session-acts.ts'
import { refusedAnswer } from './steps.ts'
import { untilResting } from './state.ts'

/**
 * Without a configured agent for it, `subagent` would run a client's own definition, and a client is never
 * run.
 */
const offered = ({ line, doorTools }: ExchangeParts, agent: Agent): readonly Tool[] =>
  doorTools.filter(
    (tool) =>
      tool.disabled === undefined &&
      (tool.name !== 'subagent' || line.subagent !== null) &&
      mayUse(fullAuthority, agent.tools, tool.name),
  )

async function placeOf({ line }: ExchangeParts, who: Who): Promise<Actor | Refusal> {
  if (who.kind === 'user')
    return { code: 'bad_input', field: 'from', given: 'nothing', expected: 'the session that asks' }
  const session = who.kind === 'session' ? await line.store.session(who.session) : null
  if (who.kind === 'session' && (session === null || session.archived === 'deleted'))
    return { code: 'session_unknown', session: who.session }
  return actorOf(line, who, session)
}

/** A session that is not there yet: what its tools say of themselves holds for all sessions of its agent. */
async function anySessionOf({ line, book, cwd }: ExchangeParts, name: string): Promise<Actor | Refusal> {
  const agent = book.resolve?.(name)
  if (agent === undefined) return agentUnknown(name, book.names())
  return {
    kind: 'client',
    agent,
    session: newSession({ agent: agent.name, cwd }, 'the one that you are in' as SessionId, line.clock.now()),
  }
}

export async function toolsFor(
  parts: ExchangeParts,
  who: Who,
  agent?: string,
): Promise<ToolSpec[] | Refusal> {
  const place = agent === undefined ? await placeOf(parts, who) : await anySessionOf(parts, agent)
  if ('code' in place) return place
  const context =
    place.kind === 'turn' ? contextOf(parts.line, place.running) : clientContext(parts.line, place)
  const tools =
    place.kind === 'client'
      ? offered(parts, place.agent)
      : parts.doorTools.filter(
          (tool) =>
            tool.disabled === undefined &&
            mayUse(place.running.row.grant.authority, place.running.agent.tools, tool.name),
        )
  return tools.map((tool) => tool.describe(context))
}

/**
 * A tool that only reads needs no turn of its own; what calls has one, so that it has a place in a flow and a
 * record, and what waits too, where somebody could wait for whoever waits.
 */
export async function useTool(
  parts: ExchangeParts,
  who: Who,
  name: string,
  input: Json,
  use: ToolUse,
): Promise<ToolAnswer | Refusal> {
  const place = await placeOf(parts, who)
  if ('code' in place) return place
  const { line } = parts
  if (place.kind === 'turn') return useInTurn(line, place.running, name, input, use)
  const tool = offered(parts, place.agent).find((one) => one.name === name)
  if (tool === undefined) return refusedHere(parts, name, input, place, use)
  if (tool.effect === 'call' || (tool.waits === true && place.session.kind !== 'external'))
    return useInOwnTurn(line, place, name, input, use)
  const stepKey = use.id ?? line.ids.next()
  return tool.run(input, {
    ...clientContext(line, place),
    signal: use.signal,
    acts: clientActs(line, place.session, use),
    stepKey,
    shownTokens: line.limits.resultShownTokens,
  })
}

/**
 * In its own shape where there is such a tool at all; a call that was not allowed is on record, like any
 * other.
 */
async function refusedHere(
  { line, doorTools }: ExchangeParts,
  name: string,
  input: Json,
  client: Client,
  use: ToolUse,
): Promise<ToolAnswer | Refusal> {
  const tool = doorTools.find((one) => one.name === name)
  const refusal: Refusal = {
    code: 'tool_disabled',
    tool: name,
    why:
      tool?.disabled ??
      (tool?.name === 'subagent'
        ? 'no agent is configured for it; set [subagent] agent'
        : 'it is not offered here'),
  }
  if (tool?.refuse === undefined) return refusedAnswer(refusal)
  const refuse = (more: Pick<ToolContext, 'acts' | 'stepKey'> & Partial<ToolContext>): Promise<ToolAnswer> =>
    tool.refuse?.(refusal, input, { ...context, ...more }) ?? Promise.resolve(refusedAnswer(refusal))
  const context = {
    ...clientContext(line, client),
    signal: use.signal,
    shownTokens: line.limits.resultShownTokens,
  }
  if (tool.effect !== 'call') return refuse({ acts: clientActs(line, client.session, use), stepKey: '' })
  return inOwnTurn(line, client, { tool: name, input }, use, async (turn) => {
    const running = line.running.get(turn)
    return running === undefined
      ? refusedAnswer(refusal)
      : refuse({ turn: running.row, acts: running.acts, stepKey: keyOf('tool', name, input) })
  })
}

const contextOf = (line: Line, running: Running): TurnContext => ({
  turn: running.row,
  session: running.session,
  agent: running.agent,
  callable: callableOf(line, running.agent),
})

/** A client between its turns: nothing of this row is stored. */
function clientContext(line: Line, { session, agent }: Client): TurnContext {
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
  return { turn, session, agent, callable: callableOf(line, agent) }
}

const needsTurn = (): Promise<never> => Promise.reject(new Error('a call is made in a turn'))

function clientActs(line: Line, session: SessionRow, use: ToolUse): Acts {
  const { signal } = use
  return {
    call: needsTurn,
    refuse: needsTurn,
    waitForCall: (call, timeoutMs) => waitAsClient(line, session.id, call, timeoutMs, signal),
    readOutput: (call, offset, limit) => readOutput(line, session.id, call, offset, limit),
    send: (to, text) => sendTo(line, { kind: 'client', session: session.id }, to, text, use.id),
    spawn: (request) => spawnFor(line, session, request, use.id),
    ...mailActsOf(
      line,
      session,
      { sender: { kind: 'client', session: session.id }, session, trace: use.trace, cwd: session.cwd },
      { session: session.id, running: null },
      () => use.id,
    ),
    state: (id) => stateNamed(line, id),
    async waitForSession(id, timeoutMs) {
      const state = await stateNamed(line, id)
      return 'code' in state ? state : untilResting(line, state.sessionId, timeoutMs, signal)
    },
  }
}

/** A client outside has no definition of its own to spawn: the first agent stands in. */
async function spawnFor(
  line: Line,
  session: SessionRow,
  request: Parameters<Acts['spawn']>[0],
  id: string | null,
): ReturnType<Acts['spawn']> {
  const agent = request.agent ?? (session.kind === 'external' ? line.agents.names()[0] : session.agent)
  if (agent === undefined) return { code: 'agent_unknown', agent: '', known: [] }
  return spawn(line, { kind: 'client', session: session.id }, session, { ...request, agent }, id)
}
