/** What stays open on this machine, in words for its user. */
import type { Agent, SandboxMode } from '../../model/agent.ts'
import type { Found } from './probe.ts'

export type Openness = {
  auth: 'tokens' | 'open'
  platform: NodeJS.Platform
  mode: SandboxMode
  agents: readonly Agent[]
}

/** Agents that start programs of their own: with `shell`, or with MCP servers that are processes. */
export const startsPrograms = ({ tools, mcpServers }: Agent): boolean =>
  tools.includes('*') ||
  tools.includes('shell') ||
  Object.values(mcpServers).some((server) => 'command' in server)

/** Null where there is no way to tell who asks; only Linux says who is behind a connection. */
export const describePeers = ({ auth, platform }: Pick<Openness, 'auth' | 'platform'>): string | null =>
  auth === 'tokens' || platform === 'linux'
    ? null
    : `${platform} does not say which program asks, so every program on this machine is you, those of agents ` +
      'included. Set auth = "on" in [server] to let in only those with a token.'

/** Agents that could do whatever the user can, and why. */
export function describeUnconfined({ mode, agents }: Openness, found: Found): string | null {
  const loose = agents.filter(startsPrograms).filter(({ sandbox = mode }) => {
    return sandbox === 'off' || (sandbox === 'auto' && found.kind === 'none')
  })
  if (loose.length === 0) return null
  const names = loose.slice(0, 5).map(({ name }) => name)
  const who = loose.length > names.length ? `${names.join(', ')} and others` : names.join(', ')
  const why =
    found.kind === 'none' ? `there is no sandbox, because ${found.why}. ${found.cure}` : 'sandbox = "off".'
  return `programs of ${who} run as you and can do all that you can: ${why}`
}
