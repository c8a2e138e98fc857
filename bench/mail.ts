/**
 * Durable sends between sessions, against SQLite alone in batches of the same size: once with the same rows
 * in the same tables, and once with only the text in one plain table.
 */
import { exchangeOf } from '../test/kits/askers.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SessionId } from '../src/model/id.ts'
import { migrations } from '../src/store/schema.ts'
import { openLine } from '../src/open-line.ts'
import { createRawLane, measureLanes, type Lane } from './lanes.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtMost, type Part } from './report.ts'

const rounds = 5
const concurrency = 32
const sessions = 64
const wantedTimes = 3
const writeMessage = (n: number): string =>
  `Message number ${n}: please look at the parser again, the second test is red since this morning. `.repeat(
    4,
  )

async function createOwnLane(directory: string): Promise<Lane> {
  const line = await openLine({
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
            { session: to, message: writeMessage(n) },
            null,
            null,
          )
          // Make room in a full inbox, as its reader would.
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

const pickSession = (n: number): string => `ses_client-bench-${(n * 31 + 1) % sessions}`

/** Writes the same rows as a message does: log, timeline, message and inbox count. */
function createRowsLane(directory: string, event: string): Lane {
  const db = new DatabaseSync(join(directory, 'rows.db'))
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma wal_autocheckpoint = 4000;
    pragma cache_size = -65536
  `)
  for (const step of migrations) db.exec(step)
  const [begin, commit] = [db.prepare('begin immediate'), db.prepare('commit')]
  const log = db.prepare('insert into log (seq, at, events) values (?, ?, ?)')
  const timeline = db.prepare('insert into log_sessions (session, seq) values (?, ?)')
  const row = db.prepare(`
    insert into messages (
      id, name, state, waiting, owner, sender, receiver,
      created_at, created_seq, updated_at, updated_seq, text_seq, sent_at, sent_seq
    ) values (?1, ?2, 'buffered', 1, ?3, ?3, ?4, ?5, ?6, ?5, ?6, ?6, ?5, ?6)
  `)
  const inbox = db.prepare(`
    insert into inboxes (session, waiting) values (?, 1)
    on conflict do update set waiting = waiting + 1
  `)
  let seq = 0
  return {
    async run(endAt) {
      const before = seq
      do {
        begin.run()
        for (let index = 0; index < concurrency; index += 1) {
          seq += 1
          const [at, id, to] = [Date.now(), String(seq).padStart(21, '0'), pickSession(seq)]
          log.run(seq, at, event)
          timeline.run(to, seq)
          row.run(id, `msg_${id}`, 'ses_client-bench-1', to, at, seq)
          inbox.run(to)
        }
        commit.run()
      } while (performance.now() < endAt)
      return seq - before
    },
    close: async () => db.close(),
  }
}

/** One message as the log stores it. */
async function recordEvent(directory: string): Promise<string> {
  const line = await openLine({ cwd: directory, agents: {}, onWarning: () => undefined })
  const [from, to] = [
    await exchangeOf(line.desks).clientSession('a', directory),
    await exchangeOf(line.desks).clientSession('b', directory),
  ]
  await exchangeOf(line.desks).mail.send(
    { kind: 'session', session: from },
    { session: to, message: writeMessage(1) },
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
  try {
    const event = await recordEvent(directory)
    const lanes = {
      ours: await createOwnLane(directory),
      rows: createRowsLane(directory, event),
      raw: createRawLane(join(directory, 'raw.db'), concurrency, () => event),
    }
    const rates = await measureLanes(lanes, { rounds, seconds: seconds / 2 }, ({ ours, rows, raw }) =>
      progress.step(`${formatNumber(ours)} sends/s against ${formatNumber(rows)} and ${formatNumber(raw)}`),
    )
    return buildPart(rates, Buffer.byteLength(event))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function buildPart({ ours, rows, raw }: Record<'ours' | 'rows' | 'raw', number>, bytes: number): Part {
  return {
    name: 'mail',
    notes: [],
    checks: [
      requireAtMost(
        `SQLite alone writing the same rows, against durable sends at concurrency ${concurrency}`,
        rows / ours,
        wantedTimes,
        '×',
      ),
    ],
    tables: [
      {
        title: `Messages to inboxes (median of ${rounds} alternating rounds, ${bytes} bytes each)`,
        columns: ['', 'sends/s', 'of the same rows'],
        rows: [
          [
            `Tieline, ${concurrency} senders, each waits until its message is durable`,
            formatNumber(ours),
            formatRatio(ours / rows),
          ],
          [
            `SQLite alone, the same rows, ${concurrency} messages per commit`,
            formatNumber(rows),
            formatRatio(1),
          ],
          [
            `SQLite alone, only their text, ${concurrency} messages per commit`,
            formatNumber(raw),
            formatRatio(raw / rows),
          ],
        ],
      },
    ],
  }
}
