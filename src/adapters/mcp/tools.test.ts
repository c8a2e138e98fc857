import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Agent } from '../../model/agent.ts'
import type { Json } from '../../model/json.ts'
import type { Tool, ToolAnswer, ToolContext, TurnContext } from '../../runtime/kernel/ports.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { mcpTools, type McpTools } from './tools.ts'

const script = fileURLToPath(new URL('../../../test/mcp/server.ts', import.meta.url))

let directory: string
let notes: string
let warnings: string[]
let mcp: McpTools
let ends: (() => void)[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tieline-mcp-'))
  notes = join(directory, 'notes')
  warnings = []
  ends = []
  mcp = mcpTools({
    clock: systemClock,
    cwd: directory,
    version: '0.0.0',
    warn: (text) => warnings.push(text),
    env: { PATH: process.env['PATH'], HOME: '/nowhere', LANG: 'C', ANTHROPIC_API_KEY: 'secret', USER: 'me' },
    launcher: { wrap: async (command) => ({ ...command, sandboxed: false }) },
  })
})
afterEach(async () => {
  await mcp.close()
  for (const end of ends) end()
  await rm(directory, { recursive: true })
})

const agentWith = (mcpServers: Json, name = 'a'): Agent => Agent.parse({ name, mcpServers })
const stdio = (...flags: string[]) => ({
  command: process.execPath,
  args: [script, ...flags],
  env: { NOTES: notes },
})

