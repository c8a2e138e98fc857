/** A whole server with every door open, agents whose turns do as they are told, and one way to ask at each door. */
import type { AgentOptions } from '../../src/define.ts'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { loadConfig } from '../../src/config.ts'
import type { SessionId, TurnId } from '../../src/model/id.ts'
import type { Json } from '../../src/model/json.ts'
import { explain, isRefusal } from '../../src/model/refusal.ts'
import type { Who } from '../../src/runtime/desk/asker.ts'
import type { Desk } from '../../src/runtime/desk/desk.ts'
import { openServer, type OpenServer } from '../../src/open-server.ts'
import { mintSessionToken, mintTurnToken } from '../../src/server/identity.ts'
import { askAt, type Answer } from './http.ts'

/** What a door said: the code of a refusal, or that there was none. */
export type Told = { code: string; message: string } | 'let through'
/** One way in: what is asked there, and what it says. */
export type Door = () => Promise<Told>

type Use = (tool: string, input: Json) => Promise<{ value: Json }>

/** A session with a turn that runs, and uses the tools that the test names. */
export type Actor = { session: SessionId; turn: TurnId; use: Use }

export type Doors = {
  served: OpenServer
  /** What a session of this agent is, while a turn of it runs. */
  begin: (agent: string) => Promise<Actor>
  /** The same for a connected program, which runs the turns of its session itself. */
  beginHosted: () => Promise<Actor>
  /** A session in which nothing runs; of a connected program with the agent `program`. */
  open: (agent: string, parent?: SessionId) => Promise<SessionId>
  openHosted: () => Promise<SessionId>
  token: (who: Who) => string
  as: (who: Who) => Desk
  http: (who: Who, method: string, path: string, body?: unknown) => Promise<Told>
  /** The whole answer, for what is filtered instead of refused. */
  ask: (who: Who, method: string, path: string, body?: unknown) => Promise<Answer>
  library: (answer: Promise<object | null>) => Promise<Told>
  /** Every way to use a tool as this session and as its turn. */
  toolDoors: (actor: Actor, tool: string, input: Json) => Record<string, Door>
  /** The same for a session in which no turn runs. */
  restingToolDoors: (session: SessionId, tool: string, input: Json) => Record<string, Door>
}

export type DoorOptions = {
  /** A part of the configuration. */
  settings?: string
  /** One without a script obeys; without any there is `free`, which may do everything. */
  agents?: Record<string, AgentOptions>
  /** A configuration that lies in the directory of all sessions, and that nobody has agreed to. */
  planted?: string
}

export async function openDoors(options: DoorOptions = {}): Promise<Doors> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-doors-'))
  const config = join(dataDir, 'own.toml')
  if (options.planted !== undefined) writeFileSync(join(dataDir, 'tieline.toml'), options.planted)
  writeFileSync(config, `${hostedAgent}\n${options.settings ?? ''}\n`)
  const orders = new Map<string, Orders>()
  const define = (name: string, agent: AgentOptions): AgentOptions => {
    const own = new Orders()
    orders.set(name, own)
    return { tools: ['*'], script: (turn) => own.carryOut((tool, input) => turn.tool(tool, input)), ...agent }
  }
  const agents = options.agents ?? { free: { allowSubAgentCalls: true } }
  const read = await loadConfig({ file: config, cwd: dataDir, env: process.env, home: dataDir })
  const served = await openServer({
    dataDir,
    loaded: read,
    port: 0,
    cwd: dataDir,
    asks: false,
    agents: {
      target: { script: ({ task }) => `heard: ${task}` },
      ...Object.fromEntries(Object.entries(agents).map(([name, agent]) => [name, define(name, agent)])),
    },
    limitsOfHttp: { requestsPerMinute: 1_000_000 },
  })
  onTestFinished(() => served.close())
  const seed = readFileSync(join(dataDir, 'secret'), 'utf8').trim()
  return createDoors(served, createHash('sha256').update(seed).digest(), orders)
}

/** It may use every tool, and call nobody. */
const hostedAgent = `
[agents.program]
driver = "host"
tools = ["*"]
allowSubAgentCalls = false
`

