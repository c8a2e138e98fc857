/** One connection to one MCP server: opened on first use, shared, and opened again after it died. */
import { Client, StreamableHTTPClientTransport, type Tool as McpTool } from '@modelcontextprotocol/client'
import type { McpServer, SandboxMode } from '../../model/agent.ts'
import type { TurnId } from '../../model/id.ts'
import { explain, isRefusal } from '../../model/refusal.ts'
import type { Launch, Launcher, LaunchPolicy } from '../../runtime/kernel/launch-port.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import { boundedFetch } from '../../runtime/kernel/bounded-fetch.ts'
import { mcpMessageBytesMax, stdioTransport, within } from './stdio-transport.ts'

/** A first start may have to download its package. */
const startMsMax = 60_000
/** The pause before a server that did not start is tried again: a broken one must not hold up every turn. */
const retryMs = 10_000
const closeMsMax = 1000
const toolsMax = 256
/** All that a server's process sees of our environment: no keys of ours. */
const inheritedNames = ['PATH', 'HOME', 'LANG', 'TERM']

export type ConnectionDeps = {
  clock: Clock
  env: Readonly<Record<string, string | undefined>>
  /** Where servers are started. */
  cwd: string
  /** Ours, sent to the servers. */
  version: string
  warn(text: string): void
  launcher: Launcher
}

export type Live = { client: Client; tools(): Promise<readonly McpTool[]>; close(): Promise<void> }

export type Connection = {
  /** Throws where the server cannot be reached; says so again for a while without trying. A turn asks for it. */
  open(turn: TurnId | null): Promise<Live>
  /** Forgets a connection that proved broken: the next use opens another. */
  drop(broken: Live): void
  close(): Promise<void>
}

export function connectionTo(
  server: McpServer,
  deps: ConnectionDeps,
  sandbox: SandboxMode | undefined,
): Connection {
  let current: { opening: Promise<Live>; live: Live | null } | null = null
  let failure: { error: unknown; at: number } | null = null
  let closed = false

  async function connect(policy: LaunchPolicy): Promise<Live> {
    const mine: NonNullable<typeof current> = {
      opening: openLive(server, deps, policy, () => forget(mine)),
      live: null,
    }
    current = mine
    try {
      mine.live = await mine.opening
      return mine.live
    } catch (error) {
      failure = { error, at: deps.clock.elapsed() }
      forget(mine)
      throw error
    }
  }

  /** An older connection that ends late must not take a newer one with it. */
  function forget(ended: typeof current): void {
    if (current === ended) current = null
  }

  return {
    async open(turn) {
      if (closed) throw new Error('we are shutting down')
      if (current !== null) return current.opening
      if (failure !== null && deps.clock.elapsed() - failure.at < retryMs) throw failure.error
      return connect({ sandbox, turn })
    },
    drop(broken) {
      if (current?.live === broken) current = null
      const warn = (error: unknown): void =>
        deps.warn(`an MCP connection could not be closed: ${describeFault(error)}`)
      // Closing says goodbye to a server that may be gone; nobody waits for it.
      broken.close().catch(warn)
    },
    async close() {
      closed = true
      const last = await current?.opening.catch(() => null)
      await last?.close()
    },
  }
}

async function openLive(
  server: McpServer,
  deps: ConnectionDeps,
  policy: LaunchPolicy,
  onEnd: () => void,
): Promise<Live> {
  // Over HTTP the newer revision is tried first. A process gets the handshake that every server knows, since
  // some end on an unknown first request.
  const http = 'url' in server
  let listed: readonly McpTool[] | null = null
  const forgetTools = (): void => void (listed = null)
  const client = new Client(
    { name: 'tieline', version: deps.version },
    {
      versionNegotiation: { mode: http ? 'auto' : 'legacy' },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: forgetTools } },
    },
  )
  const transport = http
    ? httpTransport(server)
    : stdioTransport(await launch(server, deps, policy), deps.clock)
  async function tools(): Promise<readonly McpTool[]> {
    listed ??= (await client.listTools({}, { timeout: startMsMax })).tools.slice(0, toolsMax)
    return listed
  }
  async function close(): Promise<void> {
    if (transport instanceof StreamableHTTPClientTransport)
      await within(transport.terminateSession(), closeMsMax, deps.clock)
    await client.close()
    // The client forgets a transport that closed by itself; its process group may still have to be ended.
    await transport.close()
  }
  try {
    await client.connect(transport, { timeout: startMsMax })
    await tools()
  } catch (error) {
    await close()
    const said = 'stderr' in transport ? transport.stderr() : ''
    throw new Error(`${describeFault(error)}${said === '' ? '' : `; it said: ${said}`}`, { cause: error })
  }
  client.onclose = onEnd
  return { client, tools, close }
}

async function launch(
  { command, args, env }: Extract<McpServer, { command: string }>,
  deps: ConnectionDeps,
  policy: LaunchPolicy,
): Promise<Launch> {
  const asked = { program: command, args, env: cleanedEnv(deps.env, env), cwd: deps.cwd }
  const launch = await deps.launcher.wrap(asked, policy)
  if (isRefusal(launch)) throw new Error(explain(launch))
  return launch
}

const httpTransport = (server: Extract<McpServer, { url: string }>): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: server.headers },
    fetch: serverFetch,
  })

/**
 * An answer is cut to what a model can hold; what is much longer is not read. A stream of notifications may
 * go on for as long as the server does.
 */
const serverFetch = boundedFetch(
  { eventBytesMax: mcpMessageBytesMax, streamBytesMax: Number.MAX_SAFE_INTEGER, depthMax: 100 },
  (what) => new Error(what),
)

function cleanedEnv(
  env: ConnectionDeps['env'],
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = inheritedNames.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))
  return { ...Object.fromEntries(inherited), ...configured }
}

/** The innermost cause is what helps: "fetch failed" says nothing, "ECONNREFUSED" does. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? describeFault(error.cause) : ''
  return cause === '' || error.message.includes(cause) ? error.message : `${error.message} (${cause})`
}
