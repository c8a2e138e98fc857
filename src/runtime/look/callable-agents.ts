/** The agents that somebody may call, as far as what runs them knows how they are. */
import type { Agents } from '../kernel/ports.ts'
import { findMain } from '../kernel/projects-port.ts'
import type { Agent } from '../../model/agent.ts'
import type { AgentView } from '../../wire/agents.ts'
import type { CallableAgent } from '../../wire/tools.ts'
import { isoTime } from '../kernel/system-clock.ts'
import type { Runtime } from '../kernel/runtime.ts'

/** R11: this is read by a model. */
const listedMax = 200
const aboutUnitsMax = 300

export function listCallableAgents(
  runtime: Runtime,
  callable: readonly Agent[],
  query: string,
): CallableAgent[] {
  const wanted = query.trim().toLowerCase()
  const busy = new Set([...runtime.running.values()].map(({ row }) => row.grant.agent))
  return callable
    .filter(({ name, title = '', description }) =>
      [name, title, description].some((text) => text.toLowerCase().includes(wanted)),
    )
    .slice(0, listedMax)
    .map((agent) => {
      const { agents } = runtime
      const reason = findReason(runtime, agent)
      return {
        name: agent.title ?? agent.name,
        description: agent.description.slice(0, aboutUnitsMax).toWellFormed(),
        driver: agent.driver,
        status: reason !== null ? 'unavailable' : busy.has(agent.name) ? 'busy' : 'ready',
        reason,
        // A connected program does not say what it uses.
        metered: agent.driver !== 'host' && agents.isMetered?.(agent) !== false,
        project: agents.origin?.(agent.name) ?? null,
        ...findLimit(agents, agent),
        ...findWindows(agents, agent),
      }
    })
}

/** Where an agent is from, and whether it can be called now. */
export function describeAgent(
  agents: Agents,
  agent: Agent,
): Pick<AgentView, 'project' | 'status' | 'reason' | 'limit' | 'windows'> {
  const reason = findReason({ agents }, agent)
  return {
    project: agents.origin?.(agent.name) ?? null,
    status: reason === null ? 'ready' : 'unavailable',
    reason,
    ...findLimit(agents, agent),
    ...findWindows(agents, agent),
  }
}

/** What its provider said last about a limit, until it is reset. */
function findLimit(agents: Agents, agent: Agent): { limit?: string } {
  const limit = agents.limitOf?.(agent) ?? null
  return limit === null ? {} : { limit: `over its limit until ${isoTime(limit.resetsAt)}: ${limit.why}` }
}

/** How much of each window is used, as far as it or its provider said so. */
function findWindows(agents: Agents, agent: Agent): Pick<AgentView, 'windows'> {
  const windows = (agents.windowsOf?.(agent) ?? []).map(({ name, used, resetsAt }) => ({
    name,
    usedPercent: Math.round(used * 100),
    resetsAt: isoTime(resetsAt),
  }))
  return windows.length === 0 ? {} : { windows }
}

/** Why it cannot be called now; null where nothing is known against it. */
function findReason({ agents }: Pick<Runtime, 'agents'>, agent: Agent): string | null {
  const unavailable = agents.whyUnavailable?.(agent) ?? null
  if (unavailable !== null) return `${unavailable.why}; ${unavailable.cure}`
  const { session } = findMain(agents, agent.name, '/')
  const isThere = agent.driver !== 'host' || agents.isThere?.(agent, session) !== false
  return isThere ? null : 'no program is connected as this agent; what it is asked waits until one is'
}
