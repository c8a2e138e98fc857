/**
 * Whether a request is let in: Host and Origin, who it is, and how often it may come. Without the web application, so
 * that it counts from the first request on.
 */
import type { IncomingMessage } from 'node:http'
import { type Refusal, isRefusal } from '../model/refusal.ts'
import type { Who } from '../runtime/desk/asker.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import { hostGuard, type HostGuard } from './host-guard.ts'
import { nameAsker, type Identity } from './identity.ts'
import { rateLimit, type RateLimit } from './rate-limit.ts'
import { wireNo, toWireNo, type WireNo } from './wire-error.ts'

export type Admission = {
  readonly rate: RateLimit
  /** The port is known when the server listens; until then nobody is let in. */
  open(port: number): void
  /** `isPublic`: whoever it is, and from wherever a link led here. */
  check: (request: IncomingMessage, isPublic: boolean) => WireNo | { who: Who | null; client: string }
  /**
   * Who is behind a connection takes a moment to find out, once. A foreign request is not looked up. Null where
   * nothing is to be done.
   */
  learn: (request: IncomingMessage) => Promise<unknown> | null
}

export type AdmissionOptions = {
  desks: Pick<Desks, 'runs'>
  identity: Identity
  clock: Pick<Clock, 'elapsed'>
  host: string
  allowedHosts: readonly string[]
  requestsPerMinute: number
  closing: AbortSignal
}

export const notNow = wireNo('unavailable', 'The server is starting or stopping. Try again.', {
  'retry-after': '1',
})

/** The token of a turn dies with it, at every door. */
const turnEnded: Refusal = { code: 'call_ended', why: 'the turn that this token belongs to has ended' }

const isEnded = (desks: AdmissionOptions['desks'], who: Who | Refusal): boolean =>
  !isRefusal(who) && who.kind === 'turn' && !desks.runs(who.turn)

export function admission(options: AdmissionOptions): Admission {
  const { desks, identity, clock, host, allowedHosts, requestsPerMinute, closing } = options
  const rate = rateLimit(requestsPerMinute, () => clock.elapsed())
  let hosts: HostGuard | null = null
  return {
    rate,
    open(port) {
      hosts = hostGuard({ host, port, allowed: allowedHosts })
    },
    check(request, isPublic) {
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
    },
    learn: (request) =>
      hosts === null || closing.aborted || hosts.check(request, 'refused') !== null
        ? null
        : identity.learn(request),
  }
}

const tooOften = (perMinute: number, retryInMs: number): Refusal => ({
  code: 'rate_limited',
  what: 'requests',
  perMinute,
  retryInMs,
})
