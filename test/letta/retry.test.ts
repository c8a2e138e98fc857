/** Clients that try again, go away and come back: one effect, one answer. */
import { exchangeOf } from '../kits/askers.ts'
import { AuthenticationError, PermissionDeniedError } from '@letta-ai/letta-client'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { graceMs } from '../../src/adapters/letta/serve.ts'
import { pingMs } from '../../src/adapters/letta/stream.ts'
import type { AgentOptions } from '../../src/index.ts'
import type { Clock } from '../../src/runtime/kernel/ports.ts'
import { mintSessionToken, mintTurnToken } from '../../src/server/identity.ts'
import {
  all,
  ask,
  lettaServer,
  post,
  secret,
  type Answered,
  type LettaServer,
  type LettaServerOptions,
  type Shown,
} from '../kits/letta.ts'

const garbage: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of garbage.splice(0).reverse()) await clean()
})
async function start(options: LettaServerOptions = {}): Promise<LettaServer> {
  const server = await lettaServer(options)
  garbage.push(() => server.close())
  return server
}

/** An agent that answers when it is told to, and says how often and how it was run. */
function gate() {
  const runs: { signal: AbortSignal; open: () => void }[] = []
  let started = (): void => undefined
  const agent: AgentOptions = {
    script: (turn) =>
      new Promise((resolve) => {
        runs.push({ signal: turn.signal, open: () => resolve(`answer ${runs.length} to ${turn.task}`) })
        started()
      }),
  }
  const running = (count: number): Promise<void> =>
    new Promise((resolve) => {
      started = () => void (runs.length >= count && resolve())
      started()
    })
  return { agent, runs, running }
}

/** Time that passes by hand: sleeps are told apart by their length. */
function handClock(): Clock & { sleeping(ms: number): number; wake(ms: number): void } {
  const sleepers = new Set<{ ms: number; wake: () => void }>()
  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { ms, wake: resolve }
        if (signal?.aborted === true) return reject(signal.reason)
        sleepers.add(sleeper)
        signal?.addEventListener(
          'abort',
          () => {
            sleepers.delete(sleeper)
            reject(signal.reason)
          },
          { once: true },
        )
      }),
    sleeping: (ms) => [...sleepers].filter((sleeper) => sleeper.ms === ms).length,
    wake(ms) {
      for (const sleeper of sleepers) if (sleeper.ms === ms && sleepers.delete(sleeper)) sleeper.wake()
    },
  }
}

/** Until something that happens on its own has happened. */
async function until(happened: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await happened())) await new Promise<void>((resolve) => setTimeout(resolve, 5))
}

const textOf = ({ messages }: Answered): string | undefined => messages.at(-1)?.content
const bodyOf = async (response: Promise<Response>): Promise<Answered> =>
  (await (await response).json()) as Answered

