/** Whom an agent may call. */
import { mayCallAgent, type Agent } from '../../model/agent.ts'
import type { Runtime } from './runtime.ts'

const callable = new WeakMap<Agent, { names: readonly string[]; agents: readonly Agent[] }>()
const found = new WeakMap<readonly string[], readonly Agent[]>()

/** Worked out again only when the list of names is another one. */
export function listCallable(runtime: Runtime, agent: Agent): readonly Agent[] {
  const all = runtime.agents.names()
  const known = callable.get(agent)
  if (known?.names === all) return known.agents
  const there = found.get(all) ?? all.flatMap((name) => runtime.agents.get(name) ?? [])
  found.set(all, there)
  const agents = there.filter((one) => one.name !== agent.name && mayCallAgent(agent, one))
  callable.set(agent, { names: all, agents })
  return agents
}
