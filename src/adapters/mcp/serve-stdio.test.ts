import { spawn } from 'node:child_process'
import { exchangeOf } from '../../../test/kits/askers.ts'
import { compiled } from '../../../test/kits/compiled.ts'
import { once } from 'node:events'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Client } from '@modelcontextprotocol/client'
import {
  callTool,
  fieldsIn,
  hello,
  jsonRpc,
  mcpWorld,
  revisions,
  textIn,
  worker,
  type McpWorld,
  type Revision,
} from '../../../test/kits/mcp.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { OpenLineOptions } from '../../open-line.ts'
import { stdioTransport } from './stdio-transport.ts'

const script = fileURLToPath(new URL('../../../test/mcp/stdio-process.ts', import.meta.url))

let directory: string
let address: string
let world: McpWorld | null = null
let clients: Client[]
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'tieline-stdio-')))
  address = join(directory, 'address')
  clients = []
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await world?.close()
  world = null
  await rm(directory, { recursive: true })
})

async function open(options: OpenLineOptions = {}): Promise<McpWorld> {
  world = await mcpWorld(
    { ...options, agents: { echo: { script: ({ task }) => `echo: ${task}` }, ...options.agents } },
    () => ({ progressMs: 50 }),
  )
  await writeFile(address, world.url)
  return world
}

async function connect(
  revision: Revision,
  env: Record<string, string> = {},
): Promise<{ client: Client; stderr: () => string }> {
  const client = new Client(
    { name: 'Some Client', version: '1' },
    { versionNegotiation: { mode: revision === '2025-11-25' ? 'legacy' : 'auto' } },
  )
  const transport = stdioTransport(
    {
      program: process.execPath,
      args: [script, address],
      env: { ...compiled, PATH: process.env['PATH'] ?? '', ...env },
      cwd: directory,
    },
    systemClock,
  )
  await client.connect(transport)
  clients.push(client)
  return { client, stderr: () => transport.stderr() }
}

/** Where nobody listens. */
async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return `http://127.0.0.1:${port}`
}

describe.each(revisions)('over revision %s', (revision) => {
  test('the tools of the server are listed and used', async () => {
    await open()
    const { client } = await connect(revision)
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    const { tools } = await client.listTools()
    expect(tools.find((tool) => tool.name === 'sub_agent')).toMatchObject({
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: false },
      _meta: { 'anthropic/alwaysLoad': true },
    })
    expect(
      fieldsIn(await callTool(client, 'sub_agent', { agent_name: 'echo', task: 'hello' })),
    ).toMatchObject({ output: 'echo: hello', outcome: 'completed' })
    await expect(callTool(client, 'no_such_tool', {})).rejects.toThrow('Unknown tool: no_such_tool')
  })

  test('the server knows the client by its name, its conversation and its directory', async () => {
    const w = await open()
    const { client } = await connect(revision, { CLAUDE_CODE_SESSION_ID: 'conversation-1' })
    await callTool(client, 'list-session', {})
    const { sessions } = await exchangeOf(w.line.desks).sessions({
      dir: directory,
      active: null,
      agent: 'external',
      parent: null,
      archived: false,
      cursor: null,
      limit: 10,
    })
    expect(sessions.map(({ title }) => title).toSorted()).toEqual([
      `Some-Client@${directory}`,
      'Some-Client_conversation-1',
    ])
  })

  test('progress comes through, and a cancellation goes through', async () => {
    const busy = worker()
    await open({ agents: { busy: busy.agent } })
    const { client } = await connect(revision)
    const stop = new AbortController()
    const told: string[] = []
    const running = client.callTool(
      { name: 'sub_agent', arguments: { agent_name: 'busy', task: 'x' } },
      {
        signal: stop.signal,
        onprogress: ({ message }) => {
          told.push(message ?? '')
          if (told.length === 3) stop.abort(new Error('enough'))
        },
      },
    )
    await expect(running).rejects.toThrow('enough')
    expect(told[0]).toMatch(/busy is at work$/)
    await expect.poll(() => busy.seen, { timeout: 10_000 }).toEqual(['started', 'aborted'])
  })
})

test('a server that went away is told to the model, and one that came back elsewhere is found', async () => {
  await open()
  const { client, stderr } = await connect('2025-11-25')
  await world?.close()
  await writeFile(address, await freeAddress())
  const failed = await callTool(client, 'sub_agent', { agent_name: 'echo', task: 'x' })
  expect(failed.isError).toBe(true)
  expect(textIn(failed)).toMatch(/The Tieline server cannot be reached: .*ECONNREFUSED/)
  await expect(client.listTools()).rejects.toThrow('The Tieline server cannot be reached')
  await open()
  expect(fieldsIn(await callTool(client, 'sub_agent', { agent_name: 'echo', task: 'x' }))).toMatchObject({
    success: true,
  })
  // What never arrived is sent again to where the server is now, and nobody notices.
  await world?.close()
  await open()
  expect(fieldsIn(await callTool(client, 'sub_agent', { agent_name: 'echo', task: 'y' }))).toMatchObject({
    output: 'echo: y',
  })
  expect(stderr()).toContain('cannot be reached')
})

test('a connection that breaks cancels its call; the retry has the same key, and calls nobody again', async () => {
  const busy = worker()
  const w = await open({ agents: { busy: busy.agent } })
  const { client } = await connect('2025-11-25')
  const running = callTool(client, 'sub_agent', { agent_name: 'busy', task: 'x' })
  await busy.started
  w.app.server.closeAllConnections()
  const broken = await running
  expect(broken.isError).toBe(true)
  expect(textIn(broken)).toContain('cancelled')
  expect(fieldsIn(await callTool(client, 'sub_agent', { agent_name: 'echo', task: 'after' }))).toMatchObject({
    success: true,
  })
  expect(busy.seen.filter((seen) => seen === 'started')).toHaveLength(1)
})

test('standard output has only the protocol, and the process ends with its input and cancels its calls', async () => {
  const busy = worker()
  await open({ agents: { busy: busy.agent } })
  const child = spawn(process.execPath, [script, address], {
    cwd: directory,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stdin.write(
    `${hello('raw')}\n${jsonRpc('notifications/initialized', {})}\nthis is no JSON\n${jsonRpc('tools/list', {}, 2)}\n`,
  )
  await expect.poll(() => output.split('\n').length, { timeout: 10_000 }).toBeGreaterThanOrEqual(3)
  child.stdin.write(
    `${jsonRpc('tools/call', { name: 'sub_agent', arguments: { agent_name: 'busy', task: 'x' } }, 3)}\n`,
  )
  await busy.started
  child.stdin.end()
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  for (const line of output.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
  await expect.poll(() => busy.seen, { timeout: 10_000 }).toEqual(['started', 'aborted'])
})
