/**
 * Sessions: create, list, read, archive, adopt; their state, waiting for them, and cancelling what they do.
 */
import { z } from 'zod'
import { externalAgent } from '../model/agent.ts'
import { waitSecondsDefault, waitSecondsMax } from '../model/limits.ts'
import type { SessionId, TurnId } from '../model/id.ts'
import type { Refusal } from '../model/refusal.ts'
import type { Who } from '../runtime/exchange.ts'
import { Archived, Cancelled, CreatedSession, Session, Sessions, State } from './answer-shapes.ts'
import { actIdOf } from './idempotency.ts'
import {
  answer,
  IdPath,
  notYours,
  onlyUser,
  openSession,
  shapes,
  traceOf,
  whenGone,
  whoOf,
  type App,
  type Deps,
} from './route.ts'
import { isRefusal } from './wire-error.ts'

const pageMax = 200
const tag = 'sessions'

const Create = z.strictObject({
  cwd: z.string().min(1).max(4096).describe('the directory that it works in'),
  agent: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('by name or id; without it the first that is configured'),
  model: z.string().min(1).max(200).optional(),
  title: z.string().max(200).optional(),
  parent: z.string().min(1).max(200).nullish().describe('the session that it belongs to'),
  initialMessage: z.string().min(1).optional(),
})

const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
const ListQuery = z.strictObject({
  dir: z.string().min(1).max(4096).optional(),
  active: flag.optional().describe('running or queued'),
  agent: z.string().min(1).max(200).optional(),
  parent: z.string().min(1).max(200).optional(),
  archived: flag.optional(),
  cursor: z.string().min(1).max(200).optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .transform((limit) => Math.min(limit, pageMax))
    .optional(),
})

export function sessionRoutes(app: App, deps: Deps): void {
  createRoutes(app, deps)
  lifeRoutes(app, deps)
  stateRoutes(app, deps)
}

function createRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  app.post(
    '/api/sessions',
    { schema: shapes({ summary: 'Open a session', tag, body: Create }, { 201: CreatedSession }) },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const { cwd, agent = null, model = null, title = '', initialMessage = null } = request.body
      const parent = await parentOf(deps, who, request.body.parent ?? null)
      if (isRefusal(parent)) return answer(reply, 400, parent)
      const made = await exchange.createSession(who, {
        cwd,
        agent,
        model,
        title,
        parent: parent.id,
        initialMessage,
        id: act.id,
        trace: traceOf(request),
      })
      if (isRefusal(made)) return answer(reply, 201, made)
      // A client of the user acts through an external session, which a server with tokens lets nobody do
      // without that session's own.
      return answer(reply, 201, {
        ...made,
        token:
          who.kind === 'user' && made.agent === externalAgent.name
            ? deps.identity.tokenOf(made.sessionId)
            : null,
      })
    },
  )

  app.get(
    '/api/sessions',
    {
      schema: shapes(
        { summary: 'List sessions, newest first', tag, querystring: ListQuery },
        { 200: Sessions },
      ),
    },
    async (request, reply) => {
      const {
        dir = null,
        active = null,
        agent = null,
        archived = false,
        cursor = null,
        limit = 50,
        parent,
      } = request.query
      const below = await parentOf(deps, whoOf(request), parent ?? null)
      return answer(
        reply,
        200,
        isRefusal(below)
          ? below
          : await exchange.sessions({ dir, active, agent, parent: below.id, archived, cursor, limit }),
      )
    },
  )
}

/** A session has children of its own and sees only those; the user may name any parent, or none. */
async function parentOf(
  deps: Deps,
  who: Who,
  given: string | null,
): Promise<{ id: SessionId | null } | Refusal> {
  if (who.kind === 'turn') return notYours(who, 'see or open sessions here')
  if (given === null) return { id: who.kind === 'session' ? who.session : null }
  const found = await openSession(deps, who, given)
  return isRefusal(found) ? found : { id: found.id }
}

function lifeRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  app.get(
    '/api/sessions/:id',
    { schema: shapes({ summary: 'One session', tag, params: IdPath }, { 200: Session }) },
    async (request, reply) => {
      const found = await openSession(deps, whoOf(request), request.params.id)
      return answer(reply, 200, isRefusal(found) ? found : await exchange.sessionView(found.id))
    },
  )

  app.delete(
    '/api/sessions/:id',
    {
      schema: shapes(
        { summary: 'Cancel and archive a session with its children', tag, params: IdPath },
        { 200: Archived },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const found = await openSession(deps, who, request.params.id)
      if (isRefusal(found)) return answer(reply, 404, found)
      if (who.kind === 'session' && found.id === who.session)
        return answer(reply, 403, {
          code: 'not_allowed',
          agent: 'A session',
          what: 'archive itself',
          allowed: ['the sessions below it'],
        })
      return answer(reply, 200, await exchange.archive(found.id))
    },
  )

  const Adopt = z.strictObject({
    parent: z.string().min(1).max(200).nullable().describe("null makes it nobody's"),
  })
  app.post(
    '/api/sessions/:id/adopt',
    {
      schema: shapes(
        { summary: 'Give a session a new parent', tag, params: IdPath, body: Adopt },
        { 200: Session },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      const refusal = isRefusal(act) ? act : onlyUser(who, 'adopt sessions')
      if (refusal !== null) return answer(reply, 403, refusal)
      const found = await openSession(deps, who, request.params.id)
      if (isRefusal(found)) return answer(reply, 404, found)
      const parent =
        request.body.parent === null ? { id: null } : await openSession(deps, who, request.body.parent)
      return answer(reply, 200, isRefusal(parent) ? parent : await exchange.adopt(found.id, parent.id))
    },
  )
}

function stateRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  app.get(
    '/api/sessions/:id/state',
    { schema: shapes({ summary: 'What a session does now', tag, params: IdPath }, { 200: State }) },
    async (request, reply) => {
      const found = await openSession(deps, whoOf(request), request.params.id)
      return answer(reply, 200, isRefusal(found) ? found : await exchange.state(found.id))
    },
  )

  const Wait = z.strictObject({
    timeoutMs: z.coerce
      .number()
      .min(0)
      .optional()
      .describe(
        `at most ${waitSecondsMax * 1000}, ${waitSecondsDefault * 1000} unless given; ask again to go on`,
      ),
  })
  app.get(
    '/api/sessions/:id/wait',
    {
      schema: shapes(
        {
          summary: 'Wait until a session is idle',
          description:
            'Answers with the state when it is idle, and with the present state when the time is over.',
          tag,
          params: IdPath,
          querystring: Wait,
        },
        { 200: State },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const found = await openSession(deps, who, request.params.id)
      if (isRefusal(found)) return answer(reply, 404, found)
      const timeoutMs = Math.min(request.query.timeoutMs ?? waitSecondsDefault * 1000, waitSecondsMax * 1000)
      return answer(
        reply,
        200,
        await exchange.waitForSession(who, found.id, timeoutMs, whenGone(reply, deps.closing)),
      )
    },
  )

  const Cancel = z
    .strictObject({
      all: z.boolean().optional().describe('what is queued too'),
      turn: z.string().max(200).optional().describe('this turn alone, whether it runs or waits'),
    })
    .default({})
  app.post(
    '/api/sessions/:id/cancel',
    {
      schema: shapes(
        { summary: 'End the current turn and everything below it', tag, params: IdPath, body: Cancel },
        { 200: Cancelled },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const found = await openSession(deps, who, request.params.id)
      if (isRefusal(found)) return answer(reply, 404, found)
      const cause = who.kind === 'session' ? `cancelled by ${who.session}` : 'cancelled by the user'
      return answer(
        reply,
        200,
        await exchange.cancel(
          found.id,
          request.body.all ?? false,
          cause,
          (request.body.turn as TurnId | undefined) ?? null,
          act.id,
        ),
      )
    },
  )
}
