/**
 * What `src/model` decides over, built from the abstract state as `src/store/facts.ts` reads it from the
 * tables.
 */
import { nothingSpent } from '../../src/model/money.ts'
import { Agent } from '../../src/model/agent.ts'
import { fullAuthority } from '../../src/model/authority.ts'
import type { OpenRequest, OpenWorld } from '../../src/model/call.ts'
import type { Grant } from '../../src/model/event.ts'
import type { BelowRow, Hop, OpenFacts, SessionRow, TurnFacts, TurnRow } from '../../src/model/facts.ts'
import type { NodeId, SessionId, TurnId } from '../../src/model/id.ts'
import { limitsDefault, type Limits } from '../../src/model/limits.ts'
import {
  listTurns,
  makeNames,
  findRoot,
  getRow,
  getSession,
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

export const makeLimits = (options: Options): Limits => ({ ...limitsDefault, depthMax: options.depthMax })

const agents = new Map(
  makeNames('a', 9).map((name) => [
    name,
    Agent.parse({ name, allowSubAgentCalls: true, tools: ['*'], maxDepth: 64 }),
  ]),
)
const getAgent = (name: string): Agent => {
  const agent = agents.get(name)
  if (agent === undefined) throw new Error(`there is no agent ${name}`)
  return agent
}

const getRowAgent = (row: Row): string => row.path.at(-1) ?? ''

export const sessionRow = (state: State, turn: number): SessionRow =>
  makeSessionRow(getSession(state, turn), getRowAgent(getRow(state, turn)))

const makeSessionRow = (session: string, agent: string): SessionRow => ({
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
function listHops(state: State, turn: number): Hop[] {
  const row = getRow(state, turn)
  const above = row.par === 0 ? [] : listHops(state, row.par)
  return [...above, { session: sessionId(getSession(state, turn)), agent: getRowAgent(row) }]
}

export const makeGrant = (options: Options, state: State, turn: number): Grant => ({
  agent: getRowAgent(getRow(state, turn)),
  depth: getRow(state, turn).path.length - 1,
  subagentDepth: 0,
  path: listHops(state, turn),
  authority: fullAuthority,
  tokensMax: options.budget === 0 ? null : getRow(state, turn).max,
  maxIterations: 16,
})

export function turnRow(options: Options, state: State, turn: number): TurnRow {
  const row = getRow(state, turn)
  return {
    id: turnId(turn),
    session: sessionId(getSession(state, turn)),
    flow: `flow_${findRoot(state, turn)}`,
    state: row.st,
    call:
      row.par === 0
        ? null
        : {
            id: `call_${turn}`,
            caller: sessionId(getSession(state, row.par)),
            callerTurn: turnId(row.par),
            pending: row.call === 'pending',
            outcome: row.call === 'pending' || row.call === 'none' ? null : row.call,
            background: row.bg,
            deadline: farMs,
            key: String(row.key),
          },
    grant: makeGrant(options, state, turn),
    node: row.node === null ? null : nodeId(row.node),
    epoch: row.epoch,
    deadline: farMs,
    stopping: row.stop === 'no' ? null : row.stop,
    openedAt: 0,
    openedSeq: turn,
    endedSeq: null,
    tokensUsed: row.used,
    tokensBelow: row.below,
    spent: nothingSpent,
    nanoUsdBelow: 0,
  }
}

export const turnFacts = (options: Options, state: State, turn: number): TurnFacts => ({
  turn: turnRow(options, state, turn),
  session: sessionRow(state, turn),
})

/** Pending calls below a turn, all levels, through pending calls only. */
export function belowTurn(state: State, turn: number): number[] {
  const found: number[] = []
  for (const id of listTurns(state)) {
    const row = getRow(state, id)
    if (row.call === 'pending' && (row.par === turn || found.includes(row.par))) found.push(id)
  }
  return found
}

export const belowFacts = (options: Options, state: State, turn: number): BelowRow[] =>
  belowTurn(state, turn).map((id) => ({
    turn: turnRow(options, state, id),
    sessionKind: getRow(state, id).ses === null ? 'ephemeral' : 'persistent',
  }))

/** Whom a session waits for: `blocking` says which pending calls count, `rows` adds the recorded waits. */
export function waitsFor(
  state: State,
  session: string,
  blocking: (turn: number, row: Row) => boolean,
  rows: readonly number[],
): string[] {
  const calls = listTurns(state).filter((id) => {
    const row = getRow(state, id)
    return row.call === 'pending' && blocking(id, row) && getSession(state, row.par) === session
  })
  const recorded = rows.filter((id) => getSession(state, getRow(state, id).par) === session)
  return [...new Set([...calls, ...recorded].map((id) => getSession(state, id)))]
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

const makeHop = (state: State, session: string): Hop => {
  const turn = listTurns(state).find((id) => getSession(state, id) === session)
  return {
    session: sessionId(session),
    agent: turn === undefined ? session : getRowAgent(getRow(state, turn)),
  }
}

export const openRequest = (turn: number, agent: string, kind: Kind, tokens: number): OpenRequest => ({
  tool: kind === 'kept' ? 'call_agent' : 'sub_agent',
  targetName: agent,
  bySession: false,
  targetAgent: getAgent(agent),
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
  const queued = listTurns(state).filter(
    (id) => getRow(state, id).st === 'queued' && getSession(state, id) === agent,
  ).length
  const path = kind === 'kept' ? waitPath(state, agent, getSession(state, caller)) : null
  return {
    caller: turnFacts(options, state, caller),
    openCalls: 0,
    descendants: 0,
    callsLastMinute: 0,
    oldestCallAt: null,
    target:
      kind === 'kept'
        ? {
            session: makeSessionRow(agent, agent),
            queued,
            waitPath: path?.map((session) => makeHop(state, session)) ?? null,
          }
        : null,
  }
}

export const openWorld = (options: Options, state: State, caller: number): OpenWorld => ({
  callerAgent: getAgent(getRowAgent(getRow(state, caller))),
  knownAgents: [...agents.keys()],
  limits: makeLimits(options),
  now: nowMs,
  callerTaskHash: `task ${caller}`,
})
