/** One MCP server for one request: lists the tools that the desk offers to the asker, and uses them. */
import { hash } from 'node:crypto'
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolRequest,
  type CallToolResult,
  type ServerCapabilities,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import { externalAgent } from '../../model/agent.ts'
import type { ClientProgram } from '../../model/client-address.ts'
import { isRecord, type Json } from '../../model/json.ts'
import { type Refusal, explain, isRefusal } from '../../model/refusal.ts'
import type { Who } from '../../runtime/desk/asker.ts'
import type { Desk, Desks } from '../../runtime/desk/desk.ts'
import { storeRefusal } from '../../runtime/kernel/faults.ts'
import type { Clock, ToolAnswer } from '../../runtime/kernel/ports.ts'
import { completeAnswer, refuseTool } from '../../tools/refused-answer.ts'
import type { Tools } from '../../wire/tools.ts'
import { findHandOffMs, useWithin } from './hand-off.ts'
import { keyMetaKey } from './client-meta.ts'
import { toToolResult } from './server-answers.ts'
import { describeClient, findProgram, findTrace } from './server-client.ts'
import type { Inflight } from './server-inflight.ts'
import { whoWorks, withProgress, type ProgressDeps } from './server-progress.ts'
import { instructions, serverCapabilities, serverInfo } from './server-facts.ts'
import { isOurs, describeTool } from './server-tools.ts'

/** Who sent a request, as the door has checked it, and what came with it. */
export type Asker = {
  who: Who
  headers: Headers
  /** What a client of the 2025 revision called itself. */
  program: string | null
  connection: string | null
  seenIn: string | null
  /** Aborts when the connection closes. */
  signal: AbortSignal
}

/**
 * What the protocol suites want a server to have. Only their script hands it in: no configuration reaches it.
 */
export type Fixtures = {
  capabilities: ServerCapabilities
  tools: readonly Tool[]
  call(name: string, ctx: ServerContext): Promise<CallToolResult>
}

export type FactoryDeps = {
  desks: Desks
  clock: Clock
  version: string
  progressMs: number
  inflight: Inflight
  /** For faults of which the client learns only that there was one. */
  report(fault: unknown): void
  fixtures: Fixtures | null
}

export function serverFor(asker: Asker | null, deps: FactoryDeps): Server {
  const { fixtures } = deps
  const server = new Server(serverInfo(deps.version), {
    capabilities: { ...serverCapabilities, ...fixtures?.capabilities },
    instructions,
  })
  server.setRequestHandler('tools/list', async () => {
    // A client is told the same whoever it is, so nothing is made for one that only looks.
    const listed = await listTools(asker, deps).catch(toRefusal)
    if (isRefusal(listed))
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, explain(listed), { code: listed.code })
    return { tools: [...listed.tools.map(describeTool), ...(fixtures?.tools ?? [])] }
  })
  server.setRequestHandler('tools/call', async (request, ctx) => {
    const { params } = request
    return fixtures?.tools.some((tool) => tool.name === params.name) === true
      ? fixtures.call(params.name, ctx)
      : callTool(asker, params, ctx, deps)
  })
  return server
}

const listTools = (asker: Asker | null, { desks }: FactoryDeps): Promise<Tools | Refusal> =>
  asker === null || asker.who.kind === 'user'
    ? desks.as({}).tools.list({ agent: externalAgent.name })
    : desks.as({ who: asker.who }).tools.list()

function toRefusal(fault: unknown): Refusal {
  const refusal = storeRefusal(fault)
  if (refusal === null) throw fault
  return refusal
}

const nameProgram = (asker: Asker | null, ctx: ServerContext): string | null =>
  findProgram(ctx.mcpReq.envelope) ?? asker?.program ?? null

/** A token names a session or a turn; without one the client acts as an external session of its own. */
async function whoAsks(asker: Asker | null, ctx: ServerContext, deps: FactoryDeps): Promise<Acting> {
  if (asker === null) throw new ProtocolError(ProtocolErrorCode.InternalError, 'the request has no sender')
  if (asker.who.kind !== 'user') return { who: asker.who, as: { who: asker.who } }
  const program = nameProgram(asker, ctx)
  const said = { meta: ctx.mcpReq._meta, headers: asker.headers, program }
  const client = { ...describeClient(said, asker.connection), seenIn: asker.seenIn }
  const actor = await deps.desks.as({ client }).tools.actor()
  if (isRefusal(actor)) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, explain(actor))
  return { who: actor, as: { client } }
}

