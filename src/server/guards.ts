/**
 * What every request passes before anything is done for it: Host and Origin, who it is, and how often it may
 * come.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultText } from '../model/contained.ts'
import { type Refusal, isRefusal } from '../model/refusal.ts'
import { refuseAsker, type Who } from '../runtime/desk/asker.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { hostGuard, type HostGuard } from './host-guard.ts'
import { nameAsker, type Identity } from './identity.ts'
import { loggedPath, type LogSink } from './log-sink.ts'
import { pipelining } from './pipelining.ts'
import { rateLimit, type RateLimit } from './rate-limit.ts'
import { securityHeaders } from './response-headers.ts'
import { say, type App } from './route.ts'
import { takeRequests } from './take-requests.ts'
import { wireNo, toWireNo, type WireNo } from './wire-error.ts'

export type Guards = {
  readonly rate: RateLimit
  /** The port is known when the server listens; until then nobody is let in. */
  open(port: number): void
  /** Every request of this app, and of every scope below it. */
  watch(app: App): void
  /** A request that is to become a socket. */
  admit(request: IncomingMessage): Promise<WireNo | { who: Who; client: string }>
}

/** Told of every request that was answered; `route` is its pattern. */
export type HttpObserver = (route: string, status: number, seconds: number) => void

export type GuardOptions = {
  desks: Pick<Desks, 'runs'>
  identity: Identity
  clock: Clock
  log: LogSink
  host: string
  allowedHosts: readonly string[]
  requestsPerMinute: number
  closing: AbortSignal
  observe?: HttpObserver
}

const notNow = wireNo('unavailable', 'The server starts or stops. Try again.', { 'retry-after': '1' })

/** The token of a turn dies with it, at every door. */
const turnEnded: Refusal = { code: 'call_ended', why: 'the turn that this token belongs to has ended' }

const isEnded = (desks: GuardOptions['desks'], who: Who | Refusal): boolean =>
  !isRefusal(who) && who.kind === 'turn' && !desks.runs(who.turn)

export function guards(options: GuardOptions): Guards {
  const { desks, identity, clock, log, host, allowedHosts, requestsPerMinute, closing, observe } = options
  const rate = rateLimit(requestsPerMinute, () => clock.elapsed())
  const lines = pipelining()
  let hosts: HostGuard | null = null

  /** `public`: whoever it is, and from wherever a link led here. */
  const check = (
    request: IncomingMessage,
    isPublic: boolean,
  ): WireNo | { who: Who | null; client: string } => {
    if (hosts === null || closing.aborted) return notNow
    const foreign = hosts.check(request, isPublic ? 'allowed' : 'refused')
    if (foreign !== null) return toWireNo(foreign)
    const who = identity.of(request)
    const client = `${request.socket.remoteAddress ?? ''} ${isRefusal(who) ? 'nobody' : nameAsker(who)}`
    const retryInMs = rate.take(client)
    if (retryInMs !== null) return toWireNo(tooOften(requestsPerMinute, retryInMs))
    if (!isPublic && isEnded(desks, who)) return toWireNo(turnEnded)
    if (!isRefusal(who)) return { who, client }
    return isPublic ? { who: null, client } : toWireNo(who)
  }

  /** Who is behind a connection takes a moment to find out, once. A foreign request is not looked up. */
  const learn = (request: IncomingMessage): Promise<unknown> | null =>
    hosts === null || closing.aborted || hosts.check(request, 'refused') !== null
      ? null
      : identity.learn(request)

  return {
    rate,
    open(port) {
      hosts = hostGuard({ host, port, allowed: allowedHosts })
    },
    watch(app) {
      const broke = (fault: unknown): void => log('error', 'a request broke', { stack: faultText(fault) })
      takeRequests(app.server, lines, () => clock.elapsed(), broke)
      app.addHook('onRequest', (request, reply, done) => {
        void reply.headers(securityHeaders.api)
        const isPublic = request.is404 || request.routeOptions.config.public === true
        const decide = (): void => {
          const checked = check(request.raw, isPublic)
          if ('status' in checked) return decline(log, request, reply, checked)
          request.who = checked.who
          done()
        }
        const learning = isPublic ? null : learn(request.raw)
        if (learning === null) decide()
        else learning.then(decide, done)
      })
      app.addHook('onResponse', (request, reply, done) => {
        lines.end(request.raw.socket)
        log('debug', 'request', requestFields(request, reply.statusCode, reply.elapsedTime))
        observe?.(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime / 1000)
        done()
      })
    },
    async admit(request) {
      await learn(request)
      const checked = check(request, false)
      if ('status' in checked) return checked
      const { who, client } = checked
      if (who === null) return toWireNo({ code: 'not_authenticated' })
      return who.kind === 'turn' ? toWireNo(refuseAsker(who, 'follow events')) : { who, client }
    },
  }
}

function decline(log: LogSink, request: FastifyRequest, reply: FastifyReply, no: WireNo): void {
  if (no.status === 403)
    log('warn', 'a request was turned away', {
      method: request.method,
      path: loggedPath(request.url),
      why: no.body.error.message,
    })
  say(reply, no)
}

const tooOften = (perMinute: number, retryInMs: number): Refusal => ({
  code: 'rate_limited',
  what: 'requests',
  perMinute,
  retryInMs,
})

const requestFields = (
  request: FastifyRequest,
  status: number,
  ms: number,
): Record<string, string | number> => ({
  method: request.method,
  path: loggedPath(request.url),
  status,
  ms: Math.round(ms * 10) / 10,
  who: request.who === null ? 'nobody' : nameAsker(request.who),
})
