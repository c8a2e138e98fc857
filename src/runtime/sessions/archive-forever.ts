/** What is old is put away while a line works: sessions that nobody uses, and flows that ended long ago. */
import type { Millis } from '../../model/id.ts'
import type { Lists } from '../kernel/lists-port.ts'
import type { Runtime } from './runtime.ts'
import { archiveIdle } from './sessions.ts'

const archiveEveryMs = 600_000
const dayMs = 86_400_000
/** Its rows are deleted in one transaction, which nobody should notice. */
const unitsPerSegment = 2 * 1024 * 1024

/** A store with a log that rows can leave. */
type Shrinking = {
  readonly lists: Lists
  readonly archive:
    | ((ask: {
        endedBefore: Millis
        now: Millis
        unitsPerSegment: number
        signal: AbortSignal
      }) => Promise<unknown>)
    | null
}

/** `segmentAfterDays`: 0 keeps everything in the log. */
export async function archiveForever(
  runtime: Runtime,
  store: Shrinking,
  segmentAfterDays: number,
  warn: (text: string) => void,
): Promise<void> {
  const { signal } = runtime.stopping
  while (!signal.aborted) {
    try {
      await runtime.clock.sleep(archiveEveryMs, signal)
      await archiveIdle(runtime, store.lists)
      const now = runtime.clock.now()
      const endedBefore = now - segmentAfterDays * dayMs
      if (segmentAfterDays > 0) await store.archive?.({ endedBefore, now, unitsPerSegment, signal })
    } catch (error) {
      if (!signal.aborted)
        warn(`what is old could not be archived: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
