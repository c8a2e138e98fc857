import { fastify, type FastifyInstance } from 'fastify'
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { mcpDoor, type McpDoorDeps } from '../../src/adapters/mcp/serve.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { systemIds } from '../../src/runtime/kernel/system-ids.ts'
import { openLine, type OpenLine, type OpenLineOptions } from '../../src/open-line.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'

export const revisions = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof revisions)[number]

export type McpWorld = {
  line: OpenLine
  app: FastifyInstance
  url: string
  faults: unknown[]
  connect(revision: Revision, options?: { name?: string; headers?: Record<string, string> }): Promise<Client>
  close(): Promise<void>
}

/** The header that stands in for a checked token. */
export const whoHeader = 'x-test-who'
export const whoText = (who: Who): string => JSON.stringify(who)

export async function mcpWorld(
  options: OpenLineOptions,
  door: (line: OpenLine) => Partial<McpDoorDeps> = () => ({}),
): Promise<McpWorld> {
  const line = await openLine(options)
  const app = fastify({ forceCloseConnections: true })
  const faults: unknown[] = []
  const mount = mcpDoor({
    desks: line.desks,
    clock: systemClock,
    ids: systemIds(() => systemClock.now()),
    version: '1.2.3',
    report: (fault) => faults.push(fault),
    ...door(line),
  })
  await app.register((scope) =>
    mount(scope, {
      of: ({ headers }) =>
        typeof headers[whoHeader] === 'string' ? (JSON.parse(headers[whoHeader]) as Who) : { kind: 'user' },
      seenIn: () => null,
    }),
  )
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const clients: Client[] = []
  return {
    line,
    app,
    faults,
    url: `${address}/mcp`,
    async connect(revision, { name = 'a-client', headers = {} } = {}) {
      const client = new Client(
        { name, version: '1.0.0' },
        { versionNegotiation: { mode: revision === '2025-11-25' ? 'legacy' : 'auto' } },
      )
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } }),
      )
      clients.push(client)
      return client
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()))
      await app.close()
      await line.close()
    },
  }
}

export const callTool = async (
  client: Client,
  name: string,
  input: Record<string, unknown>,
): Promise<CallToolResult> => (await client.callTool({ name, arguments: input })) as CallToolResult
export const textIn = (result: CallToolResult): string =>
  result.content[0]?.type === 'text' ? result.content[0].text : ''
export const fieldsIn = (result: unknown): Record<string, unknown> =>
  (result as CallToolResult).structuredContent as Record<string, unknown>

/** An agent that works until it is told to stop, and notes how it ended. */
export function worker() {
  const seen: string[] = []
  const started = Promise.withResolvers<void>()
  const done = Promise.withResolvers<string>()
  return {
    seen,
    started: started.promise,
    finish: (text: string) => done.resolve(text),
    agent: {
      script: ({ signal }: { signal: AbortSignal }) => {
        seen.push('started')
        signal.addEventListener('abort', () => seen.push('aborted'))
        started.resolve()
        return done.promise
      },
    },
  }
}

export const jsonRpc = (method: string, params: unknown, id?: number): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params, ...(id === undefined ? {} : { id }) })

/** A plain request, as a client of the 2025 revision sends it. */
export const post = (
  world: McpWorld,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(world.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
  })

export const hello = (name: string): string =>
  jsonRpc(
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1' } },
    1,
  )
