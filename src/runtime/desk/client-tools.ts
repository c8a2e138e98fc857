/** What clients outside are told of the tools. It depends on the configuration and on nothing else. */
import { nothingSpent } from '../../model/money.ts'
import { externalAgent, type Agent } from '../../model/agent.ts'
import { fullAuthority, mayUse } from '../../model/authority.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { SessionId } from '../../model/id.ts'
import type { ToolSpec } from '../../wire/tools.ts'
import { newSession } from '../kernel/new-session.ts'
import type { Tool, TurnContext } from '../kernel/ports.ts'

/** Without a configured agent for it, `subagent` would run a client's own definition, and a client is never run. */
export const offersToClient = (tool: Tool, { tools }: Agent, subagent: string | null): boolean =>
  tool.disabled === undefined &&
  (tool.name !== 'subagent' || subagent !== null) &&
  mayUse(fullAuthority, tools, tool.name)

export function listForClients(doorTools: readonly Tool[], subagent: string | null): ToolSpec[] {
  const session = newSession({ agent: externalAgent.name, cwd: '/' }, 'ses_any' as SessionId, 0)
  const turn = restingTurn(session.id, externalAgent.name)
  const context: TurnContext = { turn, session, agent: externalAgent, callable: [], atDoor: true }
  return doorTools
    .filter((tool) => offersToClient(tool, externalAgent, subagent))
    .map((tool) => tool.describe(context))
}

/** A client between its turns: nothing of this row is stored. */
export const restingTurn = (session: SessionId, agent: string): TurnRow => ({
  id: 'turn_none',
  session,
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
  spent: nothingSpent,
  nanoUsdBelow: 0,
  grant: {
    agent,
    depth: 0,
    subagentDepth: 0,
    path: [],
    authority: fullAuthority,
    tokensMax: null,
    maxIterations: 1,
  },
})
