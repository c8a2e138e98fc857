/** Parts that take a moment to load are there before they are needed, and delay no first answer. */
import { listPackages, type Providers } from './adapters/model/providers.ts'
import { loadTable } from './adapters/prices/price-table.ts'
import { loadTokenizer } from './adapters/tokens/tokenizer.ts'
import { isDriven } from './model/agent.ts'
import type { Clock } from './runtime/kernel/ports.ts'
import type { AgentBook } from './runtime/sessions/agent-book.ts'
import { warmPeers } from './server/peers.ts'

/** So long after the server listens, and between two of them: nothing else runs while one is evaluated. */
const pauseMs = 250
const betweenMs = 20

export type Heavy = () => Promise<unknown>

/** What this server will need, one by one; the largest parts of the protocol's library before what uses them. */
export function listHeavy(
  book: Pick<AgentBook, 'names' | 'get'>,
  providers: Providers,
  env: Readonly<Record<string, string | undefined>>,
): Heavy[] {
  const agents = book.names().flatMap((name) => book.get(name) ?? [])
  const packages = listPackages(agents, providers, env)
  const drives = agents.some(isDriven)
  const hasServers = agents.some(({ mcpServers }) => Object.keys(mcpServers).length > 0)
  return [
    loadTokenizer,
    warmPeers,
    ...packages,
    ...(packages.length > 0 ? [loadTable] : []),
    () => import('@modelcontextprotocol/server'),
    () => import('./adapters/mcp/mcp-handler.ts'),
    ...(drives ? [() => import('./adapters/acp/conversation.ts')] : []),
    ...(hasServers ? [() => import('./adapters/mcp/tools.ts')] : []),
  ]
}

/** One that cannot be loaded says so when it is needed. */
export async function warmUp(parts: readonly Heavy[], clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(pauseMs, signal)
    for (const part of parts) {
      await part().catch(() => undefined)
      await clock.sleep(betweenMs, signal)
    }
  } catch {
    // The server is leaving.
  }
}
