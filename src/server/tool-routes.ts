/**
 * Tools by name, for programs that offer them to a model of their own: which there are, one use of one, and
 * what the program's own tools did.
 */
import { z } from 'zod'
import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../model/refusal.ts'
import type { Who } from '../runtime/exchange.ts'
import { AnyJson } from './answer-shapes.ts'
import { clientNameOf } from './client-name.ts'
import { actIdOf } from './idempotency.ts'
import { orStopping, stopping, stoppingAnswer } from './or-stopping.ts'
import {
  answer,
  IdPath,
  notYours,
  openSession,
  say,
  shapes,
  traceOf,
  whenGone,
  whoOf,
  type App,
  type Deps,
} from './route.ts'
import { senderOf } from './sender.ts'
import { isRefusal } from './wire-error.ts'

const tag = 'tools'
const session = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe("the session that uses it; without it the token's own, or a session of the client's")

const Tool = z.looseObject({
  name: z.string(),
  description: z.string(),
  input: AnyJson.describe('its JSON Schema'),
})
const Tools = z.looseObject({ tools: z.array(Tool) })
const Used = z.looseObject({
  ok: z.boolean().describe('false marks a failure that the model should see as one'),
  value: AnyJson,
})

export function toolRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  const ListQuery = z.strictObject({
    session,
    agent: z.string().min(1).max(200).optional().describe('instead: what any session of this agent has'),
  })
  app.get(
    '/api/tools',
    {
      schema: shapes(
        { summary: 'The tools that a session has', tag, querystring: ListQuery },
        { 200: Tools },
      ),
    },
    async (request, reply) => {
      const { agent, session: given } = request.query
      const who = agent === undefined ? await actorOf(deps, request, given ?? null) : whoOf(request)
      const tools = isRefusal(who) ? who : await exchange.toolsFor(who, agent)
      return answer(reply, 200, isRefusal(tools) ? tools : { tools })
    },
  )

  const Name = z.strictObject({ name: z.string().min(1).max(100) })
  const Post = z.strictObject({ input: AnyJson, session })
  const description =
    "Blocks until the tool has answered; a client that disconnects has cancelled what it asked for. What a rule does not allow is an answer in the tool's own shape."
  app.post(
    '/api/tools/:name',
    { schema: shapes({ summary: 'Use a tool', description, tag, params: Name, body: Post }, { 200: Used }) },
    async (request, reply) => {
      const act = actIdOf(request, whoOf(request))
      if (isRefusal(act)) return answer(reply, 400, act)
      const who = await actorOf(deps, request, request.body.session ?? null)
      if (isRefusal(who)) return answer(reply, 403, who)
      const using = exchange.useTool(who, request.params.name, request.body.input, {
        signal: whenGone(reply),
        id: act.id,
        trace: traceOf(request),
      })
      const used = await orStopping(deps.closing, using)
      return used === stopping ? say(reply, stoppingAnswer) : answer(reply, 200, used)
    },
  )

  const Trace = z.strictObject({
    key: z.string().min(1).max(200).describe("the program's own id of the use"),
    tool: z.string().min(1).max(200),
    input: AnyJson.default(null),
    ended: z
      .strictObject({
        ok: z.boolean(),
        output: AnyJson.default(null),
        startedAt: z.number().int().min(0).describe('milliseconds since 1970'),
      })
      .nullable()
      .default(null)
      .describe('null when it has just begun'),
  })
  app.post(
    '/api/sessions/:id/trace',
    {
      schema: shapes(
        {
          summary: "Write down what a tool of the session's own program did",
          tag,
          params: IdPath,
          body: Trace,
        },
        { 200: z.looseObject({ recorded: z.boolean() }) },
      ),
    },
    async (request, reply) => {
      const found = await openSession(deps, whoOf(request), request.params.id)
      return answer(reply, 200, isRefusal(found) ? found : await exchange.traceTool(found.id, request.body))
    },
  )
}

/** As whom a tool is used: nobody can name somebody else. */
async function actorOf(deps: Deps, request: FastifyRequest, given: string | null): Promise<Who | Refusal> {
  const who = whoOf(request)
  if (who.kind === 'turn') return given === null ? who : notYours(who, 'name another session')
  const sender = await senderOf(deps, who, 'session', given)
  if (isRefusal(sender)) return sender
  return {
    kind: 'session',
    session:
      sender.session ??
      (await deps.exchange.clientSession(clientNameOf(request.headers['user-agent']), deps.cwd)),
  }
}
