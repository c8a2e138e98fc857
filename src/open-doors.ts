/**
 * The doors of the server: HTTP with its routes, MCP, Letta, connected programs, the page. Loaded behind the front,
 * which listens already: they are most of the code of a server, and nothing of them is needed to say that it lives.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hostSocketPath } from './adapters/host/hub.ts'
import { hostSocket } from './adapters/host/socket.ts'
import { lettaDoor } from './adapters/letta/serve.ts'
import { mcpDoor, type McpDoorDeps } from './adapters/mcp/serve.ts'
import { packageDir } from './own-files.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import { systemIds } from './runtime/kernel/system-ids.ts'
import type { watchLine } from './server-views.ts'
import type { Front } from './server/front.ts'
import { openDoors, type Door, type HttpServer } from './server/http.ts'
import { mintSessionToken } from './server/identity.ts'
import type { LogSink } from './server/log-sink.ts'
import type { OpenLine } from './open-line.ts'
import { version } from './version.ts'

export type DoorsBase = {
  options: {
    cwd?: string
    /** Tools that only test suites of the protocol want. */
    mcpFixtures?: McpDoorDeps['fixtures']
  }
  keys: { secret: Uint8Array }
  warn: (text: string) => void
  log: LogSink
}

const pageDir = join(packageDir, 'web', 'dist')

export const openServerDoors = (
  front: Front,
  { options, keys, warn, log }: DoorsBase,
  line: OpenLine,
  watched: ReturnType<typeof watchLine>,
): Promise<HttpServer> =>
  openDoors(front, {
    desks: line.desks,
    clock: systemClock,
    version,
    doors: listDoors(line, options, log),
    sockets: {
      [hostSocketPath]: hostSocket({
        desks: line.desks,
        hub: line.hosts,
        mint: (session) => mintSessionToken(keys.secret, session),
        report: (fault) => warn(String(fault)),
      }),
    },
    pageDir: existsSync(pageDir) ? pageDir : null,
    metrics: () => watched.metrics.text(),
    numbers: (since) => watched.numbers(since),
    observe: (...seen) => watched.metrics.observeRequest(...seen),
    log,
    cwd: resolve(options.cwd ?? process.cwd()),
  })

function listDoors(line: OpenLine, options: DoorsBase['options'], log: LogSink): Door[] {
  const ids = systemIds(() => systemClock.now())
  const report = (fault: unknown): void => log('error', 'mcp', { error: String(fault) })
  const mcp = mcpDoor({
    desks: line.desks,
    clock: systemClock,
    ids,
    version,
    report,
    ...(options.mcpFixtures === undefined ? {} : { fixtures: options.mcpFixtures }),
  })
  return [lettaDoor({ desks: line.desks, clock: systemClock, ids }), mcp]
}
