import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

/** A project whose agents stand in the user's own file, with a log where that file says. */
function userProject(): { cwd: string; data: string } {
  const { cwd, config, data } = project()
  mkdirSync(join(cwd, 'xdg', 'tieline'), { recursive: true })
  const own = join(cwd, 'xdg', 'tieline', 'tieline.json')
  renameSync(config, own)
  const { server: _server, ...rest } = JSON.parse(readFileSync(own, 'utf8')) as Record<string, unknown>
  writeFileSync(own, JSON.stringify({ ...rest, server: { dataDir: data, port: 0 } }))
  return { cwd, data }
}

function startMcp(cwd: string) {
  const mcp = start(cwd, ['mcp'], { CLAUDE_CODE_SESSION_ID: 'one' })
  const ask = async (id: number, method: string, params: object): Promise<void> => {
    mcp.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    await mcp.says(`"id":${id}`)
  }
  return {
    ...mcp,
    ask,
    hello: () => ask(1, 'initialize', { protocolVersion: '2025-11-25', clientInfo: { name: 'test' } }),
  }
}

const readServer = (data: string) =>
  JSON.parse(readFileSync(join(data, 'server.json'), 'utf8')) as {
    pid: number
    url: string
    config: string | null
  }

test('the server that a client started ends with that client, and mail and calls with it', async () => {
  const { cwd, data } = userProject()
  const mcp = startMcp(cwd)
  await mcp.hello()
  mcp.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  await mcp.ask(2, 'tools/call', { name: 'sub_agent', arguments: { agent_name: 'helper', task: 'tea' } })
  const { pid, url } = readServer(data)
  try {
    // No descendant of the client: programs that end all of theirs do not find it.
    const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
    expect(
      existsSync(`/proc/${parent}`) ? readFileSync(`/proc/${parent}/cmdline`, 'utf8') : '',
    ).not.toContain('mcp')
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('CLAUDE_CODE_SESSION_ID')
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

test('a client starts no server with a file that lies in its directory', async () => {
  const { cwd, data } = userProject()
  const evil = {
    server: { dataDir: './other', port: 0 },
    agents: { evil: { driver: 'scripted', script: [] } },
  }
  writeFileSync(join(cwd, 'tieline.json'), JSON.stringify(evil))
  const mcp = startMcp(cwd)
  await mcp.hello()
  await mcp.ask(2, 'tools/call', { name: 'sub_agent', arguments: { agent_name: 'evil', task: 'x' } })
  const { pid, config } = readServer(data)
  process.kill(pid, 'SIGTERM')
  mcp.child.stdin.end()
  await mcp.ended
  expect(mcp.out()).toContain('which is not used')
  expect([config, existsSync(join(cwd, 'other'))]).toEqual([
    join(cwd, 'xdg', 'tieline', 'tieline.json'),
    false,
  ])
})
