/** How a program starts a server, and what it gets. */
import type { Tieline, TielineOptions } from './line.ts'
import type { LogSink } from './server/log-sink.ts'

export type ServeOptions = TielineOptions & {
  /** 8283 unless the configuration says otherwise; 0 takes any that is free. */
  port?: number
  /** `127.0.0.1` unless the configuration says otherwise; any address but loopback needs tokens. */
  host?: string
  /** Structured logs; nowhere unless given. */
  log?: LogSink
}

export type Served = {
  url: string
  /** Null where everybody on this machine may use it. */
  token: string | null
  dataDir: string
  /** The line that it serves. */
  line: Tieline
  close(): Promise<void>
}

/** A mistake in how the server is to be reached. */
export class ServeError extends Error {}
