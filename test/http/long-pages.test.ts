/** Long texts through every door that gives pages: no page carries much more than it may, and nothing is lost. */
import { describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { Letta } from '@letta-ai/letta-client'
import { readPages } from '../../src/client/read-pages.ts'
import type { TielineClient } from '../../src/client/client.ts'
import { pageUnitsMax } from '../../src/model/limits.ts'
import { started } from '../kits/client.ts'
import { until } from '../kits/http.ts'

const longUnits = 1_000_000
/** An answer carries the texts of its page, the one that filled it, and little more. */
const answerMax = pageUnitsMax + longUnits + 20_000
const turns = 12

const agents = {
  long: {
    description: 'answers at length',
    script: ({ task }: { task: string }) => `${task} ${'-'.repeat(longUnits)}`,
  },
}

/** A conversation of 24 entries, every second of which has a million units. */
async function talked(): Promise<{ client: TielineClient; url: string; id: string; asked: string[] }> {
  const { served, client, cwd } = await started({ agents })
  const id = (await client.sessions.create({ cwd, agent: 'long' })).sessionId
  const asked = Array.from({ length: turns }, (_, n) => `number ${n}`)
  for (const message of asked) {
    await client.sessions.send(id, { message })
    await client.sessions.wait(id, { timeoutMs: 50_000 })
  }
  return { client, url: served.url, id, asked }
}

type PageHistory = {
  total(): number | null
  entry(n: number): { text: string } | undefined
  want(n: number): void
  stop(): void
}

const readHead = (text: string): string => /^number \d+/.exec(text)?.[0] ?? text.slice(0, 20)
const doubleEach = (texts: readonly string[]): string[] => texts.flatMap((text) => [text, text])

describe('a conversation of answers with a million units each', () => {
  test('comes over HTTP in pages that are bounded, each entry once and in order', async () => {
    const { url, id, asked } = await talked()
    const found: { n: number; text: string }[] = []
    for (let before: number | null = null; ;) {
      const response: Response = await fetch(
        `${url}/api/sessions/${id}/messages?limit=200${before === null ? '' : `&before=${before}`}`,
      )
      const text = await response.text()
      expect(text.length).toBeLessThan(answerMax)
      const page = JSON.parse(text) as { messages: typeof found; next: number | null }
      expect(page.messages.length).toBeGreaterThan(0)
      found.unshift(...page.messages)
      if (page.next === null) break
      before = page.next
    }
    expect(found.map(({ n }) => n)).toEqual(Array.from({ length: turns * 2 }, (_, n) => n + 1))
    expect(found.map(({ text }) => readHead(text))).toEqual(doubleEach(asked))
  })

  test('comes over WebSocket and as server-sent events, each event once and in order', async () => {
    const { url, id } = await talked()
    const sizes: number[] = []
    const overSocket: string[] = []
    const ws = new WebSocket(`${url.replace('http', 'ws')}/ws?after=0`)
    ws.on('message', (data: Buffer) => {
      sizes.push(data.length)
      const frame = JSON.parse(data.toString()) as { type: string; seq?: string }
      if (frame.type === 'event' && frame.seq !== undefined) overSocket.push(frame.seq)
    })
    const stop = new AbortController()
    const streamed = await fetch(`${url}/api/events?after=0`, { signal: stop.signal })
    let text = ''
    const reading = (async () => {
      for await (const chunk of (streamed.body as ReadableStream<Uint8Array>).pipeThrough(
        new TextDecoderStream() as never,
      ))
        text += chunk as unknown as string
    })().catch(() => undefined)
    const overSse = (): string[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => seq ?? '')
    // The session is made, and each turn is sent, started and ended.
    const count = 1 + turns * 3
    await until(() => overSocket.length >= count && overSse().length >= count, 'all events')
    ws.close()
    stop.abort()
    await reading
    const inOrder = overSocket.toSorted((a, b) => Number(a) - Number(b))
    expect(overSocket).toEqual(inOrder)
    expect(new Set(overSocket).size).toBe(overSocket.length)
    expect(overSse()).toEqual(overSocket)
    expect(Math.max(...sizes)).toBeGreaterThan(longUnits)
    expect(text.split(`"sessionId":"${id}"`).length - 1).toBeGreaterThanOrEqual(count)
  })

  test("comes through Letta's own client in both orders and backwards, each message once", async () => {
    const { served } = await started({ agents })
    const letta = new Letta({ baseURL: served.url, apiKey: 'none', maxRetries: 0, timeout: 60_000 })
    const asked = Array.from({ length: turns }, (_, n) => `number ${n}`)
    for (const content of asked) await letta.agents.messages.create('long', { input: content })
    const sizes: number[] = []
    const watching = new Letta({
      baseURL: served.url,
      apiKey: 'none',
      maxRetries: 0,
      timeout: 60_000,
      fetch: async (...given) => {
        const response = await fetch(...given)
        sizes.push((await response.clone().text()).length)
        return response
      },
    })
    const walk = async (query: object): Promise<string[]> => {
      const found: string[] = []
      for await (const message of watching.agents.messages.list('long', query as never))
        found.push(readHead(String((message as { content?: unknown }).content)))
      return found
    }
    const whole = doubleEach(asked)
    expect(await walk({ order: 'asc', limit: 1000 })).toEqual(whole)
    expect(await walk({ order: 'desc', limit: 1000 })).toEqual(whole.toReversed())
    const [last] = (await watching.agents.messages.list('long', { order: 'desc', limit: 1 } as never)).items
    const backwards: string[][] = []
    let page = await watching.agents.messages.list('long', {
      order: 'asc',
      before: (last as { id: string }).id,
      limit: 1000,
    } as never)
    for (; page.items.length > 0; page = await page.getNextPage()) {
      backwards.unshift(page.items.map((one) => readHead(String((one as { content?: unknown }).content))))
      if (!page.hasNextPage()) break
    }
    expect(backwards.flat()).toEqual(whole.slice(0, -1))
    expect(Math.max(...sizes)).toBeLessThan(answerMax)
    expect(sizes.length).toBeGreaterThan(turns * 2)
  })

  test('is read by the page entry by entry as they come into sight', async () => {
    const { client, id, asked } = await talked()
    // The page has other types around it than these tests.
    const file = new URL('../../web/src/conversation/history.ts', import.meta.url).href
    const { openHistory } = (await import(file)) as { openHistory: (live: object, id: string) => PageHistory }
    const live = {
      client,
      topics: { touch: () => undefined },
      onEvent: () => () => undefined,
      connection: () => ({ state: 'open' }),
    }
    const history = openHistory(live, id)
    await until(() => history.total() !== null)
    expect(history.total()).toBe(turns * 2)
    for (const n of [24, 13, 1, 7, 14]) {
      history.want(n)
      await until(() => history.entry(n) !== undefined, `entry ${n}`)
      expect(readHead(history.entry(n)?.text ?? '')).toBe(doubleEach(asked)[n - 1])
    }
    history.stop()
  })
})

test('an inbox of long messages comes in bounded pages, and the client reads all of it', async () => {
  const { served, client, cwd } = await started({ agents })
  const id = (await client.sessions.create({ cwd, agent: 'long' })).sessionId
  const letters = Array.from({ length: 30 }, (_, n) => `number ${n} ${'-'.repeat(100_000)}`)
  for (const message of letters) await client.sessions.send(id, { message, delivery: 'buffer' })
  const first = await (await fetch(`${served.url}/api/sessions/${id}/inbox`)).text()
  expect(first.length).toBeLessThan(pageUnitsMax + 220_000)
  expect(JSON.parse(first)).toMatchObject({ total: 30, next: expect.any(Number) })
  const all = await readPages((after) => client.mail.inbox(id, after === null ? {} : { after }))
  expect(all.map(({ message }) => message)).toEqual(letters)
})

test('a flow of calls with long results is bounded as a whole; each record has all of its call', async () => {
  const { served, client } = await started({
    agents: {
      ...agents,
      boss: {
        tools: ['sub_agent'],
        allowSubAgentCalls: true,
        script: async (turn) => {
          for (let n = 0; n < 6; n += 1)
            await turn.tool('sub_agent', { agent_name: 'long', task: `number ${n}` })
          return 'done'
        },
      },
    },
  })
  const { call_id: call } = await client.calls.open({ agent: 'boss', task: 'go', allow_nested_calls: true })
  const { flow } = await client.calls.get(call)
  const text = await (await fetch(`${served.url}/api/flows/${flow}`)).text()
  expect(text.length).toBeLessThan(answerMax)
  const { calls } = JSON.parse(text) as Awaited<ReturnType<TielineClient['flow']>>
  const below = calls.filter(({ target }) => target === 'long')
  expect(below.map(({ task }) => task)).toEqual(Array.from({ length: 6 }, (_, n) => `number ${n}`))
  for (const one of below) {
    expect([one.outputBytes, one.truncated]).toEqual([longUnits + 9, true])
    expect((await client.calls.get(one.call)).output.length).toBe(longUnits + 9)
  }
})
