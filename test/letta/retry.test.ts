/** Clients that try again, go away and come back: one effect, one answer. */
import { exchangeOf } from '../kits/askers.ts'
import { AuthenticationError, ConflictError, PermissionDeniedError } from '@letta-ai/letta-client'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pingMs } from '../../src/adapters/letta/stream.ts'
import { mintSessionToken, mintTurnToken } from '../../src/server/identity.ts'
import { all, ask, lettaServer, post, secret, type Shown } from '../kits/letta.ts'
import { garbage, start, gate, handClock, until, readText, readBody } from '../kits/letta-retry.ts'

describe('a retry', () => {
  test("of Letta's own client after its timeout reaches the same turn", async () => {
    const { agent, runs, running } = gate()
    const server = await start({ agents: { slow: agent } })
    let tries = 0
    /** Only the first two give up: on a busy machine no answer might come within their time. */
    const counting: typeof fetch = (url, init) => {
      tries += 1
      return fetch(url, tries < 3 ? init : { ...init, signal: null })
    }
    const answer = ask(server.clientWith({ timeout: 300, maxRetries: 10, fetch: counting }), 'slow', 'think')
    await running(1)
    await until(() => tries === 3)
    runs[0]?.open()
    expect(readText(await answer)).toBe('answer 1 to think')
    expect(runs).toHaveLength(1)
    expect(await all(server.client.agents.messages.list('slow'))).toHaveLength(2)
  })

  test('finds the answer that came while nobody was there, once', async () => {
    const { agent, runs, running } = gate()
    const server = await start({ agents: { slow: agent } })
    const url = `${server.url}/v1/agents/slow/messages`
    const left = new AbortController()
    const first = post(url, { content: 'think' }, { 'content-type': 'application/json' }, left.signal)
    await running(1)
    left.abort()
    await expect(first).rejects.toThrow('aborted')
    runs[0]?.open()
    await until(
      async () =>
        ((await exchangeOf(server.line.desks).history('ses_main-slow', null, 10)) as { messages: unknown[] })
          .messages.length === 2,
    )
    expect(readText(await readBody(post(url, { content: 'think' })))).toBe('answer 1 to think')
    // It was delivered: the same words again are a new turn.
    const second = readBody(post(url, { content: 'think' }))
    await running(2)
    runs[1]?.open()
    expect(readText(await second)).toBe('answer 2 to think')
  })

  test('is known by its body only while the first is in flight, and other words are another turn', async () => {
    const { agent, runs, running } = gate()
    const server = await start({ agents: { slow: agent } })
    const answers = [ask(server.client, 'slow', 'one'), ask(server.client, 'slow', 'one')]
    await running(1)
    const other = ask(server.client, 'slow', 'two')
    await until(
      async () =>
        ((await exchangeOf(server.line.desks).state('ses_main-slow')) as { queued: number }).queued === 1,
    )
    runs[0]?.open()
    const [a, b] = await Promise.all(answers)
    expect(a).toEqual(b)
    await running(2)
    runs[1]?.open()
    expect(readText(await other)).toBe('answer 2 to two')
    const keyed = ['k', 'l'].map((name) =>
      readBody(
        post(
          `${server.url}/v1/agents/slow/messages`,
          { content: 'three' },
          { 'content-type': 'application/json', 'idempotency-key': name },
        ),
      ),
    )
    for (const n of [3, 4]) {
      await running(n)
      runs[n - 1]?.open()
    }
    expect((await Promise.all(keyed)).map(readText).toSorted()).toEqual([
      'answer 3 to three',
      'answer 4 to three',
    ])
  })

  test('with an Idempotency-Key has one effect, also after the answer and after a restart', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'tieline-test-'))
    garbage.push(() => rm(dataDir, { recursive: true }))
    const key = (name: string) => ({ headers: { 'Idempotency-Key': name } })
    let server = await lettaServer({ dataDir })
    const made = await server.client.agents.create({ name: 'once' }, key('make'))
    expect(await server.client.agents.create({ name: 'once' }, key('make'))).toEqual(made)
    const first = await server.client.agents.messages.create(made.id, { input: 'hello' }, key('k'))
    expect(await server.client.agents.messages.create(made.id, { input: 'hello' }, key('k'))).toEqual(first)
    await server.close()
    server = await start({ dataDir })
    expect(await server.client.agents.create({ name: 'once' }, key('make'))).toEqual(made)
    expect(await server.client.agents.messages.create(made.id, { input: 'hello' }, key('k'))).toEqual(first)
    expect(await all(server.client.agents.messages.list(made.id))).toHaveLength(2)
    const streamed = (await all(
      (await server.client.agents.messages.stream(
        made.id,
        { input: 'hello' },
        key('k'),
      )) as AsyncIterable<unknown>,
    )) as Shown[]
    expect(streamed.at(-2)).toMatchObject({ stop_reason: 'end_turn' })
    // The same key with other words, or another name, is a mistake and is told so.
    await expect(
      server.client.agents.messages.create(made.id, { input: 'other' }, key('k')),
    ).rejects.toMatchObject({ status: 409, error: { error: { code: 'message_already_sent' } } })
    await expect(server.client.agents.create({ name: 'other' }, key('make'))).rejects.toMatchObject({
      status: 400,
      error: { error: { field: 'Idempotency-Key' } },
    })
    // Another key is another turn, though the words are the same.
    await server.client.agents.messages.create(made.id, { input: 'hello' }, key('l'))
    expect(await all(server.client.agents.messages.list(made.id))).toHaveLength(6)
  })
})

