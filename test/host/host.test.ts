/**
 * Connected programs: sessions of their own, turns over a WebSocket, cancel, breaks, loss. A real server and
 * the real client.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import type { HostAsk, HostConnection } from '../../src/client/host.ts'
import type { SessionId } from '../../src/model/id.ts'
import { openServer, type OpenServer, type OpenServerOptions } from '../../src/open-server.ts'

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function server(
  options: OpenServerOptions = {},
): Promise<{ served: OpenServer; client: TielineClient }> {
  const served = await openServer({
    dataDir: mkdtempSync(join(tmpdir(), 'tieline-host-')),
    port: 0,
    agents: {
      planner: {
        tools: ['call_agent'],
        allowSubAgentCalls: true,
        script: [
          {
            when: { iteration: 1 },
            tools: [{ name: 'call_agent', input: { agent_id: '{{task}}', message: 'from planner' } }],
          },
          { say: '{{result.response}}' },
        ],
      },
    },
    ...options,
  })
  open.push(() => served.close())
  return { served, client: tielineClient({ url: served.url }) }
}

async function hosted(
  client: TielineClient,
  run: HostAsk['run'],
  sessions = ['one'],
): Promise<{ host: HostConnection; ids: SessionId[] }> {
  const host = client.host({
    agent: 'mine',
    run,
    sessions: sessions.map((id) => ({ id, cwd: tmpdir(), title: `session ${id}` })),
  })
  open.push(() => host.close())
  await host.ready
  return { host, ids: sessions.map((id): SessionId => `ses_mine-${id}`) }
}

test('a program registers sessions, which are listed, receive messages, and answer through it', async () => {
  const { client } = await server()
  const {
    ids: [id = 'ses_none'],
  } = await hosted(client, async (turn) => {
    turn.say('thinking ')
    return `${turn.id} heard ${turn.task}`
  })
  expect((await client.sessions.list({ agent: 'mine' })).sessions).toMatchObject([
    { id, title: 'session one', agentName: 'mine' },
  ])
  await client.sessions.send(id, { message: 'hello' })
  expect(await client.sessions.wait(id, { timeoutMs: 5000 })).toMatchObject({
    status: 'idle',
    lastMessage: { content: 'one heard hello' },
  })
})

test('an agent calls a session that a program runs, and gets its answer', async () => {
  const { served, client } = await server()
  await hosted(client, async (turn) => `you said: ${turn.task}`)
  expect(await served.line.run('planner', 'ses_mine-one')).toMatchObject({ output: 'you said: from planner' })
})

test('a program uses tools with the authority of its turn, and its calls keep their place', async () => {
  const { client } = await server({ agents: { helper: { script: [{ say: 'helped' }] } } })
  const host = client.host({
    agent: 'mine',
    tools: ['sub_agent'],
    sessions: [{ id: 'one', cwd: tmpdir() }],
    run: async (turn) =>
      JSON.stringify([
        (await turn.tool('sub_agent', { agent_name: 'helper', task: 'x' })).value,
        (await turn.tool('shell', { command: 'id' })).value,
      ]),
  })
  open.push(() => host.close())
  await host.ready
  await client.sessions.send('ses_mine-one', { message: 'go' })
  const { lastMessage } = await client.sessions.wait('ses_mine-one', { timeoutMs: 5000 })
  expect(JSON.parse(lastMessage?.content ?? '')).toMatchObject([
    { output: 'helped', success: true },
    { error: { code: 'tool_disabled' } },
  ])
  const [call] = await client.calls.list()
  expect(call).toMatchObject({ agent: 'helper' })
})

test('a cancel reaches the program', async () => {
  const { client } = await server()
  let aborted: (reason: unknown) => void = () => undefined
  const reason = new Promise((resolve) => (aborted = resolve))
  const {
    ids: [id = 'ses_none'],
  } = await hosted(
    client,
    (turn) =>
      new Promise((_, reject) =>
        turn.signal.addEventListener('abort', () => {
          aborted(turn.signal.reason)
          reject(turn.signal.reason)
        }),
      ),
  )
  await client.sessions.send(id, { message: 'hang' })
  await expect.poll(async () => (await client.sessions.state(id)).isActive).toBe(true)
  await client.sessions.cancel(id, {})
  expect(String(await reason)).toContain('cancelled')
  expect(await client.sessions.wait(id, { timeoutMs: 5000 })).toMatchObject({ isActive: false })
})

test('while its program is away a session queues what arrives, and works on it when the program is back', async () => {
  const { client } = await server()
  const first = await hosted(client, async (turn) => `first: ${turn.task}`)
  first.host.close()
  const id = first.ids[0] ?? 'ses_none'
  await expect.poll(async () => (await client.sessions.send(id, { message: 'probe' })).status).toBe('queued')
  expect(await client.sessions.state(id)).toMatchObject({ status: 'idle', isActive: true })
  await hosted(client, async (turn) => `second: ${turn.task}`)
  expect(await client.sessions.wait(id, { timeoutMs: 10_000 })).toMatchObject({
    lastMessage: { content: 'second: probe' },
  })
})

test('a frame that does not fit is explained; nobody answers for a session of another program', async () => {
  const { client } = await server()
  const errors: { code: string; message: string }[] = []
  const host = client.host({ agent: 'planner', run: async () => 'x', onError: (error) => errors.push(error) })
  open.push(() => host.close())
  await expect.poll(() => errors.length).toBeGreaterThan(0)
  expect(errors[0]).toMatchObject({ code: 'bad_input', message: expect.stringContaining('driver') as string })
})

test('a session whose program is away says that it streams', async () => {
  const { client } = await server()
  const {
    host,
    ids: [id = 'ses_none'],
  } = await hosted(client, async () => 'done')
  host.close()
  await expect
    .poll(async () => {
      await client.sessions.send(id, { message: 'hello' })
      return (await client.sessions.state(id)).queued > 0
    })
    .toBe(true)
  expect(await client.sessions.state(id)).toMatchObject({ status: 'idle', isActive: true })
  expect(await client.sessions.get(id)).toMatchObject({ status: 'idle', active: true })
})
