/**
 * A scripted model behind real HTTP, for tests of our providers and of other people's agents: OpenAI chat
 * completions and responses, Anthropic messages,
 * Google generateContent; streaming and not. The first rule that fits answers.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { wires, type WireName } from './fake-model-wires.ts'
import type { Asked, FakeUsage, Piece, Said } from './fake-wires/wire.ts'

export type FakeRule = {
  /** All that is given must fit. `result` looks at the last tool result, `request` counts requests from 1. */
  when?: {
    system?: string | RegExp
    user?: string | RegExp
    result?: string | RegExp
    results?: number
    request?: number
    wire?: WireName
  }
  /** Used at most so often, then the next rule that fits answers. */
  times?: number
  text?: string
  /**
   * An input that is a text is sent as it is, so that it need not be JSON; one that is a function is made from
   * the request. The namespace is Codex's.
   */
  tools?: FakeTool[]
  /** Null: the answer says nothing about usage. */
  usage?: FakeUsage | null
  finish?: 'length'
  delayMs?: number
  /** Takes the request and never answers, or answers a part and then nothing more. */
  hang?: 'before' | 'middle'
  status?: number
  retryAfter?: string
  errorText?: string
  /** Of the answer, such as what is left of a rate limit. */
  headers?: Readonly<Record<string, string>>
  garbage?: boolean
  /** The connection breaks, or the stream ends cleanly but too early. */
  cut?: 'connection' | 'stream'
  empty?: boolean
  /** Sends the stream in pieces of a few bytes, which split code points. */
  splitBytes?: boolean
}

export type FakeTool = {
  name: string
  namespace?: string
  input: unknown
}

export type FakeRequest = Asked & {
  wire: WireName
  path: string
  headers: IncomingMessage['headers']
  body: Record<string, unknown>
  /** The client went away before the answer was complete. */
  abandoned: boolean
}

export type FakeModel = {
  url: string
  requests: FakeRequest[]
  openRequests: () => number
  /** Settles when `openRequests` is at most `count`. */
  settled: (count?: number) => Promise<void>
  rules: FakeRule[]
  close: () => Promise<void>
}

export async function fakeModel(
  rules: FakeRule[],
  options: { toolRoundsMax?: number } = {},
): Promise<FakeModel> {
  const requests: FakeRequest[] = []
  const used = new Map<FakeRule, number>()
  const open = new Set<ServerResponse>()
  const waiters = new Set<() => void>()
  const fake: FakeModel = { url: '', requests, rules, openRequests: () => open.size, settled, close }

  function settled(count = 0): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (open.size > count) return
        waiters.delete(look)
        resolve()
      }
      waiters.add(look)
      look()
    })
  }

  const choose = (request: FakeRequest): FakeRule => {
    const rule = fake.rules.find(
      (candidate) =>
        (used.get(candidate) ?? 0) < (candidate.times ?? Number.POSITIVE_INFINITY) &&
        fitsRule(candidate, request, requests.length),
    )
    if (rule === undefined) return { text: 'The fake model has no rule for this.' }
    used.set(rule, (used.get(rule) ?? 0) + 1)
    // A loop of tools ends, whatever the rules say.
    return request.toolRounds >= (options.toolRoundsMax ?? 16)
      ? { ...rule, tools: [], text: rule.text ?? 'The tool rounds are used up.' }
      : rule
  }

  const server = createServer((incoming, response) => {
    void serve(incoming, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    )
  })

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (incoming.url ?? '/').split('?')[0] ?? '/'
    if (path.endsWith('/models'))
      return sendJson(response, 200, { object: 'list', data: [{ id: 'fake', object: 'model' }] })
    const body = await readBody(incoming)
    if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: 10 })
    const wire = (Object.keys(wires) as WireName[]).find((name) => wires[name].fits(path))
    if (wire === undefined)
      return sendJson(response, 404, { error: { message: `the fake model does not serve ${path}` } })
    const request: FakeRequest = {
      ...wires[wire].read(body, path),
      wire,
      path,
      headers: incoming.headers,
      body,
      abandoned: false,
    }
    requests.push(request)
    open.add(response)
    response.on('close', () => {
      request.abandoned = !response.writableFinished
      open.delete(response)
      for (const look of waiters) look()
    })
    await answer(request, choose(request), response, requests.length)
  }

  async function close(): Promise<void> {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return fake
}

const fitsText = (want: string | RegExp | undefined, text: string | undefined): boolean =>
  want === undefined ||
  (text !== undefined && (typeof want === 'string' ? text.includes(want) : want.test(text)))

function fitsRule(rule: FakeRule, request: FakeRequest, count: number): boolean {
  const { when } = rule
  if (when === undefined) return true
  if (when.wire !== undefined && when.wire !== request.wire) return false
  if (when.request !== undefined && when.request !== count) return false
  if (when.results !== undefined && when.results !== request.results.length) return false
  return (
    fitsText(when.system, request.system) &&
    fitsText(when.user, request.user) &&
    fitsText(when.result, request.results.at(-1))
  )
}

async function answer(
  request: FakeRequest,
  rule: FakeRule,
  response: ServerResponse,
  count: number,
): Promise<void> {
  const wire = wires[request.wire]
  if (rule.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, rule.delayMs))
  if (rule.hang === 'before') return
  for (const [name, value] of Object.entries(rule.headers ?? {})) response.setHeader(name, value)
  if (rule.status !== undefined) {
    if (rule.retryAfter !== undefined) response.setHeader('retry-after', rule.retryAfter)
    return sendJson(response, rule.status, wire.error(rule.status, rule.errorText ?? `status ${rule.status}`))
  }
  const said = saidOf(rule, request, count)
  if (!request.stream)
    return rule.garbage === true
      ? sendText(response, '{"this is not')
      : sendJson(response, 200, wire.whole(said))
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  if (rule.garbage === true) return void response.end('data: {"this is not\n\ndata: <html>\n\n')
  const pieces = wire.stream(said)
  const early = rule.cut !== undefined || rule.hang === 'middle'
  await write(
    response,
    early ? pieces.slice(0, Math.max(1, Math.floor(pieces.length / 2))) : pieces,
    rule.splitBytes === true,
  )
  if (rule.hang === 'middle') return
  if (rule.cut === 'connection') response.destroy()
  else response.end()
}

function saidOf(rule: FakeRule, request: FakeRequest, count: number): Said {
  const tools = (rule.empty === true ? [] : (rule.tools ?? [])).map((tool, index) => ({
    id: `call_${count}_${index}`,
    ...tool,
    input:
      typeof tool.input === 'function'
        ? (tool.input as (asked: FakeRequest) => unknown)(request)
        : tool.input,
  }))
  const usage = rule.usage === undefined ? { input: 11, output: 7 } : rule.usage
  return {
    text: rule.empty === true ? '' : (rule.text ?? ''),
    tools,
    usage,
    finish: rule.finish ?? (tools.length > 0 ? 'tools' : 'stop'),
  }
}

async function write(response: ServerResponse, pieces: readonly Piece[], splitBytes: boolean): Promise<void> {
  for (const piece of pieces) {
    const data = typeof piece.data === 'string' ? piece.data : JSON.stringify(piece.data)
    const bytes = Buffer.from(
      `${piece.event === undefined ? '' : `event: ${piece.event}\n`}data: ${data}\n\n`,
    )
    const step = splitBytes ? 5 : bytes.length
    for (let at = 0; at < bytes.length; at += step)
      await new Promise((resolve) => response.write(bytes.subarray(at, at + step), resolve))
  }
}

async function readBody(incoming: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}
