import { Ajv2020 } from 'ajv/dist/2020.js'
import { exchangeOf } from '../../../test/kits/askers.ts'
import { afterEach, describe, expect, test } from 'vitest'
import type { CallToolResult } from '@modelcontextprotocol/client'
import {
  callTool,
  fieldsIn,
  hello,
  jsonRpc,
  mcpWorld,
  post,
  revisions,
  textIn,
  whoHeader,
  type McpWorld,
  type Revision,
} from '../../../test/kits/mcp.ts'
import type { OpenLine } from '../../open-line.ts'
import type { ToolName } from '../../wire/tools.ts'
import { outputSchemas } from './server-tools.ts'
import type { McpDoorDeps } from './serve.ts'

const ours = [
  'sub_agent',
  'call_agent',
  'wait_for_call',
  'read_output',
  'steer_call',
  'list_agents',
  'send_agent_message',
  'get_session_state',
  'create_agent_session',
  'wait_for_session',
  'list-session',
  'send-message',
  'buffer',
  'wait_for_mail',
]

let world: McpWorld | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

async function open(door?: (line: OpenLine) => Partial<McpDoorDeps>): Promise<McpWorld> {
  world = await mcpWorld(
    {
      agents: {
        echo: { description: 'Says it again', script: ({ task }) => `echo: ${task}` },
        broken: { script: () => Promise.reject(new Error('no idea')) },
        lines: { script: ({ task }) => task.repeat(3) },
      },
    },
    door,
  )
  return world
}

describe.each(revisions)('over revision %s', (revision) => {
  test('the tools are listed with what clients want to know about them', async () => {
    const client = await (await open()).connect(revision)
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    expect(client.getServerVersion()).toMatchObject({ name: 'tieline', version: '1.2.3' })
    const { tools } = await client.listTools()
    expect(tools.map((tool) => tool.name).toSorted()).toEqual(ours.toSorted())
    expect(tools.find((tool) => tool.name === 'sub_agent')).toMatchObject({
      title: 'Give a task to an agent',
      description: expect.stringContaining('Gives another agent a task'),
      inputSchema: { type: 'object', required: ['agent_name', 'task'] },
      outputSchema: { type: 'object', required: expect.arrayContaining(['output', 'outcome', 'call_id']) },
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
      _meta: { 'anthropic/alwaysLoad': true, 'anthropic/maxResultSizeChars': expect.any(Number) },
    })
    expect(
      tools
        .filter((tool) => tool.annotations?.readOnlyHint === true)
        .map((tool) => tool.name)
        .toSorted(),
    ).toEqual([
      'get_session_state',
      'list-session',
      'list_agents',
      'read_output',
      'wait_for_call',
      'wait_for_mail',
      'wait_for_session',
    ])
  })

  test('a call is answered in both parts of the result, each complete', async () => {
    const client = await (await open()).connect(revision)
    const result = await callTool(client, 'sub_agent', { agent_name: 'echo', task: 'hello' })
    expect(result.isError).not.toBe(true)
    expect(fieldsIn(result)).toEqual({
      agent_name: 'echo',
      notes: [],
      success: true,
      output: 'echo: hello',
      tool_calls: [],
      tokens_used: expect.any(Number),
      duration_seconds: expect.any(Number),
      errors: [],
      call_id: expect.stringMatching(/^call_/),
      outcome: 'completed',
      truncated: false,
      you: expect.stringMatching(/^ses_client-a-client/),
    })
    expect(JSON.parse(textIn(result))).toEqual(fieldsIn(result))
  })

  test('an agent that fails is an error that the model sees, with the same keys', async () => {
    const client = await (await open()).connect(revision)
    const result = await callTool(client, 'sub_agent', { agent_name: 'broken', task: 'x' })
    expect(result.isError).toBe(true)
    expect(fieldsIn(result)).toMatchObject({
      success: false,
      outcome: 'failed',
      errors: [expect.stringContaining('no idea')],
    })
  })
})

describe.each(revisions)('shapes over revision %s', (revision) => {
  test('what every tool answers has the shape that it says it has', async () => {
    const w = await open()
    const client = await w.connect(revision)
    const check = (name: string, result: CallToolResult): Record<string, unknown> => {
      const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
        outputSchemas()[name as ToolName] as object,
      )
      expect(validate(fieldsIn(result)), `${name}: ${JSON.stringify(validate.errors)}`).toBe(true)
      expect(textIn(result)).not.toBe('')
      return fieldsIn(result)
    }
    const use = async (name: string, input: Record<string, unknown>) =>
      check(name, await callTool(client, name, input))
    await use('sub_agent', { agent_name: 'broken', task: 'x' })
    await use('sub_agent', { agent_name: 'nobody', task: 'x' })
    expect(await use('call_agent', { agent_id: 'echo', message: 'hi' })).toMatchObject({
      success: true,
      response: 'echo: hi',
      call_chain: ['external', 'echo'],
    })
    await use('call_agent', { agent_id: 'nobody', message: 'hi' })
    const started = await use('sub_agent', { agent_name: 'echo', task: 'later', background: true })
    expect(await use('wait_for_call', { call_id: started['call_id'] })).toMatchObject({
      outcome: 'completed',
      output: 'echo: later',
    })
    expect(await use('read_output', { call_id: started['call_id'] })).toMatchObject({
      text: 'echo: later',
      next_offset: null,
    })
    const made = await use('create_agent_session', {
      cwd: process.cwd(),
      agent: 'echo',
      initialMessage: 'first',
    })
    expect(await use('wait_for_session', { sessionId: made['sessionId'] })).toMatchObject({
      status: 'idle',
      lastMessage: { content: 'echo: first' },
    })
    expect(
      await use('send_agent_message', { sessionId: made['sessionId'], message: 'second' }),
    ).toMatchObject({ status: 'dispatched' })
    await use('get_session_state', { sessionId: made['sessionId'] })
    expect(await use('list-session', { dir: '*' })).toMatchObject({
      sessions: expect.arrayContaining([expect.objectContaining({ id: made['sessionId'] })]),
    })
    const { you: own } = await use('list-session', {})
    const other = await w.connect(revision, { name: 'other' })
    expect(
      check('send-message', await callTool(other, 'send-message', { session: own, message: 'hello' })),
    ).toMatchObject({ session: own, buffered: true })
    expect(await use('buffer', {})).toMatchObject({ total: 1, messages: [{ to: own, status: 'buffered' }] })
    expect(await use('buffer', { accept: true })).toMatchObject({ accepted: true, message: { to: own } })
  })
})

