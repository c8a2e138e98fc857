/** Messages to a session, and its conversation. */
import { z } from 'zod'
import type { SessionId } from '../model/id.ts'
import { badInput, type Refusal } from '../model/refusal.ts'
import type { MessageSource, SendAsk, Who } from '../runtime/exchange.ts'
import { History, Sent } from './answer-shapes.ts'
import { actIdOf } from './idempotency.ts'
import { answer, IdPath, openSession, shapes, traceOf, whoOf, type App, type Deps } from './route.ts'
import { senderOf } from './sender.ts'
import { isRefusal } from './wire-error.ts'

const pageMax = 200
const tag = 'messages'

export const Post = z.strictObject({
  message: z
    .string()
    .min(1, 'a text that is not empty')
    .refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs'),
  source: z
    .enum(['user', 'applet', 'agent'])
    .optional()
    .describe('agent if and only if fromSession is given; user otherwise'),
  fromSession: z.string().min(1).max(200).optional().describe('the session that sends'),
  applet: z.string().min(1).max(64).optional().describe('the name of the applet, for that source'),
  delivery: z
    .enum(['auto', 'buffer', 'now'])
    .default('auto')
    .describe('auto: at once if idle, queued if busy; buffer: waits to be accepted; now: refused if busy'),
  inReplyTo: z.string().min(1).max(132).optional(),
  messageId: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'letters, digits, "_" and "-", at most 128')
    .optional()
    .describe("the sender's own id; the same again is the same message"),
})
export type Post = z.infer<typeof Post>

export function messageRoutes(app: App, deps: Deps): void {
  const { exchange } = deps
  app.post(
    '/api/sessions/:id/messages',
    {
      schema: shapes(
        {
          summary: 'Send a message to a session',
          description:
            'Answers when the message is durable and, where the session was idle, its turn has started.',
          tag,
          params: IdPath,
          body: Post,
        },
        { 202: Sent },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      if (isRefusal(act)) return answer(reply, 400, act)
      const ask = await askOf(deps, who, request.params.id, request.body)
      if (isRefusal(ask)) return answer(reply, 400, ask)
      const as: Who = ask.from === null ? who : { kind: 'session', session: ask.from }
      return answer(
        reply,
        202,
        await exchange.send(as, { ...ask, id: ask.id ?? act.id, trace: traceOf(request) }),
      )
    },
  )

  const Page = z.strictObject({
    before: z.coerce.number().int().min(0).optional().describe('`next` of the page before'),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .transform((limit) => Math.min(limit, pageMax))
      .optional(),
  })
  app.get(
    '/api/sessions/:id/messages',
    {
      schema: shapes(
        {
          summary: 'The conversation of a session',
          description: 'The newest page first; each page is oldest first.',
          tag,
          params: IdPath,
          querystring: Page,
        },
        { 200: History },
      ),
    },
    async (request, reply) => {
      const found = await openSession(deps, whoOf(request), request.params.id)
      return answer(
        reply,
        200,
        isRefusal(found)
          ? found
          : await exchange.history(found.id, request.query.before ?? null, request.query.limit ?? 50),
      )
    },
  )
}

/**
 * Any session may be written to by whoever may call it: that is the runtime's to decide. Who writes is
 * decided here.
 */
async function askOf(deps: Deps, who: Who, target: string, post: Post): Promise<SendAsk | Refusal> {
  const sender = await senderOf(deps, who, 'fromSession', post.fromSession ?? null)
  if (isRefusal(sender)) return sender
  const source = sourceOf(who, post, sender.session)
  if (typeof source === 'object') return source
  const found = await deps.exchange.findSession(target)
  if (isRefusal(found)) return found
  if (found.id === sender.session) return { code: 'self_call', agent: found.agent }
  return {
    to: found.id,
    text: post.message,
    source,
    from: sender.session,
    applet: source === 'applet' ? (post.applet ?? null) : null,
    delivery: post.delivery,
    inReplyTo: post.inReplyTo ?? null,
    id: post.messageId ?? null,
    trace: null,
  }
}

function sourceOf(who: Who, post: Post, from: SessionId | null): MessageSource | Refusal {
  const source = post.source ?? (from === null ? 'user' : 'agent')
  if (who.kind === 'session' && source !== 'agent')
    return {
      code: 'not_allowed',
      agent: `Session ${who.session}`,
      what: `send as source "${source}"`,
      allowed: ['agent'],
    }
  if (source === 'agent' && from === null)
    return badInput('fromSession', undefined, 'the id of the session that sends, because source is "agent",')
  if (source !== 'agent' && from !== null)
    return badInput('source', source, '"agent", because fromSession is given,')
  if (source === 'applet' && post.applet === undefined)
    return badInput('applet', undefined, 'the name of the applet, because source is "applet",')
  if (source !== 'applet' && post.applet !== undefined)
    return badInput('applet', post.applet, 'nothing, unless source is "applet",')
  return source
}
