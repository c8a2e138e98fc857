/**
 * The tools as a server lists them to MCP clients, told from its configuration alone: a client does not wait for
 * the server to start.
 */
import { describeTool } from './adapters/mcp/server-tools.ts'
import type { Config } from './config.ts'
import { listForClients } from './runtime/desk/client-tools.ts'
import { configuredTools } from './tools/configured.ts'
import { doorTools, standardTools } from './tools/standard.ts'

export function listClientTools({ tools, subagent }: Pick<Config, 'tools' | 'subagent'>): object[] {
  // Nothing is counted where nothing is run.
  const standard = standardTools(() => 0, subagent.artifactKinds)
  const offered = configuredTools(standard, tools).filter(({ name }) => doorTools.includes(name))
  return listForClients(offered, subagent.agent ?? null).map(describeTool)
}
