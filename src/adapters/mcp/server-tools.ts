/**
 * Our tools as MCP clients list them: what a client wants to know about a tool besides its name and input.
 */
import type { Tool } from '@modelcontextprotocol/server'
import { outputSchemas } from './output-schemas.ts'
import type { ToolSpec } from '../../wire/tools.ts'

type Manner = {
  title: string
  /** Changes nothing: some clients ask their user before anything else. */
  reads?: true
  /** Waits for others, so its answer is a stream from the start and says how far it is. */
  blocks?: true
}

const manners: Readonly<Record<string, Manner>> = {
  sub_agent: { title: 'Give a task to an agent', blocks: true },
  subagent: { title: 'Delegate a piece of work', blocks: true },
  call_agent: { title: 'Ask an agent', blocks: true },
  wait_for_call: { title: 'Wait for a call', reads: true, blocks: true },
  read_output: { title: 'Read the output of a call', reads: true },
  send_agent_message: { title: 'Send a message to a session' },
  get_session_state: { title: 'Look at a session', reads: true },
  create_agent_session: { title: 'Open a session' },
  wait_for_session: { title: 'Wait for a session', reads: true, blocks: true },
  'list-session': { title: 'List sessions', reads: true },
  // Written out first, where that is asked for.
  'send-message': { title: 'Write a message', blocks: true },
  buffer: { title: 'Look into the inbox' },
}

/** Claude Code hides tools behind a search, and cuts long results, unless a tool says otherwise. */
const meta = { 'anthropic/alwaysLoad': true, 'anthropic/maxResultSizeChars': 200_000 }

export const isBlocking = (name: string): boolean => manners[name]?.blocks === true

/** A tool of ours also when the configuration hides it: then it answers that it is disabled. */
export const isOurs = (name: string): boolean => Object.hasOwn(manners, name)

export function describeTool({ name, description, input }: ToolSpec): Tool {
  const { title = name, reads = false } = Object.hasOwn(manners, name)
    ? (manners[name] as Manner)
    : { title: name }
  const outputSchema = Object.hasOwn(outputSchemas, name) ? outputSchemas[name] : undefined
  return {
    name,
    title,
    description,
    inputSchema: input as Tool['inputSchema'],
    ...(outputSchema === undefined ? {} : { outputSchema: outputSchema as Tool['outputSchema'] }),
    // Agents that are called may reach the world; what only reads stays with us.
    annotations: {
      title,
      readOnlyHint: reads,
      destructiveHint: false,
      idempotentHint: reads,
      openWorldHint: !reads,
    },
    _meta: meta,
  }
}
