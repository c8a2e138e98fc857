/**
 * What counts in a directory. A session belongs to the nearest project at or above its directory, otherwise to
 * the user's own configuration; the agents, limits, tools and models of that project are what its acts see.
 */
import type { Agent } from '../../model/agent.ts'
import type { SessionRow } from '../../model/facts.ts'
import { fingerprint } from '../../model/fingerprint.ts'
import type { SessionId } from '../../model/id.ts'
import type { Limits } from '../../model/limits.ts'
import type { ProjectView } from '../../wire/projects.ts'
import type { Agents, Summarise, Tool, Tools } from './ports.ts'
import type { Runtime } from './runtime.ts'

/** One object for as long as no file has changed. */
export type Surroundings = {
  /** The project's directory; null is the user's own. */
  project: string | null
  agents: Agents
  limits: Limits
  /** Those of the user's own configuration. */
  ownLimits: Limits
  tools: Tools
  summarise: Summarise
  subagent: string | null
  artifactKinds: readonly string[]
  /** Ours and the program's own, without those of MCP servers, as this configuration leaves them. */
  standardTools: readonly Tool[]
}

export type Projects = {
  /** What was last known of a directory: for what runs inside a transaction, or only looks. */
  known(cwd: string): Surroundings
  /**
   * Reads again what has changed on disk. A call, a message and every request begin with this. `agoMsMax`: what was
   * looked at so lately need not be looked at again.
   */
  look(cwd: string, agoMsMax?: number): Surroundings
  /** The projects that a person has agreed to, and those that somebody has worked in. */
  list(): ProjectView[]
}

const views = new WeakMap<Surroundings, Runtime>()

/** The same runtime, as it is seen from a directory. Without projects it is the same everywhere. */
export function inProject<R extends Runtime>(runtime: R, cwd: string, agoMsMax = 0): R {
  if (runtime.projects === undefined) return runtime
  const seen = runtime.projects.look(cwd, agoMsMax)
  const known = views.get(seen)
  if (known !== undefined) return known as R
  const view = { ...runtime, ...seen }
  views.set(seen, view)
  return view
}

/** The agents as a directory's project has them. */
export const agentsIn = ({ agents, projects }: Pick<Runtime, 'agents' | 'projects'>, cwd: string): Agents =>
  projects?.known(cwd).agents ?? agents

/** The agent of a session. */
export const findAgent = (
  runtime: Pick<Runtime, 'agents' | 'projects'>,
  { agent, cwd }: Pick<SessionRow, 'agent' | 'cwd'>,
): Agent | undefined => agentsIn(runtime, cwd).get(agent)

/** An agent as somebody in this directory names it. */
export const resolveAgent = (agents: Agents, name: string): Agent | undefined =>
  agents.resolve === undefined ? agents.get(name) : agents.resolve(name)

/** Where the main session of an agent is, and what it is called there: a project's agent lives in its project. */
export function findMain(
  agents: Agents,
  name: string,
  cwd: string,
): { session: SessionId; agent: string; cwd: string } {
  const directory = agents.origin?.(name) ?? null
  if (directory === null) return { session: `ses_main-${name}`, agent: name, cwd }
  const agent = name.slice(name.lastIndexOf('/') + 1)
  return { session: `ses_main-${agent}-${fingerprint(directory)}`, agent, cwd: directory }
}