function createDoors(served: OpenServer, secret: Uint8Array, orders: ReadonlyMap<string, Orders>): Doors {
  const { desks } = served.line
  const token = (who: Who): string =>
    who.kind === 'session'
      ? mintSessionToken(secret, who.session)
      : who.kind === 'turn'
        ? mintTurnToken(secret, who.turn)
        : ''
  const headers = (who: Who): Record<string, string> =>
    who.kind === 'user' ? {} : { authorization: `Bearer ${token(who)}` }
  const ask: Doors['ask'] = (who, method, path, body) => askAt(served.url, method, path, body, headers(who))
  const http: Doors['http'] = async (who, ...request) => readHttp(await ask(who, ...request))
  const library: Doors['library'] = async (answer) => readRefusal(await answer)
  const outside = (who: Who, label: string, tool: string, input: Json): Record<string, Door> => ({
    [`POST /api/tools, ${label}`]: () => http(who, 'POST', `/api/tools/${tool}`, { input }),
    [`MCP, ${label}`]: () => useOverMcp(served.url, headers(who), tool, input),
    [`library, ${label}`]: async () => {
      const used = await desks.as({ who }).tools.use(tool, input)
      return isRefusal(used) ? readRefusal(used) : readTool(used.value)
    },
  })
  const open: Doors['open'] = async (agent, parent) => {
    const made = await desks.as({}).sessions.create({ cwd: served.dataDir, agent, parent: parent ?? null })
    if (isRefusal(made)) throw new Error(explain(made))
    return made.sessionId
  }
  const begin = async (session: SessionId, use: Use): Promise<Actor> => {
    const sent = await desks.as({}).sessions.send(session, { message: 'obey', delivery: 'auto' })
    if (isRefusal(sent) || sent.turn === null) throw new Error('the turn did not begin')
    return { session, turn: sent.turn, use }
  }
  const connect = (): Promise<{ session: SessionId; use: Use }> => connectProgram(served)
  return {
    served,
    token,
    ask,
    http,
    library,
    open,
    as: (who) => desks.as({ who, open: false }),
    async begin(agent) {
      const own = orders.get(agent)
      if (own === undefined) throw new Error(`no agent "${agent}" obeys`)
      return begin(await open(agent), (tool, input) => own.give(tool, input))
    },
    async beginHosted() {
      const { session, use } = await connect()
      return begin(session, use)
    },
    openHosted: async () => (await connect()).session,
    toolDoors: (actor, tool, input) => ({
      'inside its turn': async () => readTool((await actor.use(tool, input)).value),
      ...outside({ kind: 'session', session: actor.session }, 'token of the session', tool, input),
      ...outside({ kind: 'turn', turn: actor.turn }, 'token of the turn', tool, input),
    }),
    restingToolDoors: (session, tool, input) =>
      outside({ kind: 'session', session }, 'token of the session', tool, input),
  }
}

async function connectProgram(served: OpenServer): Promise<{ session: SessionId; use: Use }> {
  const own = new Orders()
  const host = tielineClient({ url: served.url }).host({
    agent: 'program',
    sessions: [{ id: 'one', cwd: served.dataDir }],
    run: (turn) => own.carryOut((tool, input) => turn.tool(tool, input)),
  })
  onTestFinished(() => host.close())
  await host.ready
  return { session: 'ses_program-one', use: (tool, input) => own.give(tool, input) }
}

type Order = {
  tool: string
  input: Json
  resolve: (answer: { value: Json }) => void
  reject: (fault: unknown) => void
}

/** What a test wants done inside a turn, one after the other. */
class Orders {
  readonly #given: Order[] = []
  #wake: () => void = () => undefined

  give(tool: string, input: Json): Promise<{ value: Json }> {
    return new Promise((resolve, reject) => {
      this.#given.push({ tool, input, resolve, reject })
      this.#wake()
    })
  }

  async carryOut(use: (tool: string, input: Json) => Promise<{ value: Json }>): Promise<never> {
    for (;;) {
      const order = this.#given.shift()
      if (order === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
      else await use(order.tool, order.input).then(order.resolve, order.reject)
    }
  }
}

async function useOverMcp(
  url: string,
  headers: Record<string, string>,
  tool: string,
  input: Json,
): Promise<Told> {
  const client = new Client({ name: 'a-client', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  try {
    const used = await client.callTool({ name: tool, arguments: input as Record<string, unknown> })
    return readTool((used as CallToolResult).structuredContent as Json)
  } finally {
    await client.close()
  }
}

const readRefusal = (answer: object | null): Told =>
  answer !== null && isRefusal(answer) ? { code: answer.code, message: explain(answer) } : 'let through'

/** A refusal stands in the answer, in the tool's own shape. */
export function readTool(value: Json): Told {
  const { error, errors } = value as {
    error?: { code: string; message: string } | string | null
    errors?: string[]
  }
  if (typeof error === 'string') return { code: error.split(':')[0] ?? '', message: error }
  if (error != null) return error
  return errors === undefined || errors.length === 0
    ? 'let through'
    : { code: String(errors[0]).split(':')[0] ?? '', message: String(errors[0]) }
}

function readHttp({ status, body }: Answer): Told {
  if (status >= 400) return body.error as Told
  return body !== null && typeof body === 'object' && 'value' in body && 'ok' in body
    ? readTool(body.value as Json)
    : 'let through'
}

/** What each door said, by its name: a test compares it with one answer for all of them. */
export async function tryDoors(doors: Record<string, Door>): Promise<Record<string, string>> {
  const told: Record<string, string> = {}
  for (const [name, door] of Object.entries(doors)) {
    const answer = await door()
    told[name] = answer === 'let through' ? answer : answer.code
  }
  return told
}

/** The same answer for each of them. */
export const everyDoor = (doors: Record<string, Door>, code: string): Record<string, string> =>
  Object.fromEntries(Object.keys(doors).map((name) => [name, code]))
