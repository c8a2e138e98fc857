/** A call that every rule permits, to be broken one rule at a time. */
import { Agent } from '../../src/model/agent.ts'
import { fullAuthority } from '../../src/model/authority.ts'
import type { OpenRequest, OpenWorld } from '../../src/model/call.ts'
import type { OpenFacts, SessionRow, TurnRow } from '../../src/model/facts.ts'
import { limitsDefault } from '../../src/model/limits.ts'
import { nothingSpent } from '../../src/model/money.ts'
import { openCall, type OpenDecision } from '../../src/model/call.ts'
import type { Grant } from '../../src/model/event.ts'
import { isRefusal, type Refusal, type RefusalCode } from '../../src/model/refusal.ts'

export type Case = { request: OpenRequest; facts: OpenFacts; world: OpenWorld }

export const sessionRow = (more: Partial<SessionRow> = {}): SessionRow => ({
  id: 'ses_caller',
  agent: 'caller',
  kind: 'ephemeral',
  parent: null,
  cwd: '/',
  title: '',
  model: null,
  createdAt: 0,
  archived: false,
  entries: 0,
  summary: null,
  summaryEntries: 0,
  ...more,
})

export const turnRow = (more: Partial<TurnRow> = {}): TurnRow => ({
  id: 'turn_caller',
  session: 'ses_caller',
  flow: 'flow_1',
  state: 'running',
  call: {
    id: 'call_caller',
    caller: 'ses_root',
    callerTurn: 'turn_root',
    pending: true,
    outcome: null,
    background: false,
    deadline: 1_100_000,
    key: 'k',
  },
  grant: {
    agent: 'caller',
    depth: 1,
    subagentDepth: 0,
    path: [
      { session: 'ses_root', agent: 'root' },
      { session: 'ses_caller', agent: 'caller' },
    ],
    authority: fullAuthority,
    tokensMax: 10_000,
    maxIterations: 16,
  },
  node: 'node_1',
  epoch: 1,
  deadline: 1_200_000,
  stopping: null,
  openedAt: 0,
  openedSeq: 1,
  endedSeq: null,
  tokensUsed: 1000,
  tokensBelow: 2000,
  spent: nothingSpent,
  nanoUsdBelow: 0,
  ...more,
})

/** `call_agent` to a persistent session, from a turn that was itself called. */
export function permitted(): Case {
  return {
    request: {
      tool: 'call_agent',
      targetName: 'target',
      bySession: false,
      targetAgent: Agent.parse({ name: 'target' }),
      session: 'ses_target',
      fresh: false,
      task: 'a smaller part',
      taskHash: 'smaller',
      allowedTools: null,
      nested: true,
      timeoutMs: 30_000,
      maxIterations: undefined,
      maxTokens: 500,
      background: false,
      context: { tokens: 100 },
    },
    facts: {
      caller: { turn: turnRow(), session: sessionRow() },
      openCalls: 9,
      descendants: 99,
      callsLastMinute: 119,
      oldestCallAt: 990_000,
      target: {
        session: sessionRow({ id: 'ses_target', agent: 'target', kind: 'persistent' }),
        queued: 99,
        waitPath: null,
      },
    },
    world: {
      callerAgent: Agent.parse({ name: 'caller', allowSubAgentCalls: true }),
      knownAgents: ['caller', 'target'],
      limits: limitsDefault,
      now: 1_000_000,
      callerTaskHash: 'whole',
    },
  }
}

export const withTurn = (one: Case, more: Partial<TurnRow>): Case => ({
  ...one,
  facts: { ...one.facts, caller: { ...one.facts.caller, turn: { ...one.facts.caller.turn, ...more } } },
})
export const withGrant = (one: Case, more: Partial<TurnRow['grant']>): Case =>
  withTurn(one, { grant: { ...one.facts.caller.turn.grant, ...more } })
export const withRequest = (one: Case, more: Partial<OpenRequest>): Case => ({
  ...one,
  request: { ...one.request, ...more },
})
export const withFacts = (one: Case, more: Partial<OpenFacts>): Case => ({
  ...one,
  facts: { ...one.facts, ...more },
})
export const withTarget = (one: Case, more: Partial<NonNullable<OpenFacts['target']>>): Case =>
  withFacts(one, { target: { session: null, queued: 0, waitPath: null, ...one.facts.target, ...more } })
export const withAgent = (one: Case, more: Partial<Agent>): Case => ({
  ...one,
  world: { ...one.world, callerAgent: { ...one.world.callerAgent, ...more } },
})

export const decide = ({ request, facts, world }: Case): OpenDecision => openCall(request, facts, world)
export const codeOf = (decision: OpenDecision): RefusalCode | 'granted' =>
  isRefusal(decision) ? decision.code : 'granted'

export function granted(one: Case): { grant: Grant; deadline: number } {
  const decision = decide(one)
  if (isRefusal(decision)) throw new Error(`refused: ${JSON.stringify(decision)}`)
  return decision
}
export function refusal(one: Case): Refusal {
  const decision = decide(one)
  if (!isRefusal(decision)) throw new Error('granted')
  return decision
}
