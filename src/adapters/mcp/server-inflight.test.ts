import { exchangeOf } from '../../../test/kits/askers.ts'
import { request as httpRequest } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import {
  callTool,
  fieldsIn,
  hello,
  jsonRpc,
  mcpWorld,
  post,
  revisions,
  whoHeader,
  whoText,
  worker,
  type McpWorld,
} from '../../../test/kits/mcp.ts'
import type { OpenLine, OpenLineOptions } from '../../open-line.ts'
import type { McpDoorDeps } from './serve.ts'

let world: McpWorld | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

async function open(
  options: OpenLineOptions,
  door?: (line: OpenLine) => Partial<McpDoorDeps>,
): Promise<McpWorld> {
  world = await mcpWorld(options, door)
  return world
}

describe.each(revisions)('over revision %s', (revision) => {
  test('a client that stops waiting cancels the agent that works for it', async () => {
    const busy = worker()
    const client = await (await open({ agents: { busy: busy.agent } })).connect(revision)
    const stop = new AbortController()
    const running = client.callTool(
      { name: 'sub_agent', arguments: { agent_name: 'busy', task: 'x' } },
      { signal: stop.signal },
    )
    void busy.started.then(() => stop.abort(new Error('enough')))
    await expect(running).rejects.toThrow('enough')
    await expect.poll(() => busy.seen, { timeout: 10_000 }).toEqual(['started', 'aborted'])
  })

  test('a long call is kept alive by its progress, which says who is at work', async () => {
    const busy = worker()
    const planner = {
      allowSubAgentCalls: true,
      tools: ['sub_agent'],
      script: async ({
        tool,
      }: {
        tool: (name: string, input: { agent_name: string; task: string }) => Promise<{ value: unknown }>
      }) => JSON.stringify((await tool('sub_agent', { agent_name: 'busy', task: 'y' })).value),
    }
    const w = await open({ agents: { busy: busy.agent, planner } }, () => ({ progressMs: 100 }))
    const client = await w.connect(revision)
    const told: { progress: number; message?: string }[] = []
    const beganAt = Date.now()
    const idleMs = 1500
    const running = client.callTool(
      { name: 'sub_agent', arguments: { agent_name: 'planner', task: 'x', allow_nested_calls: true } },
      {
        timeout: idleMs,
        resetTimeoutOnProgress: true,
        onprogress: (progress) => {
          told.push(progress as { progress: number; message?: string })
          if (Date.now() - beganAt > idleMs * 2) busy.finish('at last')
        },
      },
    )
    expect(fieldsIn(await running)).toMatchObject({
      success: true,
      output: expect.stringContaining('at last'),
    })
    expect(told.length).toBeGreaterThan(3)
    expect(told.map(({ progress }) => progress)).toEqual(
      told.map(({ progress }) => progress).toSorted((a, b) => a - b),
    )
    expect(told.map(({ message }) => message?.replace(/^\d+/, 'n'))).toContain(
      'n s: planner -> busy are at work',
    )
  })
})

describe.each(revisions)('calls that are given up, over revision %s', (revision) => {
  test('without progress the same client gives up, and what it asked for is cancelled', async () => {
    const busy = worker()
    const client = await (
      await open({ agents: { busy: busy.agent } }, () => ({ progressMs: 600_000 }))
    ).connect(revision)
    const running = client.callTool(
      { name: 'sub_agent', arguments: { agent_name: 'busy', task: 'x' } },
      { timeout: 300, resetTimeoutOnProgress: true, onprogress: () => undefined },
    )
    await expect(running).rejects.toThrow(/timed out/i)
    await expect.poll(() => busy.seen, { timeout: 10_000 }).toEqual(['started', 'aborted'])
  })

  test('a server that stops says that the calls go on, and cancels none of them', async () => {
    const busy = worker()
    const w = await open({ agents: { busy: busy.agent } })
    const client = await w.connect(revision)
    const ended = callTool(client, 'sub_agent', { agent_name: 'busy', task: 'x' })
    await busy.started
    await w.app.close()
    expect(await ended).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('goes on when it runs again') as string }],
    })
    busy.finish('done')
    await expect
      .poll(async () =>
        (await exchangeOf(w.line.desks).calls({ session: null, limit: 5 })).map(({ outcome }) => outcome),
      )
      .toEqual(['completed'])
  })
})

test.each([
  ['2025-11-25', {}, {}],
  [
    '2026-07-28',
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'sub_agent' },
    {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  ],
])(
  'a call that blocks is a stream from the start, whatever the client asked for: %s',
  async (_revision, headers, meta) => {
    const busy = worker()
    const w = await open({ agents: { busy: busy.agent } })
    const response = await post(
      w,
      jsonRpc(
        'tools/call',
        { name: 'sub_agent', arguments: { agent_name: 'busy', task: 'x' }, _meta: meta },
        1,
      ),
      headers,
    )
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    busy.finish('done')
    expect(await response.text()).toMatch(/^: begun\n\n[^]*"output":"done"/)
  },
)

test('a cancellation counts only on the connection that made the call', async () => {
  const busy = worker()
  const w = await open({ agents: { busy: busy.agent } })
  const [mine, theirs] = await Promise.all(
    ['one', 'one'].map(async (name) => (await post(w, hello(name))).headers.get('mcp-session-id') ?? ''),
  )
  expect(mine).not.toBe(theirs)
  const running = post(
    w,
    jsonRpc('tools/call', { name: 'sub_agent', arguments: { agent_name: 'busy', task: 'x' } }, 7),
    { 'mcp-session-id': mine ?? '' },
  )
  await busy.started
  const cancel = jsonRpc('notifications/cancelled', { requestId: 7 })
  expect((await post(w, cancel)).status).toBe(202)
  expect((await post(w, cancel, { 'mcp-session-id': theirs ?? '' })).status).toBe(202)
  expect(
    (
      await post(w, cancel, {
        'mcp-session-id': mine ?? '',
        [whoHeader]: whoText({ kind: 'session', session: 'ses_1' }),
      })
    ).status,
  ).toBe(202)
  expect(busy.seen).toEqual(['started'])
  await post(w, cancel, { 'mcp-session-id': mine ?? '' })
  await expect.poll(() => busy.seen, { timeout: 10_000 }).toEqual(['started', 'aborted'])
  await (await running).text()
})

test('a connection that breaks cancels what it asked for', async () => {
  const busy = worker()
  const w = await open({ agents: { busy: busy.agent } })
  const body = jsonRpc('tools/call', { name: 'sub_agent', arguments: { agent_name: 'busy', task: 'x' } }, 1)
  const raw = httpRequest(w.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  })
  raw.on('error', () => undefined)
  raw.end(body)
  await busy.started
  raw.destroy()
  await expect.poll(() => busy.seen, { timeout: 10_000 }).toEqual(['started', 'aborted'])
})
