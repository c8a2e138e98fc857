import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

test('mcp starts a server that stays, speaks only the protocol, and ends with its input', async () => {
  const { cwd, data } = project()
  const mcp = start(cwd, ['mcp'])
  const ask = (id: number, method: string, params: object): unknown =>
    mcp.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  ask(1, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  await mcp.says('"id":1')
  mcp.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  ask(2, 'tools/call', { name: 'sub_agent', arguments: { agent_name: 'helper', task: 'tea' } })
  await mcp.says('"id":2')
  const { pid, url } = JSON.parse(readFileSync(join(data, 'server.json'), 'utf8')) as {
    pid: number
    url: string
  }
  try {
    mcp.child.stdin.end()
    const { code, out } = await mcp.ended
    expect(code).toBe(0)
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc),
    ).toEqual(['2.0', '2.0'])
    expect(out).toContain('hello 世界')
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
  } finally {
    process.kill(pid, 'SIGTERM')
  }
  await expect.poll(() => existsSync(join(data, 'server.json')), { timeout: 20_000 }).toBe(false)
})
