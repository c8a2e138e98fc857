/** One server with the user's own configuration, and projects beside each other. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import { loadConfig } from '../../src/config.ts'
import type { Json } from '../../src/model/json.ts'
import { openServer, type OpenServer, type OpenServerOptions } from '../../src/open-server.ts'
import { trustText } from './trust.ts'

export type World = {
  root: string
  /** The directory of a project or of anything else, made at its first use. */
  dir(name: string): string
  /** Writes a file below the root. */
  put(path: string, text: string): void
  /** Writes a project's configuration, and agrees to it. */
  project(name: string, text: string): string
  trust(name: string, text: string): void
  serve(options?: OpenServerOptions): Promise<OpenServer>
}

export function projectWorld(own = ''): World {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-projects-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const env = { XDG_CONFIG_HOME: join(root, 'xdg') }
  const put = (path: string, text: string): void => {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const dir = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true })
    return join(root, name)
  }
  const trust = (name: string, text: string): void =>
    trustText(env, root, join(dir(name), 'tieline.toml'), text)
  if (own !== '') put('xdg/tieline/tieline.toml', own)
  return {
    root,
    dir,
    put,
    trust,
    project(name, text) {
      put(`${name}/tieline.toml`, text)
      trust(name, text)
      return join(root, name)
    },
    async serve(options = {}) {
      const loaded = await loadConfig({ cwd: dir('elsewhere'), env, home: root })
      const served = await openServer({
        loaded,
        dataDir: join(root, 'data'),
        port: 0,
        cwd: dir('elsewhere'),
        ...options,
      })
      onTestFinished(() => served.close())
      return served
    },
  }
}

/** A scripted agent that says one thing. */
export const speaker = (name: string, says: string, more = ''): string =>
  `[agents.${name}]\ndriver = "scripted"\nscript = [{ say = "${says}" }]\n${more}\n`

/** A scripted agent that calls another one and says what that said. */
export const asker = (name: string, callee: string): string => `[agents.${name}]
driver = "scripted"
tools = ["sub_agent", "call_agent", "list_agents", "create_agent_session"]
allowSubAgentCalls = true
script = [
  { when = { iteration = 1 }, tools = [{ name = "sub_agent", input = { agent_name = "${callee}", task = "say it" } }] },
  { say = "heard {{result.output}} {{result.errors}}" },
]
`

export const clientAt = ({ url }: OpenServer, cwd: string, name = 'a-program'): TielineClient =>
  tielineClient({ url, cwd, name })

export async function overMcp(
  { url }: OpenServer,
  cwd: string,
  tool: string,
  input: Json,
): Promise<Record<string, Json>> {
  const client = new Client({ name: 'a-client', version: '1.0.0' })
  const requestInit = { headers: { 'x-tieline-cwd': cwd } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  try {
    const used = await client.callTool({ name: tool, arguments: input as Record<string, unknown> })
    return (used as CallToolResult).structuredContent as Record<string, Json>
  } finally {
    await client.close()
  }
}
