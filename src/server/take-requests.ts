/**
 * In front of all that listens for requests. Node hands over every request of every connection that has something to
 * read before anything else has a turn: what hundreds of clients ask at once would hold timers, commits and answers
 * up until the last of them is under way. So after a while the rest waits, in order, and a few are taken in each
 * round.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { contained } from '../model/contained.ts'
import { afterRound } from '../runtime/kernel/next-round.ts'
import type { Pipelining } from './pipelining.ts'

/** So long requests are taken as they come; then so many in each round. */
const sliceMs = 16
const perRoundMax = 8

export function takeRequests(
  server: Server,
  lines: Pipelining,
  elapsed: () => number,
  broke: (fault: unknown) => void,
): void {
  const listeners = server.listeners('request') as ((...given: [IncomingMessage, ServerResponse]) => void)[]
  const waiting: [IncomingMessage, ServerResponse][] = []
  let begunAt: number | null = null
  const serve = contained(broke, (request: IncomingMessage, response: ServerResponse) => {
    for (const listener of listeners) listener.call(server, request, response)
  })
  const serveNext = (): void => {
    const next = waiting.shift()
    if (next !== undefined && !next[0].socket.destroyed) serve(...next)
  }
  const endRound = (): void => {
    begunAt = waiting.length > 0 ? elapsed() : null
    if (begunAt === null) return
    // Each by itself, so that what it begins goes on before the next is taken.
    for (let n = Math.min(perRoundMax, waiting.length); n > 0; n -= 1) afterRound(serveNext)
    afterRound(endRound)
  }
  server.removeAllListeners('request')
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    // Node goes on reading a packet whose connection was closed, two thousand requests long at worst.
    if (request.socket.destroyed || !lines.begin(request.socket)) return
    if (begunAt === null) {
      begunAt = elapsed()
      afterRound(endRound)
    }
    if (waiting.length > 0 || elapsed() - begunAt > sliceMs) waiting.push([request, response])
    else serve(request, response)
  }
  server.on('request', contained(broke, take))
}
