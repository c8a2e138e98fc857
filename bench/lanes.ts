/** Writers that take turns: each is timed alone, in alternating rounds, and compared by its median rate. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { median } from './round.ts'

export type Lane = {
  /** Writes until `endAt` and returns how many were written. */
  run(endAt: number): Promise<number>
  close(): Promise<void>
}

/** Runs every lane once per round; `onRound` gets the latest rates. */
export async function measureLanes<Name extends string>(
  lanes: Record<Name, Lane>,
  { rounds, seconds }: { rounds: number; seconds: number },
  onRound: (latest: Record<Name, number>) => void,
): Promise<Record<Name, number>> {
  const names = Object.keys(lanes) as Name[]
  const rates = new Map<Name, number[]>(names.map((name) => [name, []]))
  const summarize = (pick: (list: number[]) => number): Record<Name, number> =>
    Object.fromEntries([...rates].map(([name, list]) => [name, pick(list)])) as Record<Name, number>
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const name of names) {
        const from = performance.now()
        const count = await lanes[name].run(from + seconds * 1000)
        rates.get(name)?.push((count / (performance.now() - from)) * 1000)
      }
      onRound(summarize((list) => list.at(-1) ?? Number.NaN))
    }
  } finally {
    await Promise.all(names.map((name) => lanes[name].close()))
  }
  return summarize(median)
}

export type RawLog = Record<'begin' | 'commit' | 'insert', StatementSync> & { close: () => void }

/** SQLite alone, durable like our own store: one table, no rules, no indexes. */
export function openRawLog(file: string): RawLog {
  const db = new DatabaseSync(file)
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma wal_autocheckpoint = 4000;
    create table log (seq integer primary key, at integer not null, event text not null) strict
  `)
  return {
    begin: db.prepare('begin immediate'),
    commit: db.prepare('commit'),
    insert: db.prepare('insert into log (at, event) values (?, ?)'),
    close: () => db.close(),
  }
}

/** Inserts in batches into a raw log. */
export function createRawLane(file: string, batch: number, write: (n: number) => string): Lane {
  const { begin, commit, insert, close } = openRawLog(file)
  return {
    async run(endAt) {
      let events = 0
      do {
        begin.run()
        for (let index = 0; index < batch; index += 1) insert.run(Date.now(), write(events + index))
        commit.run()
        events += batch
      } while (performance.now() < endAt)
      return events
    },
    close: async () => close(),
  }
}
