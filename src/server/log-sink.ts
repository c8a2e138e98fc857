/**
 * Structured logs: whoever starts the server decides where they go. Tokens and query strings never get here.
 */
import type { Json } from '../model/json.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogSink = (level: LogLevel, message: string, fields?: Record<string, Json>) => void

/** The path alone: a query may hold a token. */
export function loggedPath(url: string | undefined): string {
  const path = url ?? ''
  const end = path.search(/[?#;]/)
  return end === -1 ? path : path.slice(0, end)
}
