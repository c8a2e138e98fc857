/** The floor of anything durable: the events of one delegation in `node:sqlite`, FULL, with group commit and six waits, and no rules, models or tools at all. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { scratch, type Contender } from '../work.ts'

/** Sixteen events in six commits, as the runtime groups them at worst. */
const eventsPerCommit = [3, 3, 3, 3, 2, 2]
/** Bytes of the log per delegation, divided by sixteen: measured of Tieline in the same run and given by the parent process. */
const eventBytes = Number(process.env['BENCH_EVENT_BYTES'] ?? 330)

export async function start(): Promise<Contender> {
  const { data, remove } = scratch()
  const db = new DatabaseSync(join(data, 'bare.db'))
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000; create table log (seq integer primary key, at integer not null, event text not null) strict')
  const [begin, commit] = [db.prepare('begin immediate'), db.prepare('commit')]
  const insert = db.prepare('insert into log (at, event) values (?, ?)')
  const event = JSON.stringify({ type: 'step.ended', text: 'x'.repeat(Math.max(1, eventBytes - 32)) })
  let queue: { count: number; done: () => void }[] = []
  let commits = 0

  const drain = (): void => {
    const group = queue
    queue = []
    begin.run()
    for (const { count } of group) for (let index = 0; index < count; index += 1) insert.run(Date.now(), event)
    commit.run()
    commits += 1
    for (const { done } of group) done()
  }
  const append = (count: number): Promise<void> => new Promise((done) => {
    if (queue.length === 0) setImmediate(drain)
    queue.push({ count, done })
  })
  return {
    async one() {
      for (const count of eventsPerCommit) await append(count)
    },
    commits: () => commits,
    async close() {
      db.close()
      remove()
    },
  }
}
