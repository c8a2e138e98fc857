import { afterEach, describe, expect, test } from 'vitest'
import { jsonRpc, mcpWorld, post, type McpWorld } from '../../../test/kits/mcp.ts'
import { listClientTools } from '../../client-tools.ts'
import { ConfigFile } from '../../config-keys.ts'
import { answerConstant, answerTools } from './constant-answers.ts'

let world: McpWorld | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

const version = '1.2.3'
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** The bytes of the result, as the server's own door sends it. */
async function ask(method: string, params: object, headers: Record<string, string> = {}): Promise<string> {
  world ??= await mcpWorld({ agents: { echo: { script: ({ task }) => task } } })
  const said = await (await post(world, jsonRpc(method, params, 1), headers)).text()
  const { result } = JSON.parse(said.replace(/^event: message\ndata: /, '')) as { result: unknown }
  return JSON.stringify(result)
}
const modern = (method: string): Record<string, string> => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
})

describe('what is answered without a server is what the server answers, byte by byte', () => {
  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07', '2026-07-28', 'nonsense'])(
    'the handshake of %s',
    async (protocolVersion) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
      const own = answerConstant({ method: 'initialize', params }, version)
      expect(JSON.stringify(own)).toBe(await ask('initialize', params))
    },
  )

  test('the discovery of 2026-07-28, and a ping of the others', async () => {
    const found = answerConstant({ method: 'server/discover', params: { _meta: meta } }, version)
    expect(JSON.stringify(found)).toBe(
      await ask('server/discover', { _meta: meta }, modern('server/discover')),
    )
    expect(JSON.stringify(answerConstant({ method: 'ping', params: {} }, version))).toBe(
      await ask('ping', {}),
    )
  })

  test('the list of tools', async () => {
    const tools = listClientTools(ConfigFile.parse({}))
    expect(JSON.stringify(answerTools(tools, {}, version))).toBe(await ask('tools/list', {}))
    expect(JSON.stringify(answerTools(tools, { _meta: meta }, version))).toBe(
      await ask('tools/list', { _meta: meta }, modern('tools/list')),
    )
  })
})

test('the list follows the configuration', () => {
  const names = (config: object): string[] =>
    listClientTools(ConfigFile.parse(config)).map((tool) => (tool as { name: string }).name)
  expect(names({})).not.toContain('subagent')
  expect(names({ subagent: { agent: 'coder' } })).toContain('subagent')
  expect(names({ tools: { enable: ['sub_agent'] } })).toEqual(['sub_agent'])
})

test('anything else is left to the server', () => {
  for (const method of ['tools/call', 'tools/list', 'resources/list'])
    expect(answerConstant({ method, params: {} }, version)).toBeNull()
  expect(answerConstant({ method: 'server/discover', params: {} }, version)).toBeNull()
})
