/**
 * The door for Letta's clients, and for Kelpie's: persistent agents under `/v1/agents`, each with one
 * conversation, asked by blocking or streamed turns.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { contained, faultText } from '../../model/contained.ts'
import { canonical } from '../../model/json.ts'
import type { SessionId } from '../../model/id.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import type { AskAnswer } from '../../runtime/sessions/ask-turn.ts'
import type { Who } from '../../runtime/desk/asker.ts'
import type { Desks } from '../../runtime/desk/desk.ts'
import type { Clock, Ids } from '../../runtime/kernel/ports.ts'
import { followTools } from './live-tools.ts'
import { agentsPage, messagesPage } from './paging.ts'
import { refuse } from './refusals.ts'
import {
  type Input,
  ListQuery,
  NewAgent,
  readActId,
  readInput,
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

export function lettaDoor(deps: LettaDeps): (app: FastifyInstance, identity: Identity) => Promise<void> {
  return async (app, identity) => {
    const door: Door = { ...deps, flights: turnsInFlight(deps.clock, graceMs), atClose: new Set() }
    await app.register(async (scope) => {
      scope.addHook('preClose', async () => {
        door.flights.close()
        for (const close of door.atClose) close()
      })
      scope.addHook('onRequest', async (request, reply) => {
        const no = notTheUser(identity.of(request))
        if (no !== null) return refuse(reply, no)
      })
      mount(scope, door)
    })
  }
}

/**
 * Turns that are asked for here carry the user's authority: whoever acts as a session has its own tools for
 * calling.
 */
function notTheUser(who: Who | Refusal): Refusal | null {
  if (isRefusal(who)) return who
  return who.kind === 'user'
    ? null
    : {
        code: 'not_allowed',
        agent: `The token of a ${who.kind}`,
        what: 'act as the user',
        allowed: ['call_agent at /mcp'],
      }
}

function mount(scope: FastifyInstance, door: Door): void {
  const { desks } = door
  const route = (method: HTTPMethods, url: string, docs: Docs, handle: Handle): void => {
    // Letta's clients end the paths of lists with a slash. What comes in is read here, so that a wrong field
    // is named; the schemas only describe it.
    for (const path of [url, `${url}/`]) {
      scope.route<{ Params: { id: string } }>({
        method,
        url: path,
        schema: path === url ? { tags: ['persistent agents'], ...docs } : ({ hide: true } as object),
        validatorCompiler: () => (value) => ({ value }),
        handler: handle,
      })
    }
  }
  const answer = async <T extends object>(
    reply: FastifyReply,
    given: Promise<T | Refusal>,
    word: (value: T) => unknown,
  ): Promise<unknown> => {
    const value = await given
    return isRefusal(value) ? refuse(reply, value as Refusal) : word(value)
  }
  route(
    'POST',
    '/v1/agents',
    { summary: 'Make a persistent agent', body: NewAgent },
    async ({ body, headers }, reply) => {
      const agent = readNewAgent(body)
      if (isRefusal(agent)) return refuse(reply, agent)
      const act = readActId('/v1/agents', headers['idempotency-key'])
      return isRefusal(act)
        ? refuse(reply, act)
        : answer(reply, desks.as({ act: act.id }).agents.create(agent), agentState)
    },
  )
  route(
    'GET',
    '/v1/agents',
    { summary: 'Persistent agents, page by page', querystring: ListQuery },
    async ({ query }, reply) => {
      const list = readListQuery(query, agentsLimit)
      return isRefusal(list)
        ? refuse(reply, list)
        : agentsPage((await desks.as({}).agents.list()).agents, list).map(agentState)
    },
  )
  route('GET', '/v1/agents/:id', { summary: 'One agent, by id or name' }, ({ params }, reply) =>
    answer(reply, desks.as({}).agents.get(params.id), agentState),
  )
  route('DELETE', '/v1/agents/:id', { summary: 'Delete an agent' }, ({ params }, reply) =>
    answer(reply, desks.as({}).agents.delete(params.id), ({ id }) => ({
      id,
      message: `Agent ${id} was deleted.`,
    })),
  )
  route(
    'GET',
    '/v1/agents/:id/messages',
    { summary: 'The conversation of an agent, page by page', querystring: ListQuery },
    async ({ params, query }, reply) => {
      const list = readListQuery(query, messagesLimit)
      if (isRefusal(list)) return refuse(reply, list)
      const { agents, sessions } = desks.as({})
      const main = await agents.session(params.id)
      return isRefusal(main)
        ? refuse(reply, main)
        : answer(reply, messagesPage(sessions, main.session, list), (page) => page)
    },
  )
  for (const [url, streaming] of [
    ['/v1/agents/:id/messages', false],
    ['/v1/agents/:id/messages/stream', true],
  ] as const) {
    route(
      'POST',
      url,
      {
        summary: streaming
          ? 'Ask an agent, and read its turn as it goes'
          : 'Ask an agent, and wait for its turn',
        body: TurnInput,
      },
      (request, reply) => ask(door, url, streaming, request, reply),
    )
  }
}

async function ask(
  door: Door,
  route: string,
  streaming: boolean,
  request: Parameters<Handle>[0],
  reply: FastifyReply,
): Promise<unknown> {
  const input = readInput(request.body)
  if (isRefusal(input)) return refuse(reply, input)
  const act = readActId(route, request.headers['idempotency-key'])
  if (isRefusal(act)) return refuse(reply, act)
  const main = await door.desks.as({}).agents.session(request.params.id)
  if (isRefusal(main)) return refuse(reply, main)
  const { session } = main
  const streams = streaming || input.streaming
  const place = door.flights.attach(
    canonical([route, session, act.id, request.body]),
    turnStart(door, session, input, streams, act.id, traceOf(request)),
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
    const id = actId ?? `msg_${ids.next()}`
    const { agents, log } = desks.as({ signal, act: id, trace })
    if (!live) return agents.ask(session, text)
    const deaf = followTools(log, session, id, (message) => emit({ message }))
    try {
      return await agents.ask(session, text, (delta) => emit({ delta }))
    } finally {
      deaf()
    }
  }
}

/** Whether the client was served is known when its connection took the last byte, or broke before. */
function leaveWhenDone({ raw }: FastifyReply, place: Place<Asked, Piece>): void {
  const broke = (fault: unknown): void => process.emitWarning(faultText(fault))
  raw.once(
    'finish',
    contained(broke, () => place.leave(true)),
  )
  raw.once(
    'close',
    contained(broke, () => place.leave(false)),
  )
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
  out.once(
    'close',
    contained(
      () => undefined,
      () => door.atClose.delete(close),
    ),
  )
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

/** A server that stops waits for nobody, or nobody's turn would ever end in it. */
const untilClosing = <T>(door: Door, work: Promise<T>): Promise<T | 'closing'> =>
  new Promise((resolve, reject) => {
    const close = (): void => resolve('closing')
    door.atClose.add(close)
    work
      .then(resolve, reject)
      .finally(() => door.atClose.delete(close))
      .catch(reject)
  })

const stopping = (reply: FastifyReply): FastifyReply =>
  reply.code(503).send({
    error: {
      code: 'unavailable',
      message:
        'The server is stopping. The turn goes on when it runs again; a retry with the same Idempotency-Key finds it. Without a key, read the conversation before you ask again.',
    },
  })

function traceOf({ headers }: FastifyRequest): string | null {
  const trace = headers['traceparent']
  return typeof trace === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(trace)
    ? trace
    : null
}
