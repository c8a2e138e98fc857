/** A node that starts while its database does, waits for it. */
import type { Millis } from '../../model/id.ts'
import { StoreFault } from '../directory.ts'
import { LinkFault } from './link.ts'

const startMsMax = 15_000
const startAgainMs = 200

export async function openPatiently<T>(
  open: () => Promise<T>,
  { elapsed, sleep }: { elapsed: () => Millis; sleep: (ms: number) => Promise<void> },
): Promise<T> {
  const since = elapsed()
  for (;;) {
    try {
      return await open()
    } catch (fault) {
      if (!passes(fault) || elapsed() - since > startMsMax) throw fault
      await sleep(startAgainMs)
    }
  }
}

/** Whether a database that is there in a moment would have been enough. */
function passes(fault: unknown): boolean {
  const link = fault instanceof StoreFault ? fault.cause : fault
  return link instanceof LinkFault && link.passes
}
