/** Whom an agent may call. */
import { mayCallAgent, type Agent } from '../../model/agent.ts'
import type { Runtime } from './runtime.ts'

const callable = new WeakMap<Agent, { names: readonly string[]; agents: readonly Agent[] }>()

/** Worked out again only when the list of names is another one. */
export function listCallable(runtime: Runtime, agent: Agent): readonly Agent[] {
  const all = runtime.agents.names()
  const known = callable.get(agent)
  if (known?.names === all) return known.agents
  const agents = all
    .flatMap((name) => runtime.agents.get(name) ?? [])
    .filter((found) => found.name !== agent.name && mayCallAgent(agent, found))
  callable.set(agent, { names: all, agents })
  return agents
}
