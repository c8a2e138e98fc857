/**
 * Durable sends: messages between sessions through the exchange, each acknowledged when it is durable,
 * against SQLite alone in batches of as many:
 * once the same rows in the same tables, which is what a message is on disk, and once only its text in a
 * table that is never looked at.
 */
import { exchangeOf } from '../test/exchange-kit.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SessionId } from '../src/model/id.ts'
import { migrations } from '../src/store/schema.ts'
import { tieline } from '../src/tieline.ts'
import type { Progress } from './progress.ts'
import { number, times, type Part } from './report.ts'
import { median } from './round.ts'

const rounds = 5
const concurrency = 32
const sessions = 64
const wantedTimes = 3
const textOf = (n: number): string =>
  `Message number ${n}: please look at the parser again, the second test is red since this morning. `.repeat(
    4,
  )

type Lane = { run(endAt: number): Promise<number>; close(): Promise<void> }

async function ours(directory: string): Promise<Lane> {
  const line = await tieline({
    dataDir: join(directory, 'ours'),
    cwd: directory,
    agents: {},
    onWarning: () => undefined,
  })
  const ids: SessionId[] = []
  for (let n = 0; n < sessions; n += 1)
    ids.push(await exchangeOf(line.desks).clientSession(`bench-${n}`, directory))
  let sent = 0
  return {
    async run(endAt) {
      const before = sent
      const lane = async (): Promise<void> => {
        do {
          const n = (sent += 1)
          const [from, to] = [ids[n % sessions] as SessionId, ids[(n * 31 + 1) % sessions] as SessionId]
          const answer = await exchangeOf(line.desks).mail.send(
            { kind: 'session', session: from },
            { session: to, message: textOf(n) },
            null,
            null,
          )
          // A full inbox is emptied a little, as its reader would.
          if ('code' in answer && answer.code === 'queue_full')
            for (let left = 500; left > 0; left -= 1)
              await exchangeOf(line.desks).mail.accept({ kind: 'user' }, to, 'oldest', null)
        } while (performance.now() < endAt)
      }
      await Promise.all(Array.from({ length: concurrency }, lane))
      return sent - before
    },
    close: () => line.close(),
  }
}

const sessionOf = (n: number): string => `ses_client-bench-${(n * 31 + 1) % sessions}`

/**
 * All that a message writes, by hand: its place in the log and on a timeline, its row, and the count of its
 * inbox.
 */
function sameRows(directory: string, event: string): Lane {
  const db = new DatabaseSync(join(directory, 'rows.db'))
  db.exec(
    'pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000; pragma cache_size = -65536',
  )
  for (const step of migrations) db.exec(step)
  const [begin, commit] = [db.prepare('begin immediate'), db.prepare('commit')]
  const log = db.prepare('insert into log (seq, at, events) values (?, ?, ?)')
  const timeline = db.prepare('insert into log_sessions (session, seq) values (?, ?)')
  const row = db.prepare(
    `insert into messages (id, name, state, waiting, owner, sender, receiver, created_at, created_seq, updated_at, updated_seq, text_seq, sent_at, sent_seq) values (?1, ?2, 'buffered', 1, ?3, ?3, ?4, ?5, ?6, ?5, ?6, ?6, ?5, ?6)`,
  )
  const box = db.prepare(
    'insert into inboxes (session, waiting) values (?, 1) on conflict do update set waiting = waiting + 1',
  )
  let seq = 0
  return {
    async run(endAt) {
      const before = seq
      do {
        begin.run()
        for (let index = 0; index < concurrency; index += 1) {
          seq += 1
          const [at, id, to] = [Date.now(), String(seq).padStart(21, '0'), sessionOf(seq)]
          log.run(seq, at, event)
          timeline.run(to, seq)
          row.run(id, `msg_${id}`, 'ses_client-bench-1', to, at, seq)
          box.run(to)
        }
        commit.run()
      } while (performance.now() < endAt)
      return seq - before
    },
    close: async () => db.close(),
  }
}

/** The bytes of one such message as the log has it. */
function raw(directory: string, event: string): Lane {
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
        for (let index = 0; index < concurrency; index += 1) insert.run(Date.now(), event)
        commit.run()
        events += concurrency
      } while (performance.now() < endAt)
      return events
    },
    close: async () => db.close(),
  }
}

async function bytesOf(directory: string): Promise<string> {
  const line = await tieline({ cwd: directory, agents: {}, onWarning: () => undefined })
  const [from, to] = [
    await exchangeOf(line.desks).clientSession('a', directory),
    await exchangeOf(line.desks).clientSession('b', directory),
  ]
  await exchangeOf(line.desks).mail.send(
    { kind: 'session', session: from },
    { session: to, message: textOf(1) },
    null,
    null,
  )
  const { events } = await line.store.read(0, { types: ['message.sent'] }, 1)
  await line.close()
  return JSON.stringify([events[0]?.event])
}

export async function mail(progress: Progress, seconds: number): Promise<Part> {
  progress.part('mail', rounds)
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-mail-'))
  const event = await bytesOf(directory)
  const lanes = { ours: await ours(directory), rows: sameRows(directory, event), raw: raw(directory, event) }
  const rates = { ours: [] as number[], rows: [] as number[], raw: [] as number[] }
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const name of ['ours', 'rows', 'raw'] as const) {
        const from = performance.now()
        const count = await lanes[name].run(from + seconds * 500)
        rates[name].push((count / (performance.now() - from)) * 1000)
      }
      progress.step(
        `${number(rates.ours.at(-1) ?? null)} sends/s against ${number(rates.rows.at(-1) ?? null)} and ${number(rates.raw.at(-1) ?? null)}`,
      )
    }
  } finally {
    await Promise.all(Object.values(lanes).map((lane) => lane.close()))
    rmSync(directory, { recursive: true, force: true })
  }
  const [oursRate, rowsRate, rawRate] = [median(rates.ours), median(rates.rows), median(rates.raw)]
  return {
    name: 'mail',
    notes: [],
    checks: [
      {
        name: `SQLite alone writing the same rows, against durable sends at concurrency ${concurrency}`,
        figure: rowsRate / oursRate,
        relation: '<=',
        limit: wantedTimes,
        unit: '×',
      },
    ],
    tables: [
      {
        title: `Messages to inboxes (median of ${rounds} alternating rounds, ${Buffer.byteLength(event)} bytes each)`,
        columns: ['', 'sends/s', 'of the same rows'],
        rows: [
          [
            `Tieline, ${concurrency} senders, each waits until its message is durable`,
            number(oursRate),
            times(oursRate / rowsRate),
          ],
          [`SQLite alone, the same rows, ${concurrency} messages per commit`, number(rowsRate), times(1)],
          [
            `SQLite alone, only their text, ${concurrency} messages per commit`,
            number(rawRate),
            times(rawRate / rowsRate),
          ],
        ],
      },
    ],
  }
}
