/**
 * Our tools as MCP clients list them: what a client wants to know about a tool besides its name and input.
 */
import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { once, toJsonSchema } from '../../tools/answer.ts'
import { toolAnswers, type ToolName, type ToolSpec } from '../../wire/tools.ts'

type Manner = {
  title: string
  /** Changes nothing: some clients ask their user before anything else. */
  reads?: boolean
  /** Waits for others, so its answer is a stream from the start and says how far it is. */
  blocks?: boolean
}

const manners: Readonly<Record<ToolName, Manner>> = {
  sub_agent: { title: 'Give a task to an agent', blocks: true },
  subagent: { title: 'Delegate a piece of work', blocks: true },
  call_agent: { title: 'Ask an agent', blocks: true },
  wait_for_call: { title: 'Wait for a call', reads: true, blocks: true },
  read_output: { title: 'Read the output of a call', reads: true },
  send_agent_message: { title: 'Send a message to a session' },
  get_session_state: { title: 'Look at a session', reads: true },
  create_agent_session: { title: 'Open a session' },
  wait_for_session: { title: 'Wait for a session', reads: true, blocks: true },
  list_agents: { title: 'List agents', reads: true },
  steer_call: { title: 'Say something to a running call' },
  'list-session': { title: 'List sessions', reads: true },
  // Written out first, where that is asked for.
  'send-message': { title: 'Write a message', blocks: true },
  buffer: { title: 'Look into the inbox' },
  wait_for_mail: { title: 'Wait for mail', reads: true, blocks: true },
}

/** By the title that some agents show in place of the name. */
export const toolsByTitle: ReadonlyMap<string, string> = new Map(
  Object.entries(manners).map(([name, { title }]) => [title, name]),
)

/** Claude Code hides tools behind a search, and cuts long results, unless a tool says otherwise. */
const meta = { 'anthropic/alwaysLoad': true, 'anthropic/maxResultSizeChars': 200_000 }

export const isBlocking = (name: string): boolean => isOurs(name) && manners[name].blocks === true

/** A tool of ours also when the configuration hides it: then it answers that it is disabled. */
export const isOurs = (name: string): name is ToolName => Object.hasOwn(manners, name)

const you = z.string().optional().describe('your own session, for those who want to write to you')

type OutputSchema = NonNullable<Tool['outputSchema']>

/**
 * From the shapes of the answers. More fields may come, so nothing in them forbids others. Each is made anew
 * from its fields, because the protocol wants an object at the top and not a reference to one.
 */
export const outputSchemas = once(
  () =>
    Object.fromEntries(
      Object.entries(toolAnswers).map(([name, answer]) => [
        name,
        toJsonSchema(z.object({ ...answer.shape, you })),
      ]),
    ) as Record<ToolName, OutputSchema>,
)

export function describeTool({ name, description, input }: ToolSpec): Tool {
  const { title, reads = false }: Manner = isOurs(name) ? manners[name] : { title: name }
  return {
    name,
    title,
    description,
    inputSchema: input as Tool['inputSchema'],
    ...(isOurs(name) ? { outputSchema: outputSchemas()[name] } : {}),
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
