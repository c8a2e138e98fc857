/** How long calls and turns may take. Agents that we drive work for hours, not minutes. */
import { isDriven, type Agent } from './agent.ts'
import type { Limits } from './limits.ts'

/** `call_agent` and `subagent` keep their own limits, whoever is called. */
export const callMsMax = (tool: string, agent: Agent | undefined, limits: Limits): number =>
  tool === 'sub_agent' && agent !== undefined && isDriven(agent)
    ? Math.max(limits.drivenTimeoutMsMax, limits.callTimeoutMsMax)
    : limits.callTimeoutMsMax

export function callMsDefault(
  tool: 'sub_agent' | 'subagent' | 'call_agent',
  agent: Agent | undefined,
  limits: Limits,
): number {
  if (tool === 'sub_agent')
    return agent !== undefined && isDriven(agent) ? limits.drivenTimeoutMs : limits.subAgentTimeoutMs
  return tool === 'subagent' ? limits.subagentTimeoutMs : limits.callAgentTimeoutMs
}

/** The most that a turn may take; what a call allows may be less. */
export const turnMsMax = (agent: Agent | undefined, limits: Limits): number =>
  agent !== undefined && isDriven(agent) ? limits.drivenTimeoutMsMax : limits.turnMsMax

/** A turn that a message opened, where its sender named no time. */
export const messageMsMax = (agent: Agent | undefined, limits: Limits): number =>
  agent !== undefined && isDriven(agent) ? limits.drivenTimeoutMs : limits.turnMsMax

/** A turn that a message opens: what its sender says, within what any turn may take. */
export const sentTurnMs = (timeoutMs: number | undefined, agent: Agent | undefined, limits: Limits): number =>
  Math.min(timeoutMs ?? messageMsMax(agent, limits), turnMsMax(agent, limits))

/** How long a turn may be silent. */
export const silenceMsMax = (agent: Agent, limits: Limits): number =>
  isDriven(agent) ? limits.drivenInactivityMs : limits.inactivityMs

/** What a caller keeps for itself of its own time, to use what came back. */
const keptMs = 2000

/** The turn of a client that waits must not end before what it waits for. */
export const clientMsMax = (agents: Iterable<Agent>, limits: Limits): number => {
  for (const agent of agents)
    if (isDriven(agent)) return Math.max(limits.turnMsMax, limits.drivenTimeoutMsMax + 2 * keptMs)
  return limits.turnMsMax
}
