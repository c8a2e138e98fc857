/** Who a client over HTTP is, by the headers that `init` writes: tried at a real server. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { callTool, fieldsIn } from '../kits/mcp.ts'

vi.setConfig({ testTimeout: 90_000 })

async function openServer() {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-headers-')))
  for (const name of ['api', 'web', 'server']) mkdirSync(join(directory, name))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const start = async () => {
    const served = await serve({
      port: 0,
      dataDir: join(directory, 'data'),
      cwd: join(directory, 'server'),
      agents: { echo: { script: ({ task }) => `echo: ${task}` } },
    })
    onTestFinished(() => served.close())
    return served
  }
  return { directory, start }
}

async function connect(url: string, headers: Record<string, string>): Promise<Client> {
  const client = new Client({ name: 'github-copilot-developer', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  onTestFinished(() => client.close())
  return client
}

const who = (session: string, cwd: string) => ({ 'x-tieline-client-session': session, 'x-tieline-cwd': cwd })
const list = async (client: Client): Promise<{ you: string; cwd: string }> => {
  const { you, sessions } = fieldsIn(await callTool(client, 'list-session', {})) as {
    you: string
    sessions: { id: string; cwd: string }[]
  }
  return { you, cwd: sessions.find(({ id }) => id === you)?.cwd ?? '' }
}

test('all sessions of one client over HTTP shared one of ours, in the directory of the server', async () => {
  const { directory, start } = await openServer()
  const [api, web] = [join(directory, 'api'), join(directory, 'web')]
  const before = await start()
  const { url } = before
  const [one, two] = [await connect(url, who('one', api)), await connect(url, who('two', web))]
  const [first, second] = [await list(one), await list(two)]
  expect([first.cwd, second.cwd]).toEqual([api, web])
  expect(first.you).not.toBe(second.you)
  // Mail is for the one that it names, and what answers it comes back to the other.
  const sent = fieldsIn(await callTool(one, 'send-message', { session: second.you, message: 'a question' }))
  expect(fieldsIn(await callTool(one, 'buffer', {}))['total']).toBe(0)
  expect(fieldsIn(await callTool(two, 'buffer', { accept: true }))).toMatchObject({ accepted: true })
  await callTool(two, 'send-message', { message: 'an answer', reply: [sent['id']] })
  expect(JSON.stringify(fieldsIn(await callTool(one, 'buffer', { accept: true })))).toContain('an answer')
  await before.close()

  const again = await start()
  expect(await list(await connect(again.url, who('one', api)))).toEqual(first)
})

test('a client that fills in nothing has a session for each connection, and no directory of ours', async () => {
  const { start } = await openServer()
  const { url } = await start()
  const unfilled = who('${COPILOT_AGENT_SESSION_ID}', '${PWD}')
  const [one, two] = [await list(await connect(url, unfilled)), await list(await connect(url, {}))]
  expect(one.you).not.toBe(two.you)
})

test('tools/list is the same, byte by byte, for two sessions of a client and after a restart', async () => {
  const { directory, start } = await openServer()
  const read = async (url: string, session: string): Promise<string> =>
    (
      await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...who(session, directory),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      })
    ).text()
  const before = await start()
  const { url } = before
  const first = await read(url, 'one')
  expect(first).toContain('sub_agent')
  await callTool(await connect(url, who('one', directory)), 'sub_agent', { agent_name: 'echo', task: 'x' })
  expect(await read(url, 'two')).toBe(first)
  await before.close()
  expect(await read((await start()).url, 'one')).toBe(first)
})
