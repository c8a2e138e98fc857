/** Whom an agent may call. */
import type { Agent } from '../model/agent.ts'
import type { Line } from './line.ts'

const callable = new WeakMap<Agent, readonly Agent[]>()

/** Agents are configuration: whom one may call is worked out once. */
export function callableOf(line: Line, agent: Agent): readonly Agent[] {
  const known = callable.get(agent)
  if (known !== undefined) return known
  const names = agent.allowSubAgentCalls ? line.agents.names().filter((name) => name !== agent.name && (agent.mayCall === undefined || agent.mayCall.includes(name))) : []
  const agents = names.map((name) => line.agents.get(name)).filter((found) => found !== undefined)
  callable.set(agent, agents)
  return agents
}
