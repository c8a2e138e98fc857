/** What the MCP server says of itself, at every door and to everybody. */

export const instructions =
  'Other agents, reachable as tools. sub_agent gives one a task in a fresh context; ' +
  'call_agent asks one that remembers its conversation; send_agent_message does not wait. ' +
  'Work that may take longer than a minute: sub_agent with background: true, then wait_for_call until it has ended.'

export const serverInfo = (version: string): { name: string; title: string; version: string } => ({
  name: 'tieline',
  title: 'Tieline',
  version,
})

/** Nothing about the tools changes while a client is connected; the field stays, because clients know it. */
export const serverCapabilities = { tools: { listChanged: true } }
