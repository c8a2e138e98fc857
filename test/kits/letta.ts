/** Letta's real client at the door of the real server and runtime, on a real socket. */
import { Letta, type ClientOptions } from '@letta-ai/letta-client'
import { lettaDoor } from '../../src/adapters/letta/serve.ts'
import type { Clock } from '../../src/runtime/kernel/ports.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { systemIds } from '../../src/runtime/kernel/system-ids.ts'
import { startHttp } from '../../src/server/http.ts'
import type { AgentOptions } from '../../src/define.ts'
import { openLine, type OpenLine } from '../../src/open-line.ts'
import type { Desks } from '../../src/runtime/desk/desk.ts'

export type LettaServer = {
  line: OpenLine
  url: string
  /** Tries once. */
  client: Letta
  clientWith(options: Omit<ClientOptions, 'baseURL'>): Letta
  closeDoor(): Promise<void>
  close(): Promise<void>
}

export type LettaServerOptions = {
  agents?: Record<string, AgentOptions>
  /** The time of the door alone. */
  clock?: Clock
  token?: string
  dataDir?: string
  /** Stands between the door and the runtime. */
  around?: (desks: Desks) => Desks
}

export const secret = Buffer.alloc(32, 7)

export async function lettaServer(options: LettaServerOptions = {}): Promise<LettaServer> {
  const line = await openLine({
    agents: options.agents ?? {},
    ...(options.dataDir !== undefined && { dataDir: options.dataDir }),
  })
  const door = lettaDoor({
    desks: (options.around ?? ((desks) => desks))(line.desks),
    clock: options.clock ?? systemClock,
    ids: systemIds(() => systemClock.now()),
  })
  const http = await startHttp({
    desks: line.desks,
    clock: systemClock,
    host: '127.0.0.1',
    port: 0,
    auth: options.token === undefined ? 'open' : 'tokens',
    token: options.token ?? null,
    secret,
    version: 'test',
    doors: [door],
    pageDir: null,
    metrics: null,
    log: () => undefined,
    limits: {},
  })
  const clientWith: LettaServer['clientWith'] = (more) =>
    new Letta({ baseURL: http.url, apiKey: options.token ?? 'none', maxRetries: 0, timeout: 30_000, ...more })
  return {
    line,
    url: http.url,
    clientWith,
    client: clientWith({}),
    closeDoor: () => http.close(),
    async close() {
      await http.close()
      await line.close()
    },
  }
}

export type Shown = {
  id: string
  message_type: string
  content: string
  date: string
  [more: string]: unknown
}
export type Answered = {
  messages: Shown[]
  stop_reason: { message_type: string; stop_reason: string }
  usage: {
    prompt_tokens: number
    completion_tokens: number
    total_tokens: number
    step_count: number
    run_ids: string[]
  }
}

export const ask = async (client: Letta, agent: string, text: string): Promise<Answered> =>
  (await client.agents.messages.create(agent, {
    messages: [{ role: 'user', content: text }],
  })) as unknown as Answered

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

export const post = (
  url: string,
  body: unknown,
  headers: Record<string, string> = { 'content-type': 'application/json' },
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  })
