/**
 * `tieline mcp`: MCP on standard input and output, for clients that start their servers. It owns nothing:
 * every message goes to the running server's own MCP door and every answer comes back, so both revisions and
 * progress work here too. It adds what this process knows about its client: its directory and its
 * conversation. When the connection breaks during a tool call, it retries with the same key, so that the call
 * has one effect, and the answer is found even if the server died.
 *
 * It does not load the protocol's library, because some clients begin their first turn without waiting for a
 * server that is slow to start. Standard output carries the protocol and nothing else.
 */
import type { Readable, Writable } from 'node:stream'
import type { Surroundings } from '../../client/surroundings.ts'
import { eventData } from '../../client/event-data.ts'
import { inletLimits, ownLimits, parseJson } from '../../model/bounded-json.ts'
import { boundedLines } from '../../model/bounded-lines.ts'
import { listen } from '../../model/contained.ts'
import { isRecord } from '../../model/json.ts'
import { explain, isRefusal } from '../../model/refusal.ts'
import { clientMetaKey, keyMetaKey, type ClientMeta } from './client-meta.ts'

/** Where clients tell their processes which conversation they belong to. */
const conversationVariables = ['CLAUDE_CODE_SESSION_ID', 'COPILOT_AGENT_SESSION_ID'] as const
const versionKey = 'io.modelcontextprotocol/protocolVersion'
const clientKey = 'io.modelcontextprotocol/clientInfo'
const internalError = -32_603
const parseError = -32_700
/** Before each retry of a tool call whose connection broke. A server that died takes a moment to start. */
const pausesMs = [250, 2000] as const

export type McpStdioDeps = {
  /** Finds the running server or starts one: at first use, and when it cannot be reached any more. */
  server: () => Promise<{ url: string; token: string | null }>
  version: string
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  stdin: Readable
  stdout: Writable
  /** Ends it. */
  signal: AbortSignal
  surroundings: Surroundings
  /** For standard error. */
  report: (text: string) => void
}

type Fields = { [name: string]: unknown }
type Message = { jsonrpc?: unknown; id?: string | number; method?: string; params?: Fields; result?: Fields }

/** It never arrived: nothing has run. `again`: another look for the server may help. */
class Unreachable extends Error {
  readonly again: boolean
  constructor(cause: unknown, again: boolean) {
    super(`The Tieline server cannot be reached: ${describeFault(cause)}`, { cause })
    this.again = again
  }
}

/** Settles when the client has gone, or the signal aborts; what it still waits for is cancelled. */
export async function serveMcpStdio(deps: McpStdioDeps): Promise<void> {
  const relay = createRelay(deps)
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const end = (): void => resolve()
  const breakOff = (fault: unknown): void => {
    deps.report(`the input could not be read, so this ends: ${describeFault(fault)}`)
    end()
  }
  const push = boundedLines(inletLimits.bytesMax, (line) => {
    if (line.trim() !== '') relay.take(line)
  })
  listen(deps.stdin, 'data', breakOff, (piece: Buffer | string) =>
    push(typeof piece === 'string' ? Buffer.from(piece) : piece),
  )
  deps.stdin.once('end', end)
  deps.stdin.once('close', end)
  listen(deps.stdin, 'error', end, breakOff)
  deps.stdout.on('error', end)
  deps.signal.addEventListener('abort', end, { once: true })
  if (deps.signal.aborted) end()
  await closed
  deps.stdin.pause()
  relay.stop()
}

/** What the handshake of the 2025 revision settled. */
type Settled = { program: string | null; connection: string | null; version: string | null }

function createRelay(deps: McpStdioDeps) {
  const running = new Map<unknown, AbortController>()
  const settled: Settled = { program: null, connection: null, version: null }
  const post = createPoster(deps)

  async function exchange(message: Message, request: Message, signal: AbortSignal): Promise<void> {
    const response = await post(JSON.stringify(request), makeHeaders(message, settled), signal)
    settled.connection = response.headers.get('mcp-session-id') ?? settled.connection
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    let answered = message.id === undefined
    const texts = isStream && response.body !== null ? eventData(response.body) : [await response.text()]
    for await (const text of texts) {
      const said = parseMessage(text)
      if (said?.jsonrpc !== '2.0') continue
      if (message.method === 'initialize' && typeof said.result?.['protocolVersion'] === 'string')
        settled.version = said.result['protocolVersion']
      answered ||= said.id === message.id && said.method === undefined
      write(deps, text)
    }
    if (answered) return
    if (response.ok) throw new Error('the answer ended too early')
    throw new Unreachable(new Error(`it answered with status ${response.status}`), false)
  }

  async function run(message: Message): Promise<void> {
    const own = new AbortController()
    if (message.id !== undefined) running.set(message.id, own)
    try {
      const isTool = message.method?.startsWith('tools/') === true
      const request = isTool ? withClient(message, settled.program, deps) : message
      const ask = (): Promise<void> => exchange(message, request, own.signal)
      // Only tool calls: anything else has no effect, and a client asks for it again by itself.
      await (message.method === 'tools/call' ? keepAsking(deps, own.signal, ask) : ask())
    } catch (error) {
      // A client that cancelled waits for no answer.
      if (!own.signal.aborted) fail(deps, message, error)
    } finally {
      if (running.get(message.id) === own) running.delete(message.id)
    }
  }

  return {
    take(line: string): void {
      const parsed = parseJson(line, 'message')
      if (isRefusal(parsed)) {
        deps.report(`a line of the input was passed over: ${explain(parsed)}`)
        // JSON-RPC 2.0, 5.1: the id of a request that could not be read is null.
        return answer(deps, null, { error: { code: parseError, message: explain(parsed) } })
      }
      if (!isRecord(parsed.value))
        return deps.report('a line of the input is no message, and was passed over')
      const message: Message = parsed.value
      const { method, params } = message
      if (method === 'initialize') settled.program = nameIn(params?.['clientInfo'])
      const cancelled = method === 'notifications/cancelled' ? running.get(params?.['requestId']) : undefined
      // The door takes a request that closes as cancelled, in both revisions.
      if (cancelled !== undefined) cancelled.abort()
      else void run(message)
    },
    stop(): void {
      for (const call of running.values()) call.abort()
    },
  }
}

