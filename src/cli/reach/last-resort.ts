/**
 * Handles a fault that nothing caught, in a process that is the server. Anything may be half done, so the
 * process ends: the log has all that was acknowledged, and the next start goes on from there. It ends cleanly:
 * the cause is logged, clients are disconnected, and the data directory is free.
 */
import { faultText } from '../../model/contained.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'

/** How long the server may take to close before the process ends without it. */
const closeMsMax = 3000
const faultExitCode = 70

export type LastResort = { log: (message: string, stack: string) => void; close: () => Promise<void> }

/** Guards the process until the returned function is called. */
export function guardProcess({ log, close }: LastResort): () => void {
  let ending = false
  const handle =
    (message: string) =>
    (fault: unknown): void => {
      // A second fault while it closes changes nothing. It isn't logged either: where standard error is what
      // broke, each line would be the next fault, and the timer below would never come.
      if (ending) return
      ending = true
      try {
        log(message, faultText(fault))
      } catch {
        // Standard error may be what broke.
      }
      const exit = (): never => process.exit(faultExitCode)
      Promise.race([close(), systemClock.sleep(closeMsMax)]).then(exit, exit)
    }
  const listeners = {
    uncaughtException: handle('an uncaught fault ends the server'),
    unhandledRejection: handle('a rejection that nobody handled ends the server'),
  }
  for (const [event, listener] of Object.entries(listeners)) process.on(event, listener)
  return () => {
    for (const [event, listener] of Object.entries(listeners)) process.off(event, listener)
  }
}
