/**
 * The door for Letta's clients, and for Kelpie's: persistent agents under `/v1/agents`, each with one
 * conversation, asked by blocking or streamed turns.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { ClientProgram } from '../../model/client-address.ts'
import { readClientHeaders } from '../../model/client-headers.ts'
import { faultText, listen } from '../../model/contained.ts'
import { canonical } from '../../model/json.ts'
import type { SessionId } from '../../model/id.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { toWireError, refusalHeaders, refusalStatus } from '../../model/refusal-on-wire.ts'
import type { AskAnswer } from '../../runtime/sessions/ask-turn.ts'
import type { Who } from '../../runtime/desk/asker.ts'
import type { Desks } from '../../runtime/desk/desk.ts'
import type { Clock, Ids } from '../../runtime/kernel/ports.ts'
import { followTools } from './live-tools.ts'
import { mountMissing } from './not-here.ts'
import { agentsPage, messagesPage } from './paging.ts'
import {
  type Input,
  ListQuery,
  NewAgent,
  readActId,
  readSaid,
  readListQuery,
  readNewAgent,
  TurnInput,
} from './requests.ts'
import { type Piece, streamTurn } from './stream.ts'
import { turnsInFlight, type Place, type StartTurn, type TurnsInFlight } from './turns-in-flight.ts'
import { agentState, lettaAnswer } from './wire.ts'

export type LettaDeps = { desks: Desks; clock: Clock; ids: Ids }
export type Identity = { of(request: FastifyRequest): Who | Refusal }

/** A client that went away may come back within this time; then its turn is cancelled. */
export const graceMs = 10_000
const agentsLimit = 50
const messagesLimit = 100

type Asked = AskAnswer | Refusal
type Door = LettaDeps & {
  flights: TurnsInFlight<Asked, Piece>
  /** Called when the server stops. */
  atClose: Set<() => void>
}
type Handle = (request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) => Promise<unknown>
type Docs = { summary: string; body?: unknown; querystring?: unknown }

const refuse = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
  reply.code(refusalStatus[refusal.code]).headers(refusalHeaders(refusal)).send(toWireError(refusal))

export function lettaDoor(deps: LettaDeps): (app: FastifyInstance, identity: Identity) => Promise<void> {
  return async (app, identity) => {
    const door: Door = { ...deps, flights: turnsInFlight(deps.clock, graceMs), atClose: new Set() }
    await app.register(async (scope) => {
      scope.addHook('preClose', async () => {
        door.flights.close()
        for (const close of door.atClose) close()
      })
      scope.addHook('onRequest', (request, reply, done) => {
        const no = notTheUser(identity.of(request))
        if (no === null) done()
        else void refuse(reply, no)
      })
      mount(scope, door)
      mountMissing(scope)
    })
  }
}

/** Turns that are asked for here carry the user's authority; a session has its own tools for calling. */
function notTheUser(who: Who | Refusal): Refusal | null {
  if (isRefusal(who)) return who
  if (who.kind === 'user') return null
  const agent = `The token of a ${who.kind}`
  return { code: 'not_allowed', agent, what: 'act as the user', allowed: ['call_agent at /mcp'] }
}

const respond = async <T extends object>(
  reply: FastifyReply,
  given: Promise<T | Refusal>,
  render: (value: T) => unknown,
): Promise<unknown> => {
  const value = await given
  return isRefusal(value) ? refuse(reply, value as Refusal) : render(value)
}

/** Where a client says that it works: the agents of that project are meant. */
const from = (headers: IncomingHttpHeaders): { client: ClientProgram } => ({
  client: {
    name: 'letta',
    ...readClientHeaders((name) => (typeof headers[name] === 'string' ? headers[name] : undefined)),
  },
})

function mount(scope: FastifyInstance, door: Door): void {
  const { desks } = door
  const route = (method: HTTPMethods, url: string, docs: Docs, handler: Handle): void => {
    // Letta's clients end the paths of lists with a slash. What comes in is read here, so that a wrong field
    // is named; the schemas only describe it.
    for (const path of [url, `${url}/`]) {
      const schema = path === url ? { tags: ['persistent agents'], ...docs } : ({ hide: true } as object)
      const validatorCompiler = () => (value: unknown) => ({ value })
      scope.route<{ Params: { id: string } }>({ method, url: path, schema, validatorCompiler, handler })
    }
  }
  const [list, one, messages] = ['/v1/agents', '/v1/agents/:id', '/v1/agents/:id/messages']
  const make = { summary: 'Make a persistent agent', body: NewAgent }
  route('POST', list, make, async ({ body, headers }, reply) => {
    const agent = readNewAgent(body)
    if (isRefusal(agent)) return refuse(reply, agent)
    const act = readActId(list, headers['idempotency-key'])
    if (isRefusal(act)) return refuse(reply, act)
    return respond(reply, desks.as({ act: act.id }).agents.create(agent), agentState)
  })
  const agentsDocs = { summary: 'Persistent agents, page by page', querystring: ListQuery }
  route('GET', list, agentsDocs, async ({ query, headers }, reply) => {
    const page = readListQuery(query, agentsLimit)
    if (isRefusal(page)) return refuse(reply, page)
    return agentsPage((await desks.as(from(headers)).agents.list()).agents, page).map(agentState)
  })
  route('GET', one, { summary: 'One agent, by id or name' }, ({ params, headers }, reply) =>
    respond(reply, desks.as(from(headers)).agents.get(params.id), agentState),
  )
  route('DELETE', one, { summary: 'Delete an agent' }, ({ params }, reply) =>
    respond(reply, desks.as({}).agents.delete(params.id), ({ id }) => ({
      id,
      message: `Agent ${id} was deleted.`,
    })),
  )
  const messagesDocs = { summary: 'The conversation of an agent, page by page', querystring: ListQuery }
  route('GET', messages, messagesDocs, async ({ params, query, headers }, reply) => {
    const page = readListQuery(query, messagesLimit)
    if (isRefusal(page)) return refuse(reply, page)
    const { agents, sessions } = desks.as(from(headers))
    const main = await agents.session(params.id)
    if (isRefusal(main)) return refuse(reply, main)
    return respond(reply, messagesPage(sessions, main.session, page), (found) => found)
  })
  const [wait, stream] = ['Ask an agent, and wait for its turn', 'Ask an agent, and read its turn as it goes']
  route('POST', messages, { summary: wait, body: TurnInput }, (request, reply) =>
    ask(door, messages, false, request, reply),
  )
  route('POST', `${messages}/stream`, { summary: stream, body: TurnInput }, (request, reply) =>
    ask(door, `${messages}/stream`, true, request, reply),
  )
}