function fail(deps: McpStdioDeps, { id, method }: Message, error: unknown): void {
  const text =
    error instanceof Unreachable
      ? error.message
      : `The connection to the Tieline server broke (${describeFault(error)}). ` +
        'What was asked may have run: look at the state before you ask again.'
  deps.report(text)
  if (id === undefined) return
  // A model can read a result and go on without the tool; an error of the protocol would only end its turn.
  if (method === 'tools/call')
    answer(deps, id, { result: { content: [{ type: 'text', text }], isError: true } })
  else answer(deps, id, { error: { code: internalError, message: text } })
}

const answer = (deps: McpStdioDeps, id: string | number | null, said: Fields): void =>
  write(deps, JSON.stringify({ jsonrpc: '2.0', id, ...said }))

const write = ({ stdout }: McpStdioDeps, text: string): void =>
  void stdout.write(`${text.replaceAll(/[\r\n]+/g, ' ')}\n`)

/** Retries what may have arrived: with the same key it has one effect. The rest was retried below. */
async function keepAsking(
  { surroundings, report }: McpStdioDeps,
  signal: AbortSignal,
  ask: () => Promise<void>,
): Promise<void> {
  for (const pauseMs of pausesMs) {
    try {
      return await ask()
    } catch (error) {
      if (signal.aborted || error instanceof Unreachable) throw error
      const why = describeFault(error)
      report(`the connection to the Tieline server broke (${why}); asking again with the same key`)
      await surroundings.sleep(pauseMs, signal)
      signal.throwIfAborted()
    }
  }
  return ask()
}

type Post = (body: string, headers: Record<string, string>, signal: AbortSignal) => Promise<Response>

/** Remembers where the server is, and looks again when it is not there. */
function createPoster(deps: McpStdioDeps): Post {
  let finding: ReturnType<McpStdioDeps['server']> | null = null

  const once: Post = async (body, headers, signal) => {
    const mine = (finding ??= deps.server())
    const forget = (): void => {
      if (finding === mine) finding = null
    }
    const place = await mine.catch((error: unknown) => {
      forget()
      throw new Unreachable(error, false)
    })
    const authorization = place.token === null ? {} : { authorization: `Bearer ${place.token}` }
    return fetch(new URL('/mcp', place.url), {
      method: 'POST',
      body,
      signal,
      headers: { ...headers, ...authorization, 'user-agent': `tieline-mcp/${deps.version}` },
    }).catch((error: unknown) => {
      if (!signal.aborted) forget()
      throw wasRefused(error) ? new Unreachable(error, true) : error
    })
  }

  // Only what surely never arrived is sent again: anything else may have run.
  return (...request) =>
    once(...request).catch((error: unknown) => {
      if (error instanceof Unreachable && error.again) return once(...request)
      throw error
    })
}

/**
 * Requests of the 2026 revision carry in headers what they say inside; those of the older one what the
 * handshake settled.
 */
function makeHeaders({ method, params }: Message, { connection, version }: Settled): Record<string, string> {
  const plain = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const claimed = metaIn(params)[versionKey]
  if (typeof claimed !== 'string')
    return {
      ...plain,
      ...(connection === null ? {} : { 'mcp-session-id': connection }),
      ...(version === null ? {} : { 'mcp-protocol-version': version }),
    }
  const name = params?.['name'] ?? params?.['uri']
  return {
    ...plain,
    'mcp-protocol-version': claimed,
    ...(method === undefined ? {} : { 'mcp-method': inHeader(method) }),
    ...(typeof name === 'string' ? { 'mcp-name': inHeader(name) } : {}),
  }
}

/** SEP-2243: what a header cannot hold is written in base64. */
const inHeader = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?')
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`

function withClient(
  message: Message,
  program: string | null,
  { cwd, env, surroundings }: McpStdioDeps,
): Message {
  const meta = metaIn(message.params)
  const name = nameIn(meta[clientKey]) ?? program
  const session = conversationVariables.map((variable) => env[variable] ?? '').find((value) => value !== '')
  const client: ClientMeta = { cwd, name: name ?? undefined, session }
  const _meta = { [keyMetaKey]: surroundings.draw(), ...meta, [clientMetaKey]: client }
  return { ...message, params: { ...message.params, _meta } }
}

const metaIn = (params: Fields | undefined): Fields => (isRecord(params?.['_meta']) ? params['_meta'] : {})
const nameIn = (info: unknown): string | null =>
  isRecord(info) && typeof info['name'] === 'string' ? info['name'] : null

function parseMessage(text: string): Message | null {
  const parsed = parseJson(text, 'message', ownLimits)
  return !isRefusal(parsed) && isRecord(parsed.value) ? parsed.value : null
}

function wasRefused(error: unknown): boolean {
  return (
    error instanceof Error &&
    ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' || wasRefused(error.cause))
  )
}

/** The innermost cause is what helps. */
function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${describeFault(error.cause)})` : error.message
}
