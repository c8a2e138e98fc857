/** A real server on a port of its own over a real runtime in memory, and clients for it. */
import { exchangeOf } from './askers.ts'
import { once } from 'node:events'
import { request } from 'node:http'
import { expect, onTestFinished } from 'vitest'
import WebSocket from 'ws'
import type { z } from 'zod'
import { openLine, type OpenLineOptions, type OpenLine } from '../../src/open-line.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { startHttp, type HttpOptions, type HttpServer } from '../../src/server/http.ts'
import { WireError } from '../../src/server/wire-error.ts'

/** Answers are compared with what is expected, and with nothing else. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
type Body = any
export type Answer = { status: number; headers: Headers; text: string; body: Body }
export type Logged = { level: string; message: string; fields: Record<string, unknown> }

/** An agent that waits until it is let go or told to stop. */
export class Gate {
  entered = 0
  aborted = 0
  #open: (() => void)[] = []
  release(): void {
    for (const open of this.#open.splice(0)) open()
  }
  script = ({ signal, task }: { signal: AbortSignal; task: string }): Promise<string> => {
    this.entered += 1
    return new Promise((resolve, reject) => {
      this.#open.push(() => resolve(`let go: ${task}`))
      signal.addEventListener(
        'abort',
        () => {
          this.aborted += 1
          reject(signal.reason)
        },
        { once: true },
      )
    })
  }
}

export type Served = {
  line: OpenLine
  server: HttpServer
  url: string
  gate: Gate
  logged: Logged[]
  secret: Uint8Array
  ask: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>
  get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>
  /** A session of an agent. */
  open: (agent: string, more?: Record<string, unknown>) => Promise<`ses_${string}`>
}

export async function serve(more: Partial<HttpOptions> = {}, options: OpenLineOptions = {}): Promise<Served> {
  const gate = new Gate()
  const line = await openLine({
    ...options,
    agents: {
      echo: { script: ({ task }) => `echo: ${task}` },
      held: { script: gate.script },
      boss: {
        allowSubAgentCalls: true,
        tools: ['sub_agent'],
        script: async (turn) =>
          JSON.stringify(
            (
              await turn.tool('sub_agent', {
                agent_name: turn.task === 'wait' ? 'held' : 'echo',
                task: 'a part',
              })
            ).value,
          ),
      },
      talker: { script: (turn) => (turn.say('one '), turn.say('two'), 'one two') },
      big: { script: () => 'x'.repeat(300_000) },
      ...options.agents,
    },
  })
  const logged: Logged[] = []
  const secret = Buffer.from('a secret for tests')
  const server = await startHttp({
    desks: line.desks,
    clock: systemClock,
    host: '127.0.0.1',
    port: 0,
    auth: 'open',
    token: null,
    secret,
    version: '9.9.9',
    doors: [],
    pageDir: null,
    metrics: null,
    log: (level, message, fields = {}) => logged.push({ level, message, fields }),
    cwd: '/tmp',
    ...more,
    limits: { requestsPerMinute: 10_000_000, ...more.limits },
  })
  onTestFinished(async () => {
    await server.close()
    await line.close()
  })
  const ask = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => askAt(server.url, method, path, body, headers)
  return {
    line,
    server,
    url: server.url,
    gate,
    logged,
    secret,
    ask,
    get: (path, headers) => ask('GET', path, undefined, headers),
    post: (path, body, headers) => ask('POST', path, body ?? {}, headers),
    async open(agent, fields = {}) {
      const made = await exchangeOf(line.desks).createSession(
        { kind: 'user' },
        {
          cwd: '/tmp',
          agent,
          model: null,
          title: '',
          parent: null,
          initialMessage: null,
          id: null,
          trace: null,
          ...fields,
        },
      )
      if ('code' in made) throw new Error(made.code)
      return made.sessionId
    },
  }
}

export async function askAt(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : null,
  }
}

/** With headers that `fetch` does not let one set. */
export function askRaw(
  url: string,
  options: { method?: string; path: string; headers?: Record<string, string>; body?: string },
): Promise<{ status: number; body: Body; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url + options.path,
      { method: options.method ?? 'GET', headers: options.headers },
      (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: text.startsWith('{') ? JSON.parse(text) : text,
            headers: response.headers,
          }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(options.body)
  })
}

export async function until(
  condition: () => boolean | Promise<boolean>,
  what = 'a condition',
): Promise<void> {
  const end = Date.now() + 15_000
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`${what} did not come true`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export type Frame = {
  type: string
  seq?: string
  after?: string
  sessionId?: string
  event?: { type: string; session: string }
  error?: { code: string; message: string }
  text?: string
}

export type Listening = {
  ws: WebSocket
  frames: Frame[]
  closed: Promise<{ code: number; reason: string }>
  events(): Frame[]
  say(frame: unknown): void
  close(): Promise<void>
}

export async function listen(
  url: string,
  query = '',
  headers: Record<string, string> = {},
): Promise<Listening> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/ws${query}`, { headers })
  const frames: Frame[] = []
  ws.on('message', (data) => frames.push(JSON.parse((data as Buffer).toString()) as Frame))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  ws.on('error', () => undefined)
  await once(ws, 'open')
  return {
    ws,
    frames,
    closed,
    events: () => frames.filter((frame) => frame.type === 'event'),
    say: (frame) => ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    async close() {
      ws.close()
      await closed
    },
  }
}

/** The status and body with which an upgrade was declined. */
export function declined(
  url: string,
  query = '',
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body }> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/ws${query}`, { headers })
    ws.on('open', () => reject(new Error('it was let in')))
    ws.on('unexpected-response', (_request, response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as unknown }),
      )
    })
  })
}

/** The answer has the keys and kinds that the description of the API promises. */
export function expectShape(answer: Answer, status: number, shape: z.ZodType): void {
  expect(answer.text === '' ? answer.status : { status: answer.status, body: answer.body }).toMatchObject({
    status,
  })
  expect(shape.parse(answer.body)).toEqual(answer.body)
}

export function expectNo(
  answer: Pick<Answer, 'status' | 'body'>,
  status: number,
  code: string,
  field?: string,
): void {
  expect({ status: answer.status, ...answer.body.error }).toMatchObject({
    status,
    code,
    ...(field === undefined ? {} : { field }),
  })
  expect(WireError.safeParse(answer.body).success).toBe(true)
  expect(answer.body.error.message.length).toBeGreaterThan(10)
}