/** Who acts, and what the desk is asked as: a client that is the user's own has more than a token gives. */
type Acting = { who: Exclude<Who, { kind: 'user' }>; as: { who: Who } | { client: ClientProgram } }

async function callTool(
  asker: Asker | null,
  { name, arguments: given = {} }: CallToolRequest['params'],
  ctx: ServerContext,
  deps: FactoryDeps,
): Promise<CallToolResult> {
  const { desks, clock, progressMs, inflight } = deps
  const input = given as { [name: string]: Json }
  const acting = await whoAsks(asker, ctx, deps).catch(toRefusal)
  if (isRefusal(acting)) return toToolResult(refuseTool(name, input, acting))
  const { who, as } = acting
  if (!isOurs(name) && !(await offers(desks.as({ who }), name)))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`)
  const running = inflight.begin(
    { who: JSON.stringify(asker?.who), connection: asker?.connection ?? null, id: ctx.mcpReq.id },
    [ctx.mcpReq.signal, ...(asker === null ? [] : [asker.signal])],
  )
  const token = ctx.mcpReq._meta?.progressToken
  try {
    const asked = { ...as, signal: running.signal, trace: findTrace(ctx.mcpReq._meta) }
    const desk = desks.as({ ...asked, act: deriveAct(asker, ctx, who, name) })
    const limitMs = await findHandOffMs(
      desks.as({}),
      'client' in as ? as.client.name : nameProgram(asker, ctx),
      name,
      input,
    )
    const used =
      limitMs === null
        ? desk.tools.use(name, input)
        : useWithin(desk, input, {
            limitMs,
            clock,
            signal: running.signal,
            waiting: desks.as(asked),
            user: desks.as({}),
          })
    const work = untilStopping(running.stopping, used)
    // The desk does not say in which session a turn runs, and nothing but a message depends on it.
    const session = who.kind === 'session' ? who.session : null
    const progress: ProgressDeps = {
      clock,
      everyMs: progressMs,
      describe: () => whoWorks(desks.as({}), session, name, input),
      tell: (more) =>
        ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: token ?? '', ...more },
        }),
    }
    const answer = await (token === undefined ? work : withProgress(work, progress))
    if (answer === 'stopping') return { content: [{ type: 'text', text: stoppingText }], isError: true }
    const given = isRefusal(answer) ? refuseTool(name, input, answer) : completeAnswer(name, input, answer)
    return toToolResult(tellWho(given, who))
  } catch (fault) {
    // A client that cancelled waits for nothing; others learn that it was not their mistake, and the log has
    // the rest.
    if (running.signal.aborted)
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'The call was cancelled.')
    const refusal = storeRefusal(fault)
    if (refusal !== null) return toToolResult(refuseTool(name, input, refusal))
    deps.report(fault)
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      `The server failed while it used ${name}. Try again, or tell the user to look at the server's log.`,
    )
  } finally {
    running.end()
  }
}

/** Which session a client is stands in answers alone: it may keep what it was told about the tools. */
const tellWho = ({ ok, value }: ToolAnswer, who: Who): ToolAnswer =>
  who.kind === 'session' && isRecord(value)
    ? { ok, value: { ...(value as { [name: string]: Json }), you: who.session } }
    : { ok, value }

/** A server that stops has not cancelled what it waits for. */
function untilStopping<T>(stopping: AbortSignal, work: Promise<T>): Promise<T | 'stopping'> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve('stopping')
    if (stopping.aborted) stop()
    stopping.addEventListener('abort', stop, { once: true })
    work.finally(() => stopping.removeEventListener('abort', stop)).then(resolve, reject)
  })
}

const stoppingText =
  'The Tieline server stops. What you asked for goes on when it runs again. ' +
  'A client that asks again with the same idempotency key gets its answer; ' +
  'without one, do not ask again before the user has looked at `tieline calls`.'

/**
 * A retry with the same key is the same act. The key is the client's own, so it counts only for the same
 * client and tool. It comes in the `Idempotency-Key` header, or in the request's `_meta`.
 */
function deriveAct(asker: Asker | null, ctx: ServerContext, who: Who, name: string): string | null {
  const given = ctx.mcpReq._meta?.[keyMetaKey]
  const key = typeof given === 'string' ? given : (asker?.headers.get('idempotency-key') ?? null)
  if (key === null || key === '') return null
  return hash('sha256', JSON.stringify([who, 'mcp', name, key]), 'base64url')
}

async function offers(desk: Desk, name: string): Promise<boolean> {
  const listed = await desk.tools.list()
  return !isRefusal(listed) && listed.tools.some((tool) => tool.name === name)
}
