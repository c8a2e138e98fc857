/**
 * The floor of anything durable: the events of one delegation in `node:sqlite`, FULL, with group commit and
 * six waits, and no rules, models or tools at all.
 */
import { bareAppend } from '../bare-append.ts'
import { scratch, type Contender } from '../work.ts'

/** Sixteen events in six commits, as the runtime groups them at worst. */
const eventsPerCommit = [3, 3, 3, 3, 2, 2]
/**
 * Bytes of the log per delegation, divided by sixteen: measured of Tieline in the same run and given by the
 * parent process.
 */
const eventBytes = Number(process.env['BENCH_EVENT_BYTES'] ?? 330)

export async function start(): Promise<Contender> {
  const { data, remove } = scratch()
  const { append, commits, close } = bareAppend(data, eventBytes)
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