test.each([
  [true, 'data: {"id":"ping"'],
  [false, ': ping'],
])('a silent stream is kept alive (include_pings: %s)', async (pings, sign) => {
  const clock = handClock()
  const { agent, runs, running } = gate()
  const server = await start({ agents: { slow: agent }, clock })
  const response = post(`${server.url}/v1/agents/slow/messages/stream`, {
    input: 'wait',
    include_pings: pings,
  })
  await running(1)
  await until(() => clock.sleeping(pingMs) === 1)
  clock.wake(pingMs)
  const reader = (await response).body?.getReader()
  await until(() => clock.sleeping(pingMs) === 1)
  clock.wake(pingMs)
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain(sign)
  runs[0]?.open()
  while (!(await reader?.read())?.done);
  expect(clock.sleeping(pingMs)).toBe(0)
})

test('a server that stops lets its clients go, and the turn goes on', async () => {
  const { agent, runs, running } = gate()
  const server = await start({ agents: { slow: agent } })
  const blocked = post(`${server.url}/v1/agents/slow/messages`, { content: 'wait' })
  await running(1)
  await server.closeDoor()
  expect((await blocked).status).toBe(503)
  expect(await (await blocked).json()).toMatchObject({ error: { code: 'unavailable' } })
  expect(runs[0]?.signal.aborted).toBe(false)
})

test('only the user asks here: a token of a session or a turn does not act as the user', async () => {
  const server = await start({ token: 'open-sesame', agents: { quick: { script: () => 'yes' } } })
  expect(readText(await ask(server.client, 'quick', 'a'))).toBe('yes')
  await expect(ask(server.clientWith({ apiKey: 'wrong' }), 'quick', 'a')).rejects.toThrow(AuthenticationError)
  const tokens = [
    [mintSessionToken(secret, 'ses_main-quick'), PermissionDeniedError],
    // That turn is over, and its token with it.
    [mintTurnToken(secret, 'turn_1'), ConflictError],
  ] as const
  for (const [apiKey, refused] of tokens) {
    const client = server.clientWith({ apiKey })
    await expect(ask(client, 'quick', 'a')).rejects.toThrow(refused)
    await expect(client.agents.list()).rejects.toThrow(refused)
  }
})

test('a key that made an agent makes no other, and gives that one again', async () => {
  const { url } = await start()
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' }
  const agent = { name: 'helper', system: 'Help.', description: 'helps' }
  const make = async (body: object): Promise<[number, unknown]> => {
    const answer = await post(`${url}/v1/agents`, body, headers)
    return [answer.status, await answer.json()]
  }
  const made = await make(agent)
  expect(made[0]).toBe(200)
  for (const other of [{ name: 'other' }, { system: 'Do not help.' }, { description: '' }, { tools: [] }])
    expect(await make({ ...agent, ...other })).toMatchObject([400, { error: { field: 'Idempotency-Key' } }])
  expect(await make(agent)).toEqual(made)
})

test('the door is described', async () => {
  const server = await start()
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<
      string,
      Record<
        string,
        { requestBody?: { content: Record<string, { schema: { properties: object; required?: string[] } }> } }
      >
    >
  }
  expect(Object.keys(paths).filter((path) => path.startsWith('/v1'))).toEqual([
    '/v1/agents',
    '/v1/agents/{id}',
    '/v1/agents/{id}/messages',
    '/v1/agents/{id}/messages/stream',
  ])
  const body = paths['/v1/agents']?.['post']?.requestBody?.content['application/json']?.schema
  expect(Object.keys(body?.properties ?? {})).toEqual(
    expect.arrayContaining(['name', 'system', 'description', 'model', 'tools']),
  )
  expect(body?.required).toEqual(['name'])
})
