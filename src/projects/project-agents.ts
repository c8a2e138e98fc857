/**
 * The agents that a directory sees: its project's, then the user's and those that doors made. `project/name` is a
 * shared agent of another project, `~/name` one of the user's that the project has one of the same name of.
 */
import { basename } from 'node:path'
import type { Agent } from '../model/agent.ts'
import type { UntrustedProject } from '../model/untrusted.ts'
import type { Agents } from '../runtime/kernel/ports.ts'

/** A project's own agents, and where it is; without agents where it is not used. */
export type ProjectAgents = {
  directory: string
  agents: Agents | null
  untrusted: UntrustedProject | null
}

/** The other projects: only those that are used. */
export type Others = {
  list(): readonly ProjectAgents[]
  at(cwd: string): ProjectAgents | null
}

const ofUser = '~/'

/** The name of a project: as short as it can be, and still only its own. */
export function nameProject(directory: string, others: readonly { directory: string }[]): string {
  const name = basename(directory)
  return others.some((other) => other.directory !== directory && basename(other.directory) === name)
    ? directory
    : name
}

type Found = { project: ProjectAgents | null; agent: Agent; plain: string }

export function viewAgents(
  project: ProjectAgents | null,
  user: Agents,
  isBuiltIn: (name: string) => boolean,
  others: Others,
): Agents {
  const own = project?.agents ?? null
  const findForeign = (spelled: string): { project: ProjectAgents; plain: string } | null => {
    const at = spelled.lastIndexOf('/')
    const [where, plain] = [spelled.slice(0, at), spelled.slice(at + 1)]
    const fitting = others
      .list()
      .filter(({ directory }) => directory === where || directory.endsWith(`/${where}`))
    const [only] = fitting
    return only === undefined || fitting.length > 1 ? null : { project: only, plain }
  }
  /** What was recorded under a name here. */
  const find = (name: string): Found | null => {
    if (name.startsWith(ofUser)) {
      const agent = user.get(name.slice(ofUser.length))
      return agent === undefined ? null : { project: null, agent, plain: agent.name }
    }
    if (name.includes('/')) {
      const foreign = findForeign(name)
      const agent = foreign?.project.agents?.get(foreign.plain)
      return foreign === null || agent === undefined ? null : { ...foreign, agent }
    }
    const mine = own?.get(name)
    if (mine !== undefined) return { project, agent: mine, plain: name }
    const users = user.get(name)
    return users === undefined ? null : { project: null, agent: users, plain: name }
  }
  const show = (found: Found | null, name: string): Agent | undefined =>
    found === null ? undefined : found.agent.name === name ? found.agent : { ...found.agent, name }
  /** Asks the project that an agent is from, under the name that it has there. */
  const ask = <T>(agent: Agent, question: (agents: Agents, agent: Agent) => T): T => {
    const found = find(agent.name)
    const plain = found?.plain ?? agent.name
    return question(found?.project?.agents ?? user, plain === agent.name ? agent : { ...agent, name: plain })
  }
  return {
    get: (name) => show(find(name), name),
    names: joinNames(own, user, isBuiltIn),
    resolve(name) {
      if (name.includes('/')) {
        const found = find(name)
        const mayReach = found?.project === null || found?.project === project || found?.agent.shared === true
        return mayReach ? show(found, name) : undefined
      }
      return own?.get(name) ?? (user.resolve === undefined ? user.get(name) : user.resolve(name))
    },
    untrusted: () => (project?.untrusted == null ? [] : [project.untrusted]),
    driver: (agent) => ask(agent, (agents, theirs) => agents.driver(theirs)),
    isThere: (agent, session) => user.isThere?.(agent, session) ?? true,
    whyUnavailable: (agent) => ask(agent, (agents, theirs) => agents.whyUnavailable?.(theirs) ?? null),
    limitOf: (agent) => ask(agent, (agents, theirs) => agents.limitOf?.(theirs) ?? null),
    windowsOf: (agent) => ask(agent, (agents, theirs) => agents.windowsOf?.(theirs) ?? []),
    isMetered: (agent) => ask(agent, (agents, theirs) => agents.isMetered?.(theirs) !== false),
    whyUnrestricted: (agent) => ask(agent, (agents, theirs) => agents.whyUnrestricted?.(theirs) ?? null),
    origin: (name) => find(name)?.project?.directory ?? null,
    spell(name, cwd) {
      const found = find(name)
      const there = others.at(cwd)
      if (found === null || found.project?.directory === there?.directory) return found?.plain ?? name
      if (found.project !== null)
        return `${nameProject(found.project.directory, others.list())}/${found.plain}`
      return there?.agents?.get(found.plain) === undefined ? found.plain : `${ofUser}${found.plain}`
    },
  }
}

/** One list for as long as the user's is the same. The built-in agents stand in where there is no other. */
function joinNames(
  own: Agents | null,
  user: Agents,
  isBuiltIn: (name: string) => boolean,
): () => readonly string[] {
  const mine = own?.names() ?? []
  if (mine.length === 0) return () => user.names()
  let [seen, names]: [readonly string[] | null, readonly string[]] = [null, []]
  return () => {
    const users = user.names()
    if (seen !== users)
      [seen, names] = [users, [...mine, ...users.filter((name) => !mine.includes(name) && !isBuiltIn(name))]]
    return names
  }
}
