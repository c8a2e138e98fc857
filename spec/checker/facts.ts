/**
 * What `src/model` decides over, built from the abstract state as `src/store/facts.ts` reads it from the
 * tables.
 */
import { Agent } from '../../src/model/agent.ts'
import { fullAuthority } from '../../src/model/authority.ts'
import type { OpenRequest, OpenWorld } from '../../src/model/call.ts'
import type { Grant } from '../../src/model/event.ts'
import type { BelowRow, Hop, OpenFacts, SessionRow, TurnFacts, TurnRow } from '../../src/model/facts.ts'
import type { NodeId, SessionId, TurnId } from '../../src/model/id.ts'
import { limitsDefault, type Limits } from '../../src/model/limits.ts'
import {
  idsOf,
  names,
  rootOf,
  rowOf,
  sessionOf,
  type Kind,
  type Options,
  type Row,
  type State,
} from './state.ts'

/** Deadlines come when the model says so, never by the clock. */
export const farMs = 1_000_000
export const nowMs = 1000

export const turnId = (turn: number): TurnId => `turn_${turn}`
export const turnNumber = (id: string): number => Number(id.slice(id.indexOf('_') + 1))
export const sessionId = (session: string): SessionId => `ses_${session}`
export const nodeId = (node: string): NodeId => `node_${node}`

export const limitsOf = (options: Options): Limits => ({ ...limitsDefault, depthMax: options.depthMax })

const agents = new Map(
  names('a', 9).map((name) => [
    name,
    Agent.parse({ name, allowSubAgentCalls: true, tools: ['*'], maxDepth: 64 }),
  ]),
)
const agentOf = (name: string): Agent => {
  const agent = agents.get(name)
  if (agent === undefined) throw new Error(`there is no agent ${name}`)
  return agent
}

const agentOfRow = (row: Row): string => row.path.at(-1) ?? ''

export const sessionRow = (state: State, turn: number): SessionRow =>
  sessionRowOf(sessionOf(state, turn), agentOfRow(rowOf(state, turn)))

const sessionRowOf = (session: string, agent: string): SessionRow => ({
  id: sessionId(session),
  agent,
  kind: session === agent ? 'persistent' : 'ephemeral',
  parent: null,
  cwd: '/',
  title: '',
  model: null,
  createdAt: 0,
  archived: false,
  entries: 0,
  summary: null,
  summaryEntries: 0,
})

/** The hops of a path: every session on it, root first. */
function hopsOf(state: State, turn: number): Hop[] {
  const row = rowOf(state, turn)
  const above = row.par === 0 ? [] : hopsOf(state, row.par)
  return [...above, { session: sessionId(sessionOf(state, turn)), agent: agentOfRow(row) }]
}

export const grantOf = (options: Options, state: State, turn: number): Grant => ({
  agent: agentOfRow(rowOf(state, turn)),
  depth: rowOf(state, turn).path.length - 1,
  subagentDepth: 0,
  path: hopsOf(state, turn),
  authority: fullAuthority,
  tokensMax: options.budget === 0 ? null : rowOf(state, turn).max,
  maxIterations: 16,
})

export function turnRow(options: Options, state: State, turn: number): TurnRow {
  const row = rowOf(state, turn)
  return {
    id: turnId(turn),
    session: sessionId(sessionOf(state, turn)),
    flow: `flow_${rootOf(state, turn)}`,
    state: row.st,
    call:
      row.par === 0
        ? null
        : {
            id: `call_${turn}`,
            caller: sessionId(sessionOf(state, row.par)),
            callerTurn: turnId(row.par),
            pending: row.call === 'pending',
            outcome: row.call === 'pending' || row.call === 'none' ? null : row.call,
            background: row.bg,
            deadline: farMs,
            key: String(row.key),
          },
    grant: grantOf(options, state, turn),
    node: row.node === null ? null : nodeId(row.node),
    epoch: row.epoch,
    deadline: farMs,
    stopping: row.stop === 'no' ? null : row.stop,
    openedAt: 0,
    openedSeq: turn,
    endedSeq: null,
    tokensUsed: row.used,
    tokensBelow: row.below,
  }
}

