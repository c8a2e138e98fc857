/** Events as the text of one row of the log, and what their writing may say no to. */
import type { Event } from '../model/event.ts'
import { AppendFault } from '../runtime/kernel/store-port.ts'
/**
 * SQLite's primary codes for what is wrong with the data rather than with the disk: too big, constraint,
 * mismatch.
 */
const dataFaults = new Set([18, 19, 20])

export function isDiskFault(cause: unknown): boolean {
  const code = (cause as { errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' && !dataFaults.has(code & 0xff)
}

export function serialise(events: readonly Event[]): string {
  try {
    return JSON.stringify(events)
  } catch (cause) {
    throw new AppendFault(`an event is not JSON (${(cause as Error).message})`, { cause })
  }
}
