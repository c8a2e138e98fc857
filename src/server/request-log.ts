/** What is logged of a request. */
import type { Who } from '../runtime/desk/asker.ts'
import { nameAsker } from './identity.ts'
import { loggedPath, type LogSink } from './log-sink.ts'
import type { WireNo } from './wire-error.ts'

/** Told of every request that was answered; `route` is its pattern. */
export type HttpObserver = (route: string, status: number, seconds: number) => void

type Logged = { method?: string | undefined; url?: string | undefined }

export function logAnswered(
  log: LogSink,
  request: Logged,
  who: Who | null,
  status: number,
  ms: number,
): void {
  log('debug', 'request', {
    method: request.method ?? '',
    path: loggedPath(request.url),
    status,
    ms: Math.round(ms * 10) / 10,
    who: who === null ? 'nobody' : nameAsker(who),
  })
}

/** What a foreign page or program asks is worth a line. */
export function logDeclined(log: LogSink, request: Logged, no: WireNo): void {
  if (no.status === 403)
    log('warn', 'a request was turned away', {
      method: request.method ?? '',
      path: loggedPath(request.url),
      why: no.body.error.message,
    })
}
