/** `tieline/server`: starts a server from code. What its types mention besides is exported by `tieline`. */
export { serve } from '../serve.ts'
export { ServeError, type Served, type ServeOptions } from '../server-options.ts'
export type { LogLevel, LogSink } from './log-sink.ts'
