/**
 * A server that stops has not cancelled what a client waits for: the turn goes on when the server runs again,
 * and a retry finds its answer.
 */
import { wireNo } from './wire-error.ts'

export const stopping = Symbol('the server stops')

export function orStopping<T>(closing: AbortSignal, work: Promise<T>): Promise<T | typeof stopping> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(stopping)
    if (closing.aborted) stop()
    closing.addEventListener('abort', stop, { once: true })
    work.finally(() => closing.removeEventListener('abort', stop)).then(resolve, reject)
  })
}

const words =
  'The server stops. What you asked for goes on when it runs again. Ask again with the same ' +
  'Idempotency-Key to get the answer; without a key, look for the call in GET /api/calls.'

export const stoppingAnswer = wireNo('unavailable', words, { 'retry-after': '5' })
