/** Whom an agent may call. */
import type { Agent } from '../model/agent.ts'
import type { Line } from './line.ts'

const callable = new WeakMap<Agent, { names: readonly string[]; agents: readonly Agent[] }>()

/** Worked out again only when the list of names is another one. */
export function callableOf(line: Line, agent: Agent): readonly Agent[] {
  const all = line.agents.names()
  const known = callable.get(agent)
  if (known?.names === all) return known.agents
  const names = agent.allowSubAgentCalls ? all.filter((name) => name !== agent.name && (agent.mayCall === undefined || agent.mayCall.includes(name))) : []
  const agents = names.map((name) => line.agents.get(name)).filter((found) => found !== undefined)
  callable.set(agent, { names: all, agents })
  return agents
}