export const turnFacts = (options: Options, state: State, turn: number): TurnFacts => ({
  turn: turnRow(options, state, turn),
  session: sessionRow(state, turn),
})

/** Pending calls below a turn, all levels, through pending calls only. */
export function belowTurn(state: State, turn: number): number[] {
  const found: number[] = []
  for (const id of idsOf(state)) {
    const row = rowOf(state, id)
    if (row.call === 'pending' && (row.par === turn || found.includes(row.par))) found.push(id)
  }
  return found
}

export const belowFacts = (options: Options, state: State, turn: number): BelowRow[] =>
  belowTurn(state, turn).map((id) => ({
    turn: turnRow(options, state, id),
    sessionKind: rowOf(state, id).ses === null ? 'ephemeral' : 'persistent',
  }))

/** Whom a session waits for: `blocking` says which pending calls count, `rows` adds the recorded waits. */
export function waitsFor(
  state: State,
  session: string,
  blocking: (turn: number, row: Row) => boolean,
  rows: readonly number[],
): string[] {
  const calls = idsOf(state).filter((id) => {
    const row = rowOf(state, id)
    return row.call === 'pending' && blocking(id, row) && sessionOf(state, row.par) === session
  })
  const recorded = rows.filter((id) => sessionOf(state, rowOf(state, id).par) === session)
  return [...new Set([...calls, ...recorded].map((id) => sessionOf(state, id)))]
}

/** Sessions from `from` to `to` along recorded waits; null if none. */
export function waitPath(state: State, from: string, to: string): string[] | null {
  const via = new Map<string, string | null>([[from, null]])
  for (const at of via.keys())
    for (const next of waitsFor(state, at, (_, row) => !row.bg, state.waits))
      if (!via.has(next)) via.set(next, at)
  if (!via.has(to)) return null
  const path: string[] = []
  for (let at: string | null = to; at !== null; at = via.get(at) ?? null) path.unshift(at)
  return path
}

const hopOf = (state: State, session: string): Hop => {
  const turn = idsOf(state).find((id) => sessionOf(state, id) === session)
  return { session: sessionId(session), agent: turn === undefined ? session : agentOfRow(rowOf(state, turn)) }
}

export const openRequest = (turn: number, agent: string, kind: Kind, tokens: number): OpenRequest => ({
  tool: kind === 'kept' ? 'call_agent' : 'sub_agent',
  targetName: agent,
  bySession: false,
  targetAgent: agentOf(agent),
  session: sessionId(kind === 'kept' ? agent : `e${turn}`),
  fresh: kind !== 'kept',
  task: 'a part',
  taskHash: `task ${turn}`,
  allowedTools: null,
  nested: true,
  timeoutMs: 1000,
  maxIterations: undefined,
  maxTokens: tokens === 0 ? undefined : tokens,
  background: kind === 'background',
  context: { tokens: 0 },
})

export function openFacts(
  options: Options,
  state: State,
  caller: number,
  agent: string,
  kind: Kind,
): OpenFacts {
  const queued = idsOf(state).filter(
    (id) => rowOf(state, id).st === 'queued' && sessionOf(state, id) === agent,
  ).length
  const path = kind === 'kept' ? waitPath(state, agent, sessionOf(state, caller)) : null
  return {
    known: false,
    caller: turnFacts(options, state, caller),
    openCalls: 0,
    descendants: 0,
    callsLastMinute: 0,
    oldestCallAt: null,
    target:
      kind === 'kept'
        ? {
            session: sessionRowOf(agent, agent),
            queued,
            waitPath: path?.map((session) => hopOf(state, session)) ?? null,
          }
        : null,
  }
}

export const openWorld = (options: Options, state: State, caller: number): OpenWorld => ({
  callerAgent: agentOf(agentOfRow(rowOf(state, caller))),
  knownAgents: [...agents.keys()],
  limits: limitsOf(options),
  now: nowMs,
  callerTaskHash: `task ${caller}`,
})
