/**
 * Calls: ask an agent and wait for its answer; what was called, what a request caused, and who waits for
 * whom.
 */
import { z } from 'zod'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ContextFilter } from '../model/context.ts'
import { Outcome } from '../model/event.ts'
import type { Json } from '../model/json.ts'
import { allowedToolsMax } from '../model/limits.ts'
import { badInput, type Refusal } from '../model/refusal.ts'
import type { SessionId } from '../model/id.ts'
import type { Who } from '../runtime/exchange.ts'
import type { ListedCall } from '../runtime/listing.ts'
import type { ToolAnswer } from '../runtime/ports.ts'
import { AnyJson, Call, CallAnswer, Calls, Flow, FlowEvents, Waits } from './answer-shapes.ts'
import { clientNameOf } from './client-name.ts'
import { actIdOf } from './idempotency.ts'
import { orStopping, stopping, stoppingAnswer } from './or-stopping.ts'
import { coversSession } from './reach.ts'
import {
  answer,
  IdPath,
  notYours,
  onlyUser,
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
import { isRefusal, wireNo, wireNoOf } from './wire-error.ts'

const listMax = 500
const tag = 'calls'

const Post = z.strictObject({
  from: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("the session that calls; without it a session of the client's own"),
  agent: z.string().min(1).max(200).describe('which agent'),
  task: z
    .string()
    .min(1, 'a text that says what to do')
    .refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs'),
  context: ContextFilter.partial()
    .optional()
    .describe("what it should see of the caller's conversation; nothing by default"),
  input: AnyJson.optional(),
  max_context_tokens: z.number().int().min(0).optional(),
  allowed_tools: z
    .array(z.string().max(200))
    .max(allowedToolsMax, `at most ${allowedToolsMax} tools`)
    .optional(),
  allow_nested_calls: z.boolean().optional(),
  timeout_seconds: z.number().min(0).optional(),
  max_tokens: z.number().int().min(0).optional(),
  output_schema: AnyJson.optional(),
  background: z.boolean().optional().describe('answer at once with the call_id'),
})
type Post = z.infer<typeof Post>

export function callRoutes(app: App, deps: Deps): void {
  const description =
    "Blocks until the call has ended, whatever its outcome; a client that disconnects has cancelled it. A call that was not allowed is an error with the refusal's status, and is recorded too."
  app.post(
    '/api/calls',
    {
      schema: shapes(
        { summary: 'Call an agent', description, tag, body: Post },
        { 200: CallAnswer, 202: CallAnswer },
      ),
    },
    async (request, reply) => {
      const act = actIdOf(request, whoOf(request))
      if (isRefusal(act)) return answer(reply, 400, act)
      const who = await callerOf(deps, request, request.body.from ?? null)
      if (isRefusal(who)) return answer(reply, 403, who)
      return call(deps, who, request.body, act.id, request, reply)
    },
  )
  listRoutes(app, deps)
  flowRoutes(app, deps)
}

async function callerOf(deps: Deps, request: FastifyRequest, from: string | null): Promise<Who | Refusal> {
  const who = whoOf(request)
  if (who.kind === 'turn') return from === null ? who : notYours(who, 'name another caller (from)')
  const sender = await senderOf(deps, who, 'from', from)
  if (isRefusal(sender)) return sender
  return {
    kind: 'session',
    session:
      sender.session ??
      (await deps.exchange.clientSession(clientNameOf(request.headers['user-agent']), deps.cwd)),
  }
}

async function call(
  deps: Deps,
  who: Who,
  { from: _from, agent, ...rest }: Post,
  id: string | null,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const using = deps.exchange.useTool(who, 'sub_agent', { agent_name: agent, ...rest } as Json, {
    signal: whenGone(reply),
    id,
    trace: traceOf(request),
  })
  const used = await orStopping(deps.closing, using)
  if (used === stopping) return say(reply, stoppingAnswer)
  if (isRefusal(used)) return answer(reply, 400, used)
  const value = fieldsOf(used)
  return value['outcome'] === 'refused'
    ? sayRefused(deps, value, reply)
    : reply
        .code(rest.background === true ? 202 : 200)
        .send('call_id' in value ? value : stoppedAnswer(agent, value))
}

const fieldsOf = ({ value }: ToolAnswer): Record<string, Json> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}

/**
 * The client's own turn ended before its call could answer: somebody cancelled it, or its time was over. The
 * keys are the same.
 */
function stoppedAnswer(agent: string, { error }: Record<string, Json>): z.infer<typeof CallAnswer> {
  const { code, message } = z
    .object({ code: Outcome.catch('cancelled'), message: z.string().catch('the request was stopped') })
    .catch({ code: 'cancelled', message: 'the request was stopped' })
    .parse(error)
  return {
    agent_name: agent,
    success: false,
    output: '',
    tool_calls: [],
    tokens_used: 0,
    duration_seconds: 0,
    errors: [message],
    call_id: '',
    outcome: code,
    truncated: false,
  }
}

async function sayRefused(
  { exchange }: Deps,
  value: Record<string, Json>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const call = typeof value['call_id'] === 'string' ? value['call_id'] : ''
  const record = await exchange.call(call)
  return say(
    reply,
    wireNoOf(record?.refusal ?? badInput('call', value['errors'], 'a call that is allowed'), {
      call_id: call,
    }),
  )
}

