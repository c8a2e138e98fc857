/**
 * What every request passes before anything is done for it: Host and Origin, who it is, and how often it may
 * come.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuseAsker, type Who } from '../runtime/desk/asker.ts'
import type { Admission } from './admission.ts'
import type { LogSink } from './log-sink.ts'
import type { Pipelining } from './pipelining.ts'
import { logAnswered, logDeclined, type HttpObserver } from './request-log.ts'
import { securityHeaders } from './response-headers.ts'
import { say, type App } from './route.ts'
import { toWireNo, type WireNo } from './wire-error.ts'

export type Guards = {
  /** Every request of this app, and of every scope below it. */
  watch(app: App): void
  /** A request that is to become a socket. */
  admit(request: IncomingMessage): Promise<WireNo | { who: Who; client: string }>
}

export type GuardOptions = {
  log: LogSink
  observe?: HttpObserver
}

export function guards(
  { check, learn }: Pick<Admission, 'check' | 'learn'>,
  lines: Pipelining,
  { log, observe }: GuardOptions,
): Guards {
  return {
    watch(app) {
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
        logAnswered(log, request, request.who, reply.statusCode, reply.elapsedTime)
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
  logDeclined(log, request, no)
  say(reply, no)
}
