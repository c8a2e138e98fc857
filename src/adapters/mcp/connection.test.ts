/** Connections to servers that misbehave: a small server of our own that does what its flags say. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { Agent, type McpServer } from '../../model/agent.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../runtime/kernel/ports.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { connectionTo, type ConnectionDeps } from './connection.ts'
import { mcpTools } from './tools.ts'

/** Speaks just enough of the protocol. `names`: of its tools; each does what its name says. */
const program = `
const { names, chatty } = JSON.parse(process.argv[1])
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] })
const acts = {
  pid: () => text(process.pid),
  leave: () => {
    const helper = require('node:child_process').spawn('sleep', ['600'], { stdio: 'inherit' })
    setTimeout(() => process.exit(), 50)
    return text(helper.pid)
  },
}
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' },
  }),
  'tools/list': () => ({ tools: names.map((name) => ({ name, description: name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name }) => acts[name](),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (chatty) process.stdout.write('listening on nothing\\n')
  if (answers[method] !== undefined) say({ id, result: answers[method](params) })
})
`

const server = (names: readonly string[], chatty = false): McpServer => ({
  command: process.execPath,
  args: ['-e', program, JSON.stringify({ names, chatty })],
  env: {},
  repeatable: [],
})

function surroundings(): ConnectionDeps & { warnings: string[] } {
  const warnings: string[] = []
  return {
    warnings,
    clock: systemClock,
    cwd: tmpdir(),
    version: '0.0.0',
    warn: (text) => warnings.push(text),
    env: { PATH: process.env['PATH'] },
    launcher: { wrap: async (command) => ({ ...command, sandboxed: false }) },
  }
}

function connect(names: readonly string[]) {
  const connection = connectionTo(server(names), surroundings(), undefined)
  onTestFinished(() => connection.close())
  return connection
}

const offered = (names: readonly string[], chatty = false) => offeredBy(server(names, chatty))

async function offeredBy(from: McpServer) {
  const deps = surroundings()
  const mcp = mcpTools(deps)
  onTestFinished(() => mcp.close())
  const tools = await mcp.of(Agent.parse({ name: 'a', mcpServers: { srv: from } }))
  const { signal } = new AbortController()
  const run = (name: string): Promise<ToolAnswer> =>
    (tools.find((tool) => tool.name === name) as Tool).run({}, {
      signal,
      turn: { id: 'turn_1' },
    } as unknown as ToolContext)
  return { tools, run, warnings: deps.warnings }
}

type Asked = { id?: number; method?: string }

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const listening = createServer(answer).listen(0, '127.0.0.1')
  onTestFinished(() => listening.close().closeAllConnections())
  await once(listening, 'listening')
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}/mcp`
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a connection that ends late does not take the newer one with it', async () => {
  const connection = connect(['pid'])
  const older = await connection.open(null)
  connection.drop(older)
  const newer = await connection.open(null)
  expect(newer).not.toBe(older)
  await older.close()
  expect(await connection.open(null)).toBe(newer)
})

test('R11: of very many tools of a server the first 256 are offered', async () => {
  const connection = connect(Array.from({ length: 300 }, (_, n) => `tool-${n}`))
  const tools = await (await connection.open(null)).tools()
  expect(tools.map(({ name }) => name)).toEqual(Array.from({ length: 256 }, (_, n) => `tool-${n}`))
})

test('of two tools that would have one name the first is offered, and somebody is told', async () => {
  const { tools, warnings } = await offered(['a.b', 'a_b', 'c'])
  expect(tools.map((tool) => tool.name)).toEqual(['srv_a_b', 'srv_c'])
  expect(tools[0]?.describe({} as never).description).toBe('a.b')
  expect(warnings).toEqual([expect.stringContaining('its tool "a_b" is left out')])
})

test('a server may print other things beside its messages', async () => {
  const { run } = await offered(['pid'], true)
  const first = await run('srv_pid')
  expect(first.ok).toBe(true)
  expect(await run('srv_pid')).toEqual(first)
})

test('a connection that broke is opened again at the next call', async () => {
  let opened = 0
  let isBroken = true
  const answers: Record<string, () => object> = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: `small ${(opened += 1)}`, version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'pid', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'here' }] }),
  }
  const url = await listen(async (request, response) => {
    const { id, method } = (request.method === 'POST' ? await json(request) : {}) as Asked
    if (method === 'tools/call' && isBroken) return void request.socket.destroy()
    if (id === undefined) return void response.writeHead(request.method === 'GET' ? 405 : 202).end()
    const answer = method === undefined ? undefined : answers[method]?.()
    const error = { code: -32601, message: 'unknown' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ jsonrpc: '2.0', id, ...(answer === undefined ? { error } : { result: answer }) }),
    )
  })
  const { run } = await offeredBy({ url, headers: {}, repeatable: [] })
  expect((await run('srv_pid')).value).toContain('broke during pid, which may have run')
  isBroken = false
  expect(await run('srv_pid')).toEqual({ ok: true, value: 'here' })
  expect(opened).toBe(2)
})

test('what a server has started ends with it, also where it leaves by itself', async () => {
  const { run } = await offered(['leave'])
  const helper = Number((await run('srv_leave')).value)
  expect(helper).toBeGreaterThan(0)
  onTestFinished(() => void (isAlive(helper) && process.kill(helper, 'SIGKILL')))
  await expect.poll(() => isAlive(helper)).toBe(false)
})
