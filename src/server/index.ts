/** `tieline/server`: starts a server from code. What its types mention besides is exported by `tieline`. */
import { openServer } from '../open-server.ts'
import type { Served, ServeOptions } from '../server-options.ts'
import { hideParts } from '../tieline.ts'

export { ServeError, type Served, type ServeOptions } from '../server-options.ts'
export type { LogLevel, LogSink } from './log-sink.ts'

/**
 * Starts a server in this process, with the agents that you give and those of the configuration. It has HTTP,
 * MCP, the page and the event stream on one port. Throws a ServeError, and what `tieline()` throws.
 */
export async function serve(options: ServeOptions = {}): Promise<Served> {
  const served = await openServer(options)
  return { ...served, line: hideParts(served.line) }
}
