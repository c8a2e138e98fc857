/** As many events, bytes and waits as a delegation of ours, in SQLite, with no rules, models or tools. */
import { createBareAppend } from '../bare-append.ts'
import { spreadOver } from '../round.ts'
import { createScratch, type Contender } from '../work.ts'

/** The parent process measures these with Tieline in the same run. */
const [events = NaN, eventBytes = NaN, waits = NaN] = [
  'BENCH_EVENTS',
  'BENCH_EVENT_BYTES',
  'BENCH_WAITS',
].map((name) => Number(process.env[name]))

export async function start(): Promise<Contender> {
  const { data, remove } = createScratch()
  const { append, commits, close } = createBareAppend(data, eventBytes)
  const eventsPerWait = spreadOver(events, waits)
  return {
    async one() {
      for (const count of eventsPerWait) await append(count)
    },
    commits,
    async close() {
      close()
      remove()
    },
  }
}