async function ask(
  door: Door,
  route: string,
  streaming: boolean,
  request: Parameters<Handle>[0],
  reply: FastifyReply,
): Promise<unknown> {
  const input = readSaid(request.body)
  if (isRefusal(input)) return refuse(reply, input)
  const act = readActId(route, request.headers['idempotency-key'])
  if (isRefusal(act)) return refuse(reply, act)
  const main = await door.desks.as(from(request.headers)).agents.session(request.params.id)
  if (isRefusal(main)) return refuse(reply, main)
  const { session } = main
  const streams = streaming || input.streaming
  const place = door.flights.attach(
    canonical([route, session, act.id, request.body]),
    turnStart(door, session, input, streams, act.id, readTrace(request.headers)),
  )
  leaveWhenDone(reply, place)
  return streams ? stream(door, place, input, reply) : block(door, place, reply)
}

function turnStart(
  { desks, ids }: Door,
  session: SessionId,
  { text }: Input,
  live: boolean,
  actId: string | null,
  trace: string | null,
): StartTurn<Asked, Piece> {
  return async (signal, emit) => {
    // Without an id of the client's own nothing has to be looked for.
    if (!live) return desks.as({ signal, act: actId, trace }).agents.ask(session, text)
    const id = actId ?? `msg_${ids.next()}`
    const { agents, log } = desks.as({ signal, act: id, trace })
    const unsubscribe = followTools(log, session, id, (message) => emit({ message }))
    try {
      return await agents.ask(session, text, (delta) => emit({ delta }))
    } finally {
      unsubscribe()
    }
  }
}

/** Whether the client was served is known when its connection took the last byte, or broke before. */
function leaveWhenDone({ raw }: FastifyReply, place: Place<Asked, Piece>): void {
  const warn = (fault: unknown): void => process.emitWarning(faultText(fault))
  listen(raw, 'finish', warn, () => place.leave(true))
  listen(raw, 'close', warn, () => place.leave(false))
  if (raw.destroyed) place.leave(false)
}

async function block(door: Door, place: Place<Asked, Piece>, reply: FastifyReply): Promise<unknown> {
  const answer = await untilClosing(door, place.answer)
  if (answer === 'closing') return stopping(reply)
  return isRefusal(answer) ? refuse(reply, answer) : lettaAnswer(answer)
}

async function stream(
  door: Door,
  place: Place<Asked, Piece>,
  input: Input,
  reply: FastifyReply,
): Promise<unknown> {
  const out = await untilClosing(door, streamTurn(place, input, door.clock))
  if (out === 'closing') return stopping(reply)
  if (isRefusal(out)) return refuse(reply, out)
  const close = (): void => void out.destroy()
  door.atClose.add(close)
  listen(out, 'close', close, () => door.atClose.delete(close))
  if (reply.raw.destroyed) {
    close()
    return reply.hijack()
  }
  return reply
    .header('content-type', 'text/event-stream; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .send(out)
}

/** A server that stops waits for no turn. */
const untilClosing = <T>(door: Door, work: Promise<T>): Promise<T | 'closing'> =>
  new Promise((resolve, reject) => {
    const close = (): void => resolve('closing')
    door.atClose.add(close)
    work
      .then(resolve, reject)
      .finally(() => door.atClose.delete(close))
      .catch(reject)
  })

const stoppingMessage =
  'The server is stopping. The turn goes on when it runs again; ' +
  'a retry with the same Idempotency-Key finds it. ' +
  'Without a key, read the conversation before you ask again.'

const stopping = (reply: FastifyReply): FastifyReply =>
  reply.code(503).send({ error: { code: 'unavailable', message: stoppingMessage } })

const readTrace = ({ traceparent }: FastifyRequest['headers']): string | null =>
  typeof traceparent === 'string' ? traceparent : null
