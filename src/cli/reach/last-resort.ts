/**
 * What to do with a fault that nobody caught, in a process that is the server. It may have left anything half
 * done, so the process ends: the log has all
 * that was acknowledged, and the next start goes on from there. It ends cleanly: the cause is logged, clients
 * are told, and the data directory is free.
 */
import { faultText } from '../../model/contained.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'

/** How long the server may take to close after such a fault, before the process ends without it. */
const closeMsMax = 3000
export const faultExitCode = 70

export type LastResort = { log: (message: string, stack: string) => void; close: () => Promise<void> }

/** Until the returned function is called. */
export function guardProcess({ log, close }: LastResort): () => void {
  let ending = false
  const end =
    (message: string) =>
    (fault: unknown): void => {
      try {
        log(message, faultText(fault))
      } catch {
        // Standard error may be what broke.
      }
      // A second fault, while it closes, changes nothing.
      if (ending) return
      ending = true
      const leave = (): never => process.exit(faultExitCode)
      Promise.race([close(), systemClock.sleep(closeMsMax)]).then(leave, leave)
    }
  const uncaught = end('an uncaught fault ends the server')
  const unhandled = end('a rejection that nobody handled ends the server')
  process.on('uncaughtException', uncaught)
  process.on('unhandledRejection', unhandled)
  return () => {
    process.off('uncaughtException', uncaught)
    process.off('unhandledRejection', unhandled)
  }
}
