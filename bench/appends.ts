/**
 * One-way appends: messages to sessions through the store's transactions, against raw inserts of the same
 * bytes in batches.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { EventOf } from '../src/model/event.ts'
import type { SessionId } from '../src/model/id.ts'
import { sqliteStore } from '../src/store/sqlite.ts'
import type { Progress } from './progress.ts'
import { number, times, type Part } from './report.ts'
import { median } from './round.ts'

const rounds = 5
const concurrency = 128
const rawBatch = 100

/** An event that only the log keeps: no view changes with it. */
const step = (session: SessionId, n: number): EventOf<'step.started'> => ({
  type: 'step.started',
  session,
  turn: 'turn_bench',
  kind: 'tool',
  name: 'shell',
  key: `key-${n}`,
  input: `Something is about to happen that must be on record first, number ${n}. `.repeat(4),
})

type Lane = { run(endAt: number): Promise<number>; close(): Promise<void> }

/** `concurrency` writers, one event per transaction, each waits until its event is durable. */
function ours(directory: string): Lane {
  const store = sqliteStore({ directory, now: () => Date.now() })
  return {
    async run(endAt) {
      let events = 0
      const lane = async (_: unknown, index: number): Promise<void> => {
        const session: SessionId = `ses_append-${index}`
        do {
          await store.transact([`session:${session}`], async (tx) => tx.append(step(session, events)))
          events += 1
        } while (performance.now() < endAt)
      }
      await Promise.all(Array.from({ length: concurrency }, lane))
      return events
    },
    close: () => store.close(),
  }
}

function raw(directory: string): Lane {
  const db = new DatabaseSync(join(directory, 'raw.db'))
  db.exec(
    'pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000; create table log (seq integer primary key, at integer not null, event text not null) strict',
  )
  const [begin, commit, insert] = [
    db.prepare('begin immediate'),
    db.prepare('commit'),
    db.prepare('insert into log (at, event) values (?, ?)'),
  ]
  return {
    async run(endAt) {
      let events = 0
      do {
        begin.run()
        for (let index = 0; index < rawBatch; index += 1)
          insert.run(Date.now(), JSON.stringify([step('ses_append-1', events + index)]))
        commit.run()
        events += rawBatch
      } while (performance.now() < endAt)
      return events
    },
    close: async () => db.close(),
  }
}

export async function appends(progress: Progress, seconds: number): Promise<Part> {
  progress.part('appends', rounds)
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-append-'))
  const lanes = { ours: ours(join(directory, 'ours')), raw: raw(directory) }
  const rates = { ours: [] as number[], raw: [] as number[] }
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const name of ['ours', 'raw'] as const) {
        const from = performance.now()
        const events = await lanes[name].run(from + seconds * 500)
        rates[name].push((events / (performance.now() - from)) * 1000)
      }
      progress.step(
        `${number(rates.ours.at(-1) ?? null)} events/s against ${number(rates.raw.at(-1) ?? null)}`,
      )
    }
  } finally {
    await Promise.all(Object.values(lanes).map((lane) => lane.close()))
    rmSync(directory, { recursive: true, force: true })
  }
  const [oursRate, rawRate] = [median(rates.ours), median(rates.raw)]
  return {
    name: 'appends',
    checks: [],
    notes: [],
    tables: [
      {
        title: `One-way appends (median of ${rounds} alternating rounds)`,
        columns: ['', 'events/s', 'of raw'],
        rows: [
          [
            `Tieline, ${concurrency} writers, one event each, all durable`,
            number(oursRate),
            times(oursRate / rawRate),
          ],
          [`raw insert, ${rawBatch} rows per commit`, number(rawRate), times(1)],
        ],
      },
    ],
  }
}
