/** How long nobody has asked anything of a server: one that a client started ends by that. */
import type { FastifyInstance } from 'fastify'
import { contained } from '../model/contained.ts'
import type { Clock } from '../runtime/kernel/ports.ts'

/** Whoever asks only whether it lives does not need it. */
const probes: ReadonlySet<string> = new Set(['/health', '/metrics'])

export type IdleTime = {
  /** 0 while a request or a connection is open. */
  idleMs(): number
}

/** Before any route. `sockets` counts connections that are no requests. */
export function watchIdleTime(
  app: Pick<FastifyInstance, 'addHook'>,
  clock: Clock,
  sockets: () => number,
): IdleTime {
  let open = 0
  let usedAt = clock.elapsed()
  app.addHook('onRequest', (request, reply, done) => {
    if (!probes.has(request.routeOptions.url ?? '')) {
      open += 1
      reply.raw.once(
        'close',
        contained(
          () => undefined,
          () => {
            open -= 1
            usedAt = clock.elapsed()
          },
        ),
      )
    }
    done()
  })
  return {
    idleMs() {
      if (open > 0 || sockets() > 0) usedAt = clock.elapsed()
      return clock.elapsed() - usedAt
    },
  }
}
