/**
 * What every request passes before anything is done for it: Host and Origin, who it is, and how often it may
 * come.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type Refusal, isRefusal } from '../model/refusal.ts'
import type { Who } from '../runtime/desk/asker.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { hostGuard, type HostGuard } from './host-guard.ts'
import { nameAsker, type Identity } from './identity.ts'
import { loggedPath, type LogSink } from './log-sink.ts'
import { rateLimit, type RateLimit } from './rate-limit.ts'
import { securityHeaders } from './response-headers.ts'
import { say, type App } from './route.ts'
import { wireNo, toWireNo, type WireNo } from './wire-error.ts'

export type Guards = {
  readonly rate: RateLimit
  /** The port is known when the server listens; until then nobody is let in. */
  open(port: number): void
  /** Every request of this app, and of every scope below it. */
  watch(app: App): void
  /** A request that is to become a socket. */
  admit(request: IncomingMessage): WireNo | { who: Who; client: string }
}

/** Told of every request that was answered; `route` is its pattern. */
export type HttpObserver = (route: string, status: number, seconds: number) => void

export type GuardOptions = {
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

export function guards({
  identity,
  clock,
  log,
  host,
  allowedHosts,
  requestsPerMinute,
  closing,
  observe,
}: GuardOptions): Guards {
  const rate = rateLimit(requestsPerMinute, () => clock.elapsed())
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
    if (!isRefusal(who)) return { who, client }
    return isPublic ? { who: null, client } : toWireNo(who)
  }

  return {
    rate,
    open(port) {
      hosts = hostGuard({ host, port, allowed: allowedHosts })
    },
    watch(app) {
      app.addHook('onRequest', (request, reply, done) => {
        void reply.headers(securityHeaders.api)
        const checked = check(request.raw, request.is404 || request.routeOptions.config.public === true)
        if ('status' in checked) {
          if (checked.status === 403)
            log('warn', 'a request was turned away', {
              method: request.method,
              path: loggedPath(request.url),
              why: checked.body.error.message,
            })
          return void say(reply, checked)
        }
        request.who = checked.who
        done()
      })
      app.addHook('onResponse', (request, reply, done) => {
        log('debug', 'request', requestFields(request, reply.statusCode, reply.elapsedTime))
        observe?.(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime / 1000)
        done()
      })
    },
    admit(request) {
      const checked = check(request, false)
      if ('status' in checked) return checked
      if (checked.who?.kind === 'session' || checked.who?.kind === 'user')
        return { who: checked.who, client: checked.client }
      return toWireNo({
        code: 'not_allowed',
        agent: 'The token of a turn',
        what: 'follow events',
        allowed: ['the tools of its turn, at /mcp or POST /api/calls'],
      })
    },
  }
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
