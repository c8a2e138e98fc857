import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { hello, jsonRpc } from '../../../test/kits/mcp.ts'
import type { Surroundings } from '../../client/surroundings.ts'
import { listClientTools } from '../../client-tools.ts'
import { ConfigFile } from '../../config-keys.ts'
import { serveMcpStdio } from './serve-stdio.ts'

let drawn = 0
const atOnce: Surroundings = { sleep: async () => undefined, draw: () => `key-${(drawn += 1)}` }

/** In this process, over streams: each line is answered before the next. */
async function raw(
  server: () => Promise<{ url: string; token: string | null }>,
  running: () => Promise<{ url: string; token: string | null } | null> = server,
) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  let output = ''
  stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  void serveMcpStdio({
    running,
    tools: async () => listClientTools(ConfigFile.parse({})),
    server,
    version: '1',
    cwd: tmpdir(),
    env: {},
    stdin,
    stdout,
    signal: stop.signal,
    surroundings: atOnce,
    report: () => undefined,
  })
  return {
    stdout: () => output,
    tell: (line: string) => void stdin.write(`${line}\n`),
    take: async (line: string): Promise<void> => {
      const before = output.split('\n').length
      stdin.write(`${line}\n`)
      await expect.poll(() => output.split('\n').length, { timeout: 10_000 }).toBeGreaterThan(before)
    },
  }
}

test('a server that cannot be started is told in its own words', async () => {
  const { stdout, take } = await raw(() => Promise.reject(new Error('the port is taken')))
  await take(jsonRpc('tools/call', { name: 'sub_agent' }, 1))
  expect(JSON.parse(stdout())).toMatchObject({
    id: 1,
    result: {
      isError: true,
      content: [{ text: 'The Tieline server cannot be reached: the port is taken' }],
    },
  })
})

/** A server that is none of ours: it answers one request after the other as it is told, and keeps them. */
async function answering(...answers: ((response: ServerResponse) => unknown)[]) {
  const requests: IncomingHttpHeaders[] = []
  const keys: (string | undefined)[] = []
  const server = createServer((request, response) => {
    requests.push(request.headers)
    void text(request).then((body) => {
      keys.push(/"tieline\/idempotency-key":"([^"]*)"/.exec(body)?.[1])
      answers.shift()?.(response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return {
    requests,
    keys,
    place: async () => ({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: 'a-token',
    }),
  }
}
const said = (text: string): object[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)

test('an answer that is none, or that ends too early, is told', async () => {
  const { place } = await answering(
    (response) => response.writeHead(401).end('{"error":{"code":"not_authenticated"}}'),
    ...Array.from(
      { length: 3 },
      () => (response: ServerResponse) =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': begun\n\n'),
    ),
  )
  const { stdout, take } = await raw(place)
  await take(jsonRpc('tools/list', {}, 1))
  await take(jsonRpc('tools/call', { name: 'sub_agent' }, 2))
  expect(said(stdout())).toMatchObject([
    { id: 1, error: { message: 'The Tieline server cannot be reached: it answered with status 401' } },
    {
      id: 2,
      result: {
        isError: true,
        content: [{ text: expect.stringMatching(/broke \(the answer ended too early\).*may have run/) }],
      },
    },
  ])
})

test('a tool call that may have arrived is retried with the same key; anything else is sent once', async () => {
  const { place, requests, keys } = await answering(
    ...Array.from({ length: 4 }, () => (response: ServerResponse) => response.socket?.destroy()),
  )
  const { stdout, take } = await raw(place)
  await take(jsonRpc('tools/call', { name: 'sub_agent' }, 2))
  expect(said(stdout())).toMatchObject([
    { id: 2, result: { isError: true, content: [{ text: expect.stringContaining('may have run') }] } },
  ])
  expect(requests).toHaveLength(3)
  expect([...new Set(keys)]).toEqual([expect.stringMatching(/^key-/)])
  await take(jsonRpc('tools/list', {}, 3))
  expect(requests).toHaveLength(4)
})

test('when the server dies during a tool call, the next one is asked with the same key', async () => {
  const answer = JSON.stringify({
    jsonrpc: '2.0',
    id: 2,
    result: { content: [{ type: 'text', text: 'done' }] },
  })
  const { place } = await answering(
    (response) => response.socket?.destroy(),
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(answer),
  )
  const { stdout, take } = await raw(place)
  await take(jsonRpc('tools/call', { name: 'sub_agent' }, 2))
  expect(said(stdout())).toEqual([JSON.parse(answer)])
})

test('the token goes along, and an answer of several lines becomes one', async () => {
  const { place, requests } = await answering((response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{\n "jsonrpc": "2.0",\r\n "id": 2,\n "result": { "tools": [] }\n}\n'),
  )
  const { stdout, take } = await raw(place)
  await take(hello('raw'))
  await take(jsonRpc('tools/list', {}, 2))
  expect(said(stdout())).toMatchObject([{ id: 1 }, { id: 2, result: { tools: [] } }])
  expect(requests).toMatchObject([{ authorization: 'Bearer a-token', 'mcp-protocol-version': '2025-11-25' }])
})

test('the first turn has no tools, because the server is still starting', async () => {
  const starting = Promise.withResolvers<{ url: string; token: string | null }>()
  const { stdout, take } = await raw(
    () => starting.promise,
    async () => null,
  )
  await take(hello('codex'))
  await take(jsonRpc('tools/list', {}, 2))
  const [first, second] = said(stdout()) as { result: { tools?: { name: string }[] } }[]
  expect(first).toMatchObject({ result: { protocolVersion: '2025-11-25', serverInfo: { name: 'tieline' } } })
  expect(second?.result.tools?.map(({ name }) => name)).toContain('sub_agent')
})

test('a server that is away when the client begins is looked for at once, and used when it is there', async () => {
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 3, result: { content: [] } })
  const { place, requests } = await answering((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer),
  )
  const looked: string[] = []
  const { take } = await raw(
    () => {
      looked.push('started')
      return place()
    },
    async () => null,
  )
  await take(hello('codex'))
  await expect.poll(() => looked).toEqual(['started'])
  await take(jsonRpc('tools/call', { name: 'list-session', arguments: {} }, 3))
  expect([looked, requests.length]).toEqual([['started'], 1])
})
