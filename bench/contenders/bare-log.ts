/** The events of one delegation in SQLite, with group commit and six waits, but no rules, models or tools. */
import { createBareAppend } from '../bare-append.ts'
import { createScratch, type Contender } from '../work.ts'

/** Sixteen events in six commits: the worst case of how the runtime groups them. */
const eventsPerCommit = [3, 3, 3, 3, 2, 2]
/** The average size of an event. The parent process measures it with Tieline in the same run. */
const eventBytes = Number(process.env['BENCH_EVENT_BYTES'] ?? 330)

export async function start(): Promise<Contender> {
  const { data, remove } = createScratch()
  const { append, commits, close } = createBareAppend(data, eventBytes)
  return {
    async one() {
      for (const count of eventsPerCommit) await append(count)
    },
    commits,
    async close() {
      close()
      remove()
    },
  }
}