describe('a retry', () => {
  test("of Letta's own client after its timeout reaches the same turn", async () => {
    const { agent, runs, running } = gate()
    const server = await start({ agents: { slow: agent } })
    let tries = 0
    const counting: typeof fetch = (...request) => {
      tries += 1
      return fetch(...request)
    }
    const answer = ask(server.clientWith({ timeout: 300, maxRetries: 10, fetch: counting }), 'slow', 'think')
    await running(1)
    await until(() => tries === 3)
    runs[0]?.open()
    expect(textOf(await answer)).toBe('answer 1 to think')
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
    expect(textOf(await bodyOf(post(url, { content: 'think' })))).toBe('answer 1 to think')
    // It was delivered: the same words again are a new turn.
    const second = bodyOf(post(url, { content: 'think' }))
    await running(2)
    runs[1]?.open()
    expect(textOf(await second)).toBe('answer 2 to think')
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
    expect(textOf(await other)).toBe('answer 2 to two')
    const keyed = ['k', 'l'].map((name) =>
      bodyOf(
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
    expect((await Promise.all(keyed)).map(textOf).toSorted()).toEqual([
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

describe('a client that goes away', () => {
  test.each(['messages', 'messages/stream'])(
    'has cancelled its turn after a while, and not before (%s)',
    async (path) => {
      const clock = handClock()
      const { agent, runs, running } = gate()
      const server = await start({ agents: { slow: agent }, clock })
      const left = new AbortController()
      const send = (signal?: AbortSignal): Promise<Response> =>
        post(
          `${server.url}/v1/agents/slow/${path}`,
          { content: 'think' },
          { 'content-type': 'application/json' },
          signal,
        )
      const gone = send(left.signal)
      await running(1)
      expect(clock.sleeping(graceMs)).toBe(0)
      left.abort()
      await expect(gone).rejects.toThrow('aborted')
      await until(() => clock.sleeping(graceMs) === 1)
      // Somebody who comes back in time stops the countdown, and starts it again by leaving.
      const leftAgain = new AbortController()
      const back = send(leftAgain.signal)
      await until(() => clock.sleeping(graceMs) === 0)
      leftAgain.abort()
      await expect(back).rejects.toThrow('aborted')
      await until(() => clock.sleeping(graceMs) === 1)
      expect(runs.map(({ signal }) => signal.aborted)).toEqual([false])
      clock.wake(graceMs)
      await until(() => runs[0]?.signal.aborted === true)
      await until(async () => (await all(server.client.agents.messages.list('slow'))).length === 2)
      expect(
        ((await all(server.client.agents.messages.list('slow'))) as unknown as Shown[])[0],
      ).toMatchObject({ is_err: true, message_type: 'assistant_message' })
    },
  )

  test('is noticed also when it goes before its turn has begun', async () => {
    const clock = handClock()
    const { agent, runs } = gate()
    let found = (): void => undefined
    const server = await start({
      agents: { slow: agent },
      clock,
      around: (desks) => ({
        ...desks,
        as(asker) {
          const { agents, sessions, log } = desks.as(asker)
          const session = async (id: string) => {
            await new Promise<void>((resolve) => (found = resolve))
            return agents.session(id)
          }
          return { ...desks.as(asker), sessions, log, agents: { ...agents, session } }
        },
      }),
    })
    const left = new AbortController()
    const gone = post(
      `${server.url}/v1/agents/slow/messages`,
      { content: 'think' },
      { 'content-type': 'application/json' },
      left.signal,
    )
    await until(() => found.name !== 'found')
    left.abort()
    await expect(gone).rejects.toThrow('aborted')
    await new Promise<void>((resolve) => setTimeout(resolve, 100))
    found()
    await until(() => clock.sleeping(graceMs) === 1)
    clock.wake(graceMs)
    await until(() => runs[0]?.signal.aborted === true)
  })

  test('is told what it missed when it reads the stream again', async () => {
    let open = (): void => undefined
    const server = await start({
      agents: {
        teller: {
          script: async (turn) => {
            turn.say('first ')
            await new Promise<void>((resolve) => (open = resolve))
            turn.say('second')
            return 'first second'
          },
        },
      },
    })
    const url = `${server.url}/v1/agents/teller/messages/stream`
    const body = { input: 'tell', stream_tokens: true }
    const left = new AbortController()
    const reader = (
      await post(url, body, { 'content-type': 'application/json' }, left.signal)
    ).body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('"first "')
    left.abort()
    const again = post(url, body)
    await until(async () => (await again).ok)
    open()
    const chunks = (await (await again).text())
      .split('\n\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)) as Shown)
    expect(
      chunks.filter(({ message_type: type }) => type === 'assistant_message').map(({ content }) => content),
    ).toEqual(['first ', 'second'])
    expect(chunks.at(-2)).toMatchObject({ stop_reason: 'end_turn' })
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
  expect(textOf(await ask(server.client, 'quick', 'a'))).toBe('yes')
  await expect(ask(server.clientWith({ apiKey: 'wrong' }), 'quick', 'a')).rejects.toThrow(AuthenticationError)
  for (const apiKey of [mintSessionToken(secret, 'ses_main-quick'), mintTurnToken(secret, 'turn_1')]) {
    const client = server.clientWith({ apiKey })
    await expect(ask(client, 'quick', 'a')).rejects.toThrow(PermissionDeniedError)
    await expect(client.agents.list()).rejects.toThrow(PermissionDeniedError)
  }
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