async function http(port = 0): Promise<{ url: string; port: number; kill(): Promise<unknown> }> {
  const child = spawn(process.execPath, [script, '--http'], {
    env: { NOTES: notes, KEY: 'k', PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ends.push(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  const exited = once(child, 'exit')
  return {
    url: `http://127.0.0.1:${String(line).trim()}/mcp`,
    port: Number(line),
    kill: () => (child.kill('SIGKILL'), exited),
  }
}

function run(
  tools: readonly Tool[],
  name: string,
  input: Json = {},
  signal = new AbortController().signal,
): Promise<ToolAnswer> {
  const tool = tools.find((each) => each.name === name)
  if (tool === undefined)
    throw new Error(`no tool ${name} among ${tools.map((each) => each.name).join(', ')}`)
  return tool.run(input, { signal, turn: { id: 'turn_1' } } as unknown as ToolContext)
}

async function noted(line: string): Promise<void> {
  await expect.poll(() => readFile(notes, 'utf8').catch(() => ''), { timeout: 10_000 }).toContain(line)
}

/**
 * A process that has ended and was not yet collected by its parent still takes signals, so its state is read
 * where that can be done.
 */
const alive = (pid: number): boolean => {
  try {
    return (
      process.kill(pid, 0) &&
      !(existsSync('/proc/self/stat') && readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '))
    )
  } catch {
    return false
  }
}

const serverOver = async (door: string, more: Record<string, Json> = {}): Promise<Json> =>
  door === 'stdio' ? { ...stdio(), ...more } : { url: (await http()).url, headers: { 'x-key': 'k' }, ...more }

describe.each(['stdio', 'http'])('over %s', (door) => {
  test('tools have the name of their server before theirs, and their own descriptions and schemas', async () => {
    const tools = await mcp.of(agentWith({ srv: await serverOver(door) }))
    expect(tools.map((tool) => tool.name)).toEqual([
      'srv_echo',
      'srv_add',
      'srv_fail',
      'srv_env',
      'srv_odd_name',
      'srv_slow',
      'srv_grow',
      'srv_die',
      'srv_helper',
      'srv_pid',
    ])
    expect(tools[0]?.describe({} as TurnContext)).toMatchObject({
      name: 'srv_echo',
      description: 'Says it again',
      input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    })
    expect(warnings).toEqual([expect.stringMatching(/agents\.a\.mcpServers\.srv: its tool "n+" is left out/)])
  })

  test('a tool may be repeated only if the configuration says so, whatever the server says', async () => {
    const tools = await mcp.of(agentWith({ srv: await serverOver(door, { repeatable: ['add'] }) }))
    expect(tools.slice(0, 2).map((tool) => [tool.name, tool.effect, tool.calling])).toEqual([
      ['srv_echo', 'write', false],
      ['srv_add', 'read', false],
    ])
  })

  test('an answer has the text parts joined and the structured content kept, and a failure is marked', async () => {
    const tools = await mcp.of(agentWith({ srv: await serverOver(door) }))
    expect(await run(tools, 'srv_echo', { text: 'hello' })).toEqual({ ok: true, value: 'hello' })
    expect(await run(tools, 'srv_add', { a: 1, b: 2 })).toEqual({
      ok: true,
      value: { text: 'the sum\n[image, image/png, not shown]\nis 3', structuredContent: { sum: 3 } },
    })
    expect(await run(tools, 'srv_fail')).toEqual({ ok: false, value: 'it went wrong' })
    expect(await run(tools, 'srv_odd_name')).toEqual({ ok: true, value: 'odd' })
  })
})

describe.each(['stdio', 'http'])('calls that fail over %s', (door) => {
  test('a wrong input is a failed answer, not a throw', async () => {
    const tools = await mcp.of(agentWith({ srv: await serverOver(door) }))
    expect(await run(tools, 'srv_echo', { text: 1 })).toMatchObject({
      ok: false,
      value: expect.stringContaining('text'),
    })
    expect(await run(tools, 'srv_echo', 'hello')).toMatchObject({
      ok: false,
      value: expect.stringContaining('named arguments'),
    })
  })

  test('an abort cancels the request at the server and throws its reason', async () => {
    const tools = await mcp.of(agentWith({ srv: await serverOver(door) }))
    const stop = new AbortController()
    const running = run(tools, 'srv_slow', {}, stop.signal)
    await noted('slow started')
    stop.abort(new Error('the turn was cancelled'))
    await expect(running).rejects.toThrow('the turn was cancelled')
    await noted('slow cancelled')
    expect(await run(tools, 'srv_echo', { text: 'still there' })).toEqual({ ok: true, value: 'still there' })
  })

  test('a server that dies during a call fails that call', async () => {
    const tools = await mcp.of(agentWith({ srv: await serverOver(door) }))
    expect(await run(tools, 'srv_die')).toMatchObject({
      ok: false,
      value: expect.stringContaining('broke during die, which may have run'),
    })
  })
})

test('a process that died is started again by the next call', async () => {
  const tools = await mcp.of(agentWith({ srv: stdio() }))
  const first = await run(tools, 'srv_pid')
  await run(tools, 'srv_die')
  const second = await run(tools, 'srv_pid')
  expect(second.ok).toBe(true)
  expect(second.value).not.toBe(first.value)
})

test('an HTTP server that went away fails its calls, and is found again when it is back', async () => {
  const first = await http()
  const tools = await mcp.of(agentWith({ srv: { url: first.url, headers: { 'x-key': 'k' } } }))
  await first.kill()
  expect(await run(tools, 'srv_echo', { text: 'x' })).toMatchObject({
    ok: false,
    value: expect.stringContaining('ECONNREFUSED'),
  })
  await http(first.port)
  expect(await run(tools, 'srv_echo', { text: 'back' })).toEqual({ ok: true, value: 'back' })
})

test('an agent and its server share one process, and another agent has its own', async () => {
  const [one, two, other] = await Promise.all([
    mcp.of(agentWith({ srv: stdio() })),
    mcp.of(agentWith({ srv: stdio() })),
    mcp.of(agentWith({ srv: stdio() }, 'b')),
  ])
  const pids = await Promise.all([run(one, 'srv_pid'), run(two, 'srv_pid'), run(other, 'srv_pid')])
  expect(pids[0]).toEqual(pids[1])
  expect(pids[0]).not.toEqual(pids[2])
})

test('a list of tools that changed is read again', async () => {
  const agent = agentWith({ srv: stdio() })
  await run(await mcp.of(agent), 'srv_grow')
  await expect.poll(async () => (await mcp.of(agent)).map((tool) => tool.name)).toContain('srv_grown')
})

test('a process sees PATH, HOME, LANG, TERM and its configured variables, and nothing else of ours', async () => {
  const tools = await mcp.of(agentWith({ srv: stdio() }))
  const { value } = await run(tools, 'srv_env')
  expect(JSON.parse(value as string)).toEqual({
    PATH: process.env['PATH'],
    HOME: '/nowhere',
    LANG: 'C',
    NOTES: notes,
  })
})

test.each([
  ['does not exist', () => ({ command: 'tieline-no-such-command' }), 'ENOENT'],
  ['ends at once', () => stdio('--broken'), 'it said: about to serve'],
  ['is not reachable', () => ({ url: 'http://127.0.0.1:1/mcp' }), 'fetch failed'],
])(
  'a server that %s leaves its agent without its tools and warns once, and others are not touched',
  async (_what, broken, reason) => {
    const agent = agentWith({ broken: broken(), srv: stdio() })
    const tools = await mcp.of(agent)
    expect(tools.filter((tool) => tool.name.startsWith('broken_'))).toEqual([])
    expect(tools.length).toBeGreaterThan(0)
    await mcp.of(agent)
    const told = warnings.filter((text) => text.includes('mcpServers.broken'))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(
      'agents.a.mcpServers.broken: its tools are missing, because the server could not be started',
    )
    expect(told[0]).toContain(reason)
  },
)

test('a wrong key is a failed start that says so', async () => {
  const { url } = await http()
  expect(await mcp.of(agentWith({ srv: { url, headers: { 'x-key': 'wrong' } } }))).toEqual([])
  expect(warnings.join()).toMatch(/401|[Uu]nauthori[sz]ed/)
})

test.each([
  ['by itself', [], 5000],
  ['only when killed', ['--stuck'], 8000],
])('closing ends a server that stops %s, and the helpers that it left', async (_how, flags, msMax) => {
  const tools = await mcp.of(agentWith({ srv: stdio(...flags) }))
  const pids = await Promise.all([run(tools, 'srv_pid'), run(tools, 'srv_helper')])
  const start = performance.now()
  await mcp.close()
  expect(performance.now() - start).toBeLessThan(msMax)
  await expect.poll(() => pids.some((pid) => alive(Number(pid.value)))).toBe(false)
  expect(await run(tools, 'srv_pid')).toMatchObject({
    ok: false,
    value: expect.stringContaining('shutting down'),
  })
})