const Limit = z.coerce
  .number()
  .int()
  .min(1)
  .transform((limit) => Math.min(limit, listMax))
  .optional()
const Cursor = z
  .string()
  .regex(/^\d{1,15}$/, '`next` of the page before')
  .optional()
  .describe('`next` of the page before')

async function callsPage(
  { exchange }: Deps,
  session: SessionId | null,
  { limit, cursor }: { limit?: number | undefined; cursor?: string | undefined },
): Promise<{ calls: ListedCall[]; next: string | null }> {
  const { calls, next } = await exchange.callsPage({
    session,
    limit: limit ?? 50,
    before: cursor === undefined ? null : Number(cursor),
  })
  return { calls, next: next === null ? null : String(next) }
}

function listRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  const ListQuery = z.strictObject({
    session: z.string().min(1).max(200).optional().describe('calls of this session alone'),
    limit: Limit,
    cursor: Cursor,
  })
  app.get(
    '/api/calls',
    { schema: shapes({ summary: 'Calls, newest first', tag, querystring: ListQuery }, { 200: Calls }) },
    async (request, reply) => {
      const who = whoOf(request)
      const given = request.query.session ?? (who.kind === 'session' ? who.session : null)
      if (given === null && who.kind !== 'user') return answer(reply, 403, notYours(who, 'list calls'))
      const found = given === null ? null : await openSession(deps, who, given)
      if (found !== null && isRefusal(found)) return answer(reply, 404, found)
      return answer(reply, 200, await callsPage(deps, found?.id ?? null, request.query))
    },
  )

  app.get(
    '/api/sessions/:id/calls',
    {
      schema: shapes(
        {
          summary: 'Calls of a session, newest first',
          tag,
          params: IdPath,
          querystring: z.strictObject({ limit: Limit, cursor: Cursor }),
        },
        { 200: Calls },
      ),
    },
    async (request, reply) => {
      const found = await openSession(deps, whoOf(request), request.params.id)
      if (isRefusal(found)) return answer(reply, 404, found)
      return answer(reply, 200, await callsPage(deps, found.id, request.query))
    },
  )

  app.get(
    '/api/calls/:id',
    { schema: shapes({ summary: 'The record of a call', tag, params: IdPath }, { 200: Call }) },
    async (request, reply) => {
      const who = whoOf(request)
      const record = await exchange.call(request.params.id)
      const sessions = record === null ? [] : [record.callerSession, record.targetSession]
      for (const session of sessions)
        if (
          session?.startsWith('ses_') === true &&
          (await coversSession(exchange, who, session as `ses_${string}`))
        )
          return answer(reply, 200, record as object)
      return answer(reply, 404, { code: 'call_unknown', call: request.params.id })
    },
  )
}

const eventsMax = 1000
const noFlow = (id: string) =>
  wireNo('not_found', `There is no flow "${id}". A message's answer and a call's record name theirs.`)

/**
 * Whether `who` may see the session that a flow began in. The root's first event says which that is, so no
 * record of its calls is read for it.
 */
async function rootOf({ exchange }: Deps, who: Who, flow: string): Promise<boolean> {
  if (who.kind === 'user') return true
  const first = await exchange.flowEvents(flow, 0, 1)
  const opened = first?.events[0]?.event
  return opened !== undefined && (await coversSession(exchange, who, opened.session))
}

function flowRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  app.get(
    '/api/flows/:id',
    { schema: shapes({ summary: 'Everything that one request caused', tag, params: IdPath }, { 200: Flow }) },
    async (request, reply) => {
      const flow = await exchange.flow(request.params.id)
      return flow === null || !(await coversSession(exchange, whoOf(request), flow.root.session))
        ? say(reply, noFlow(request.params.id))
        : answer(reply, 200, flow)
    },
  )

  const Page = z.strictObject({
    after: z
      .string()
      .regex(/^\d{1,16}$/, 'the `next` of the page before')
      .transform(Number)
      .optional()
      .describe('`next` of the page before; without it from the beginning'),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .transform((limit) => Math.min(limit, eventsMax))
      .optional()
      .describe(`at most ${eventsMax}`),
  })
  const description =
    'Of all its turns, in the shape of the event stream. Also of one that is long over: nothing has to be read from the beginning of the log.'
  app.get(
    '/api/flows/:id/events',
    {
      schema: shapes(
        {
          summary: 'The events of one request, oldest first',
          description,
          tag,
          params: IdPath,
          querystring: Page,
        },
        { 200: FlowEvents },
      ),
    },
    async (request, reply) => {
      const root = await rootOf(deps, whoOf(request), request.params.id)
      const page = root
        ? await exchange.flowEvents(
            request.params.id,
            request.query.after ?? 0,
            request.query.limit ?? eventsMax,
          )
        : null
      if (page === null) return say(reply, noFlow(request.params.id))
      return answer(reply, 200, {
        events: page.events.map(({ seq, at, event }) => ({
          seq: String(seq),
          at,
          sessionId: event.session,
          event,
        })),
        next: page.next === null ? null : String(page.next),
        upTo: String(page.upTo),
      })
    },
  )

  app.get(
    '/api/waits',
    { schema: shapes({ summary: 'Who waits for whom now', tag }, { 200: Waits }) },
    async (request, reply) =>
      answer(
        reply,
        200,
        onlyUser(whoOf(request), 'see who waits for whom') ?? { waits: await exchange.waits() },
      ),
  )
}
