/** `GET /api/events`: the log as server-sent events, resumable by `after` or `Last-Event-ID`. */
import { z } from 'zod'
import type { FastifyReply } from 'fastify'
import { contained, faultText } from '../model/contained.ts'
import { tooManyListeners, type Feed, type Listener } from './feed.ts'
import type { Outlet } from './feed-follow.ts'
import { securityHeaders } from './response-headers.ts'
import { answer, requireWho, type App, type Deps } from './route.ts'
import { isRefusal } from '../model/refusal.ts'
import { WireError } from './wire-error.ts'

const namedMax = 200
const Query = z.strictObject({
  after: z
    .string()
    .max(20)
    .optional()
    .describe('the seq of the last event that you have; 0 is the beginning; without it from now on'),
  session: z
    .union([
      z
        .string()
        .min(1)
        .max(200)
        .transform((one) => [one]),
      z.array(z.string().min(1).max(200)).max(namedMax),
    ])
    .optional()
    .describe('events of these sessions alone; may be repeated'),
})

const description =
  'Each event has an id, its seq, which is a cursor: give the last one as `after` or ' +
  '`Last-Event-ID` to go on without a gap. Events of kind `delta` are text as it streams; they ' +
  'have no id. Whoever comes in the middle of a step is first given what it has said so far, as ' +
  'one delta.'

export function eventRoutes(app: App, deps: Deps, feed: Feed, listenersMax: number): void {
  const schema = {
    summary: 'Live events, resumable',
    description,
    tags: ['events'],
    querystring: Query,
    response: {
      200: { description: 'a stream', content: { 'text/event-stream': { schema: z.string() } } },
      '4xx': WireError,
    },
  }
  app.get('/api/events', { schema, exposeHeadRoute: false }, async (request, reply) => {
    const who = requireWho(request)
    const resumed = request.headers['last-event-id']
    const after = feed.resolveStart(
      request.query.after ?? (typeof resumed === 'string' && resumed !== '' ? resumed : null),
    )
    if (typeof after === 'object') return answer(reply, 400, after)
    const named = await feed.find(who, request.query.session ?? null)
    if (isRefusal(named)) return answer(reply, 404, named)
    // Who left while its sessions were looked for says so no more.
    if (reply.raw.destroyed) return reply.hijack()
    const stream = openStream(deps, feed, reply)
    const detach = feed.join(stream.listener)
    if (detach === null) return answer(reply, 429, tooManyListeners(listenersMax))
    const follower = feed.follow(who, stream.outlet)
    reply.raw.once(
      'close',
      contained(stream.broke, () => {
        detach()
        follower.stop()
      }),
    )
    reply.raw.on(
      'error',
      contained(stream.broke, () => reply.raw.destroy()),
    )
    reply.hijack()
    reply.raw.writeHead(200, {
      ...securityHeaders.api,
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    })
    reply.raw.write(`retry: 1000\n: after ${after}\n\n`)
    follower.start(after, named.sessions)
    return reply
  })
}

const beatText = Buffer.from(': still here\n\n')
const partingMs = 2000
/** A minute without taking anything: whoever it was, it reads no more. */
const stuckBeatsMax = 4

function openStream(
  { clock, log }: Deps,
  { writes }: Feed,
  reply: FastifyReply,
): { outlet: Outlet; listener: Listener; broke: (fault: unknown) => void } {
  const { raw } = reply
  const broke = (fault: unknown): void => {
    log('error', 'an event stream broke in the server', { stack: faultText(fault) })
    raw.destroy()
  }
  const finish = (text: string): void => {
    if (raw.destroyed || raw.writableEnded) return
    const closed = new AbortController()
    raw.once(
      'close',
      contained(broke, () => closed.abort()),
    )
    raw.end(text)
    // Whoever reads nothing gets no last words either. The sleep rejects when the stream has closed by
    // itself.
    clock.sleep(partingMs, closed.signal).then(
      () => raw.destroy(),
      () => undefined,
    )
  }
  let before = 0
  let stuckBeats = 0
  return {
    broke,
    outlet: {
      send(frame, sent) {
        writes.hold(raw)
        raw.write(frame.sse, sent === undefined ? undefined : () => sent())
      },
      buffered: () => writes.buffered(raw, () => raw.writableLength),
      drop(lastSeq) {
        log('warn', 'a slow client was dropped', { lastSeq, buffered: raw.writableLength })
        const message = `You read too slowly. Come back with after=${lastSeq}.`
        const data = { error: { code: 'slow_client', message }, after: String(lastSeq) }
        finish(`event: error\ndata: ${JSON.stringify(data)}\n\n`)
      },
    },
    listener: {
      beat() {
        // A socket is asked with a ping; here it is seen by what is left from the last time.
        const left = raw.writableLength
        stuckBeats = left > 0 && left >= before ? stuckBeats + 1 : 0
        before = left
        if (left === 0) raw.write(beatText)
        if (stuckBeats < stuckBeatsMax) return
        log('warn', 'a client that reads nothing was let go', { buffered: left })
        raw.destroy()
      },
      end: () => finish(''),
      held: () => raw.writableLength,
      shed: () => raw.destroy(),
    },
  }
}
