import { afterEach, describe, expect, test } from 'vitest'
import { exchangeOf } from '../../../test/kits/askers.ts'
import type { Client } from '@modelcontextprotocol/client'
import {
  callTool,
  fieldsIn,
  jsonRpc,
  mcpWorld,
  post,
  revisions,
  whoHeader,
  whoText,
  type McpWorld,
} from '../../../test/kits/mcp.ts'
import type { SessionId } from '../../model/id.ts'
import { describeClient, connectionId, programIn } from './server-client.ts'

let world: McpWorld | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

async function open(): Promise<McpWorld> {
  world = await mcpWorld({ agents: { echo: { script: ({ task }) => `echo: ${task}` } } })
  return world
}

describe.each(revisions)('over revision %s', (revision) => {
  test('a client acts as a session of its own, by its name and by the conversation that it tells of', async () => {
    const w = await open()
    const own = async (client: Client, meta?: Record<string, unknown>): Promise<string> => {
      const params = { name: 'list-session', arguments: {}, ...(meta === undefined ? {} : { _meta: meta }) }
      return fieldsIn(await client.callTool(params))['you'] as string
    }
    const here = { 'x-tieline-cwd': process.cwd() }
    const first = await own(await w.connect(revision, { name: 'Claude Code', headers: here }))
    expect(first).toMatch(/^ses_/)
    expect(await own(await w.connect(revision, { name: 'Claude Code', headers: here }))).toBe(first)
    const others = [
      await own(await w.connect(revision, { name: 'codex' })),
      await own(
        await w.connect(revision, { name: 'Claude Code', headers: { 'x-tieline-client-session': 'one' } }),
      ),
      await own(await w.connect(revision, { name: 'codex' }), { threadId: 'thread-1', sessionId: 's' }),
      await own(await w.connect(revision, { name: 'codex' }), { threadId: 'thread-2', sessionId: 's' }),
    ]
    expect(new Set([first, ...others]).size).toBe(5)
    const view = await exchangeOf(w.line.desks).sessionView(first as SessionId)
    expect(view).toMatchObject({ agent: 'external', kind: 'external', cwd: process.cwd() })
  })

  test('a client says in which directory it works', async () => {
    const w = await open()
    const client = await w.connect(revision, {
      name: 'elsewhere',
      headers: { 'x-tieline-cwd': encodeURIComponent('/tmp') },
    })
    await callTool(client, 'list-session', {})
    const { sessions } = await exchangeOf(w.line.desks).sessions({
      dir: '/tmp',
      active: null,
      agent: 'external',
      parent: null,
      archived: false,
      cursor: null,
      limit: 10,
    })
    expect(sessions).toHaveLength(1)
  })
})

describe.each(revisions)('tokens and traces over revision %s', (revision) => {
  test('whoever has a token of a session acts as that session', async () => {
    const w = await open()
    const session = await exchangeOf(w.line.desks).clientSession('somebody', process.cwd())
    const client = await w.connect(revision, {
      headers: { [whoHeader]: whoText({ kind: 'session', session }) },
    })
    expect(fieldsIn(await callTool(client, 'list-session', {}))).toMatchObject({ you: session })
    const gone = await w.connect(revision, {
      headers: { [whoHeader]: whoText({ kind: 'session', session: 'ses_0' }) },
    })
    await expect(gone.listTools()).rejects.toThrow('There is no session "ses_0"')
    const refused = await callTool(gone, 'sub_agent', { agent_name: 'echo', task: 'x' })
    expect(refused.isError).toBe(true)
    expect(fieldsIn(refused)).toMatchObject({
      agent_name: 'echo',
      success: false,
      outcome: 'refused',
      errors: [expect.stringContaining('ses_0')],
    })
  })

  test('the trace of a client goes on in what it asks for', async () => {
    const w = await open()
    const client = await w.connect(revision)
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const result = await client.callTool({
      name: 'sub_agent',
      arguments: { agent_name: 'echo', task: 'x' },
      _meta: { traceparent },
    })
    await client.callTool({
      name: 'sub_agent',
      arguments: { agent_name: 'echo', task: 'y' },
      _meta: { traceparent: 'nonsense' },
    })
    const record = await exchangeOf(w.line.desks).call(fieldsIn(result)['call_id'] as string)
    const { events } = await w.line.store.read(0, { types: ['message.sent'] }, 100)
    const traces = events.flatMap(({ event }) => (event.type === 'message.sent' ? [event.trace] : []))
    expect(record?.outcome).toBe('completed')
    expect(traces).toEqual([traceparent, null])
  })
})

test('a server that was started anew goes on with the clients of the old one', async () => {
  const w = await open()
  const ask = jsonRpc('tools/call', { name: 'list-session', arguments: {} }, 2)
  const said = await post(w, ask, { 'mcp-session-id': 'old-client.42' })
  expect(said.status).toBe(200)
  expect(await said.text()).toContain('ses_client-old-client_42')
})

describe('what a client says about itself', () => {
  const said = (meta: unknown, headers: Record<string, string> = {}, program: string | null = 'codex') =>
    describeClient({ meta, headers: new Headers(headers), program }, 'codex.42')

  test('is made plain', () => {
    expect(said({ threadId: '\n\n' }, {}, '???')).toMatchObject({ name: 'mcp', connection: '42' })
    expect(said({ threadId: 5, sessionId: ['x'] })).toMatchObject({ name: 'codex', session: undefined })
  })

  test('comes from the nearest place that says it', () => {
    expect(said({ threadId: 't', sessionId: 's' })).toMatchObject({ session: 't' })
    expect(said({ sessionId: 's' }, { 'x-tieline-client-session': 'h' })).toMatchObject({ session: 'h' })
    expect(
      said(
        { sessionId: 's', 'tieline/client': { name: 'claude-code', session: 'c', cwd: '/work' } },
        { 'x-tieline-client-session': 'h', 'x-tieline-cwd': '/other' },
      ),
    ).toMatchObject({ name: 'claude-code', session: 'c', cwd: '/work' })
  })

  test('a variable that a client did not fill in says nothing', () => {
    const headers = { 'x-tieline-client-session': '${COPILOT_AGENT_SESSION_ID}', 'x-tieline-cwd': '/${PWD}' }
    expect(said({}, headers)).toMatchObject({ session: undefined, cwd: undefined })
  })

  test('is a directory only if it is a whole path', () => {
    expect(said({}, { 'x-tieline-cwd': '%2Ftmp%2F%C3%BC' }).cwd).toBe('/tmp/ü')
    expect(said({}, { 'x-tieline-cwd': '/tmp/100%' }).cwd).toBe('/tmp/100%')
    for (const path of ['relative', '/nul%00', `/${'x'.repeat(5000)}`])
      expect(said({}, { 'x-tieline-cwd': path }).cwd).toBeUndefined()
  })
})

test('the name of a client is read back from the id of its connection', () => {
  expect(programIn(connectionId('Claude Code 2.1', '42'))).toBe('Claude-Code-2.1')
  expect(programIn(connectionId('', '42'))).toBe('mcp')
  expect([programIn(null), programIn('nodots'), programIn('.1')]).toEqual([null, null, null])
})
