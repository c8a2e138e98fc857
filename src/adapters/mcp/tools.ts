/**
 * Tools of the MCP servers that an agent is configured with. What a server says about its own tools
 * (read-only, idempotent) is not trusted.
 */
import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type CallToolResult,
  type Tool as McpTool,
} from '@modelcontextprotocol/client'
import type { Agent, McpServer } from '../../model/agent.ts'
import type { TurnId } from '../../model/id.ts'
import { isJson, isRecord, Json } from '../../model/json.ts'
import { headUnits } from '../../model/text.ts'
import type { Tool, ToolAnswer, Tools } from '../../runtime/kernel/ports.ts'
import { connectionTo, describeFault, type Connection, type ConnectionDeps, type Live } from './connection.ts'

/** The turn's own deadline comes first; this only keeps the SDK's shorter default away. */
const callMsMax = 3_600_000
/** What the model providers accept as the name of a tool. */
const nameUnitsMax = 64
/** R11: it is sent with every request to a model. */
const descriptionUnitsMax = 20_000

export type McpTools = Tools & { close(): Promise<void> }

type Server = {
  name: string
  /** Where it is configured. */
  place: string
  repeatable: readonly string[]
  connection: Connection
}

/** `warn` is called once for each failed start and each tool that cannot be offered. */
export function mcpTools(deps: ConnectionDeps): McpTools {
  const servers = new Map<string, Server>()
  const warned = new Set<unknown>()

  function findServer(agent: Agent, name: string, config: McpServer): Server {
    const place = `agents.${agent.name}.mcpServers.${name}`
    const known = servers.get(place) ?? {
      name,
      place,
      repeatable: config.repeatable,
      connection: connectionTo(config, deps, agent.sandbox),
    }
    servers.set(place, known)
    return known
  }

  /** A server that does not start leaves its agent without its tools, not without its turn. */
  async function listTools(server: Server, turn: TurnId | null): Promise<Tool[]> {
    try {
      const live = await server.connection.open(turn)
      return offerTools(server, await live.tools(), (problem) => {
        const text = `${server.place}: ${problem}`
        warnOnce(text, text)
      })
    } catch (error) {
      const why = `the server could not be started: ${describeFault(error)}`
      warnOnce(error, `${server.place}: its tools are missing, because ${why}`)
      return []
    }
  }

  function warnOnce(what: unknown, text: string): void {
    if (warned.has(what)) return
    if (warned.size >= 1000) warned.clear()
    warned.add(what)
    deps.warn(text)
  }

  return {
    async of(agent, turn) {
      const lists = await Promise.all(
        Object.entries(agent.mcpServers).map(([name, config]) =>
          listTools(findServer(agent, name, config), turn ?? null),
        ),
      )
      return lists.flat()
    },
    async close() {
      await Promise.all([...servers.values()].map((server) => server.connection.close()))
    },
  }
}

function offerTools(server: Server, listed: readonly McpTool[], warn: (problem: string) => void): Tool[] {
  const byName = new Map<string, Tool>()
  for (const tool of listed) {
    const name = `${server.name}_${tool.name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
    const leaveOut = (why: string): void => warn(`its tool "${tool.name}" is left out: ${why}.`)
    if (name.length > nameUnitsMax)
      leaveOut(`the name is longer than ${nameUnitsMax} characters with that of the server`)
    else if (byName.has(name)) leaveOut(`another one is called ${name} too`)
    else if (!isJson(tool.inputSchema)) leaveOut('its input schema is too deep')
    else byName.set(name, makeTool(server, name, tool, tool.inputSchema))
  }
  return [...byName.values()]
}

function makeTool(server: Server, name: string, tool: McpTool, input: Json): Tool {
  const spec = {
    name,
    description: headUnits(tool.description ?? tool.title ?? '', descriptionUnitsMax),
    input,
  }
  return {
    name,
    effect: server.repeatable.includes(tool.name) ? 'read' : 'write',
    calling: false,
    describe: () => spec,
    async run(input, { signal, trace, turn }) {
      signal.throwIfAborted()
      if (!isRecord(input)) return failed(`${name} takes an object with named arguments.`)
      try {
        const live = await server.connection.open(turn.id)
        return await call(server, live, tool.name, input, signal, trace?.() ?? null)
      } catch (error) {
        signal.throwIfAborted()
        const what = `The MCP server "${server.name}" is not running and could not be started`
        return failed(`${what}: ${describeFault(error)}. Go on without it.`)
      }
    },
  }
}

async function call(
  server: Server,
  live: Live,
  tool: string,
  input: Record<string, unknown>,
  signal: AbortSignal,
  traceparent: string | null,
): Promise<ToolAnswer> {
  try {
    return toAnswer(
      await live.client.callTool(
        { name: tool, arguments: input, ...(traceparent === null ? {} : { _meta: { traceparent } }) },
        { signal, timeout: callMsMax },
      ),
    )
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ProtocolError)
      return failed(`The MCP server "${server.name}" refused ${tool}: ${error.message}`)
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
      return failed(`${tool} of the MCP server "${server.name}" did not answer in time; it may have run.`)
    server.connection.drop(live)
    const what = `The connection to the MCP server "${server.name}" broke during ${tool}, which may have run`
    return failed(`${what}: ${describeFault(error)}. It is opened again at the next call.`)
  }
}

function toAnswer(result: CallToolResult): ToolAnswer {
  const text = result.content.map(renderPart).join('\n')
  const ok = result.isError !== true
  if (result.structuredContent === undefined) return { ok, value: text }
  const structured = Json.safeParse(result.structuredContent)
  return {
    ok,
    value: structured.success
      ? { text, structuredContent: structured.data }
      : `${text}\n[structured content, too deep to be shown]`,
  }
}

/** Models read text here, so other parts are named in its place. */
function renderPart(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'image':
    case 'audio':
      return `[${part.type}, ${part.mimeType}, not shown]`
    case 'resource_link':
      return `[resource ${part.name}: ${part.uri}]`
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[resource ${part.resource.uri}, not shown]`
  }
}

const failed = (text: string): ToolAnswer => ({ ok: false, value: text })