describe.each(revisions)('refusals and long answers over revision %s', (revision) => {
  test('a tool that is not offered is refused in its own shape; an unknown one is a protocol error', async () => {
    const client = await (await open()).connect(revision)
    const disabled = await callTool(client, 'subagent', { task: 'x' })
    expect(disabled.isError).toBe(true)
    expect(fieldsIn(disabled)).toMatchObject({
      success: false,
      summary: '',
      artifacts: [],
      error: expect.stringContaining('The tool subagent is not available here'),
      timed_out: false,
      truncated: false,
    })
    await expect(callTool(client, 'no_such_tool', {})).rejects.toThrow('Unknown tool: no_such_tool')
  })

  test('a wrong input is told with its field', async () => {
    const client = await (await open()).connect(revision)
    expect(textIn(await callTool(client, 'sub_agent', { task: 'x' }))).toContain('agent_name')
    expect(textIn(await callTool(client, 'wait_for_call', {}))).toContain('call_id')
  })

  test('a long answer has no line that a client would not show', async () => {
    const client = await (await open()).connect(revision)
    const task = `${'word '.repeat(300)}\nsecond line\n`
    const result = await callTool(client, 'sub_agent', { agent_name: 'lines', task })
    const text = textIn(result)
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(1000)
    expect(text.replaceAll('\n', '')).toContain(task.replaceAll('\n', ''))
    expect(fieldsIn(result)).toMatchObject({ output: expect.stringContaining(task.trim()) })
  })
})

test('what is no JSON is answered in the words of the protocol', async () => {
  const w = await open()
  const broken = await post(w, '{"jsonrpc"')
  expect(broken.status).toBe(400)
  expect(await broken.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32700 } })
  expect((await post(w, hello('x'), { 'content-type': 'text/plain' })).status).toBe(415)
  expect((await fetch(w.url)).status).toBe(405)
})

test('whoever the server does not know is turned away', async () => {
  const w = await open()
  const refused = await post(w, hello('x'), { [whoHeader]: JSON.stringify({ code: 'not_authenticated' }) })
  expect(refused.status).toBe(401)
  expect(await refused.json()).toMatchObject({ error: { code: 'not_authenticated' } })
})

test('a call tried again with its key is one call', async () => {
  const w = await open()
  const again = async (revision: Revision): Promise<unknown> =>
    fieldsIn(
      await callTool(
        await w.connect(revision, { headers: { 'idempotency-key': 'k1', 'x-tieline-client-session': 's' } }),
        'sub_agent',
        {
          agent_name: 'echo',
          task: 'once',
        },
      ),
    )['call_id']
  expect(await again('2025-11-25')).toBe(await again('2026-07-28'))
})

/** As clients keep it, byte by byte. */
const listed = async (w: McpWorld, headers: Record<string, string> = {}): Promise<string> =>
  (await post(w, jsonRpc('tools/list', {}, 2), headers)).text()

test('Copilot uses the id of another session, because it keeps descriptions: the list is constant', async () => {
  const w = await open()
  const first = await listed(w, { 'mcp-session-id': 'copilot.1', 'x-tieline-client-session': 'one' })
  expect(first).toContain('sub_agent')
  expect(first).not.toContain('ses_client')
  expect(await listed(w, { 'mcp-session-id': 'copilot.2', 'x-tieline-client-session': 'two' })).toBe(first)
  const agent = { name: 'newcomer', system: '', description: '', model: null, tools: null, id: null }
  await exchangeOf(w.line.desks).createAgent(agent)
  expect(await listed(w)).toBe(first)
  await w.close()
  expect(await listed(await open())).toBe(first)
})

test('a client that only lists the tools leaves no session behind', async () => {
  const w = await open()
  await listed(w, { 'x-tieline-client-session': 'one' })
  expect(await exchangeOf(w.line.desks).sessions({ limit: 10 })).toMatchObject({ sessions: [] })
})

test('a fault is told in general, and reported whole', async () => {
  const w = await open((line) => ({
    desks: {
      ...line.desks,
      as: (asker) => ({
        ...line.desks.as(asker),
        tools: {
          ...line.desks.as(asker).tools,
          use: () => Promise.reject(new Error('the disk is full at /var/secret')),
        },
      }),
    },
  }))
  const client = await w.connect('2026-07-28')
  await expect(callTool(client, 'get_session_state', { sessionId: 'ses_1' })).rejects.toThrow(
    /The server failed while it used get_session_state\. (?!.*secret)/,
  )
  expect(w.faults).toEqual([expect.objectContaining({ message: 'the disk is full at /var/secret' })])
})
