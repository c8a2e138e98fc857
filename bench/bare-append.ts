/**
 * The floor of anything durable: events of a given size in `node:sqlite`, FULL, with group commit, and
 * nothing else.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export type BareAppend = {
  /** Settles when so many events are on disk. */
  append: (count: number) => Promise<void>
  commits: () => number
  close: () => void
}

export function bareAppend(directory: string, eventBytes: number): BareAppend {
  const db = new DatabaseSync(join(directory, 'bare.db'))
  db.exec(
    'pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000; create table log (seq integer primary key, at integer not null, event text not null) strict',
  )
  const [begin, commit] = [db.prepare('begin immediate'), db.prepare('commit')]
  const insert = db.prepare('insert into log (at, event) values (?, ?)')
  const event = JSON.stringify({ type: 'step.ended', text: 'x'.repeat(Math.max(1, eventBytes - 32)) })
  let queue: { count: number; done: () => void }[] = []
  let commits = 0
  const drain = (): void => {
    const group = queue
    queue = []
    begin.run()
    for (const { count } of group)
      for (let index = 0; index < count; index += 1) insert.run(Date.now(), event)
    commit.run()
    commits += 1
    for (const { done } of group) done()
  }
  return {
    append: (count) =>
      new Promise((done) => {
        if (queue.length === 0) setImmediate(drain)
        queue.push({ count, done })
      }),
    commits: () => commits,
    close: () => db.close(),
  }
}
