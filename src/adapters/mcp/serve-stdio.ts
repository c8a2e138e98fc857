/**
 * `tieline mcp`: MCP on standard input and output, for clients that start their servers. It owns nothing:
 * every message goes to the running server's own MCP door and every answer comes back, so both revisions and
 * progress work here too. It adds what this process knows about its client: its directory and its
 * conversation. When the connection breaks during a tool call, it retries with the same key, so that the call
 * has one effect, and the answer is found even if the server died.
 *
 * Some clients begin their first turn without waiting for a server that is slow to start. So it answers the
 * handshake itself, and lists the tools itself while no server runs; one is found or started meanwhile. It does
 * not load the protocol's library. Standard output carries the protocol and nothing else.
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
import { answerConstant, answerTools } from './constant-answers.ts'
import { createPoster, describeFault, Unreachable, type Poster, type ServerAddress } from './server-poster.ts'

/** Where clients tell their processes which conversation they belong to. */
const conversationVariables = ['CLAUDE_CODE_SESSION_ID', 'COPILOT_AGENT_SESSION_ID'] as const
const versionKey = 'io.modelcontextprotocol/protocolVersion'
const clientKey = 'io.modelcontextprotocol/clientInfo'
const internalError = -32_603
const parseError = -32_700
/** Before each retry of a tool call whose connection broke. A server that died takes a moment to start. */
const pausesMs = [250, 2000] as const

export type McpStdioDeps = {
  /** The running server, or null. */
  running: () => Promise<ServerAddress | null>
  /** Finds the running server or starts one: at once, and when it cannot be reached any more. */
  server: () => Promise<ServerAddress>
  /** The tools as a server would list them. */
  tools: () => Promise<readonly object[]>
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
type Settled = { program: string | null; version: string | null }

/** Answers what needs no server, and looks for one meanwhile. Null for what a server must be asked. */
function createAnswerer(deps: McpStdioDeps, post: Poster): (message: Message) => Promise<Fields | null> {
  // Whether one ran when this began: a list of tools does not wait for one that is being started.
  const ranBefore = deps.running().catch(() => null)
  // Whoever needs it learns why there is none.
  void ranBefore.then(() => post.find()).catch(() => undefined)
  return async (message) => {
    if (message.method === 'tools/list' && (await ranBefore) === null && !post.isFound())
      return answerTools(await deps.tools(), message.params, deps.version)
    return answerConstant(message, deps.version)
  }
}

/** Passes on all that is said until the request is answered. */
async function passOn(deps: McpStdioDeps, response: Response, message: Message): Promise<void> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  let answered = message.id === undefined
  const texts = isStream && response.body !== null ? eventData(response.body) : [await response.text()]
  for await (const text of texts) {
    const said = parseMessage(text)
    if (said?.jsonrpc !== '2.0') continue
    answered ||= said.id === message.id && said.method === undefined
    write(deps, text)
  }
  if (answered) return
  if (response.ok) throw new Error('the answer ended too early')
  throw new Unreachable(new Error(`it answered with status ${response.status}`), false)
}

function createRelay(deps: McpStdioDeps) {
  const running = new Map<unknown, AbortController>()
  const settled: Settled = { program: null, version: null }
  const post = createPoster(deps)
  const answerAlone = createAnswerer(deps, post)

  async function run(message: Message): Promise<void> {
    const own = new AbortController()
    if (message.id !== undefined) running.set(message.id, own)
    try {
      const isTool = message.method?.startsWith('tools/') === true
      const request = isTool ? withClient(message, settled.program, deps) : message
      const ask = async (): Promise<void> => {
        const headers = makeHeaders(message, settled)
        await passOn(deps, await post.send(JSON.stringify(request), headers, own.signal), message)
      }
      // Only tool calls: anything else has no effect, and a client asks for it again by itself.
      await (message.method === 'tools/call' ? keepAsking(deps, own.signal, ask) : ask())
    } catch (error) {
      // A client that cancelled waits for no answer.
      if (!own.signal.aborted) fail(deps, message, error)
    } finally {
      if (running.get(message.id) === own) running.delete(message.id)
    }
  }

  async function handle(message: Message): Promise<void> {
    const { id, method } = message
    if (method === 'notifications/initialized') return
    const result = id === undefined ? null : await answerAlone(message)
    if (id === undefined || result === null) return run(message)
    if (method === 'initialize' && typeof result['protocolVersion'] === 'string')
      settled.version = result['protocolVersion']
    answer(deps, id, { result })
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
      else void handle(message)
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

/**
 * Requests of the 2026 revision carry in headers what they say inside; those of the older one what the
 * handshake settled.
 */
function makeHeaders({ method, params }: Message, { version }: Settled): Record<string, string> {
  const plain = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const claimed = metaIn(params)[versionKey]
  if (typeof claimed !== 'string')
    return {
      ...plain,
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
