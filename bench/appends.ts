/** Appends through the transactions of the store, against raw batched inserts of the same bytes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EventOf } from '../src/model/event.ts'
import type { SessionId } from '../src/model/id.ts'
import { sqliteStore } from '../src/store/sqlite.ts'
import { createRawLane, measureLanes, type Lane } from './lanes.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, type Part } from './report.ts'

const rounds = 5
const concurrency = 128
const rawBatch = 100

/** An event that changes no view. */
const createStep = (session: SessionId, n: number): EventOf<'step.started'> => ({
  type: 'step.started',
  session,
  turn: 'turn_bench',
  kind: 'tool',
  name: 'shell',
  key: `key-${n}`,
  input: `Something is about to happen that must be on record first, number ${n}. `.repeat(4),
})

/** `concurrency` writers, one event per transaction; each waits until its event is durable. */
function createOwnLane(directory: string): Lane {
  const store = sqliteStore({ directory, now: () => Date.now() })
  return {
    async run(endAt) {
      let events = 0
      const lane = async (_: unknown, index: number): Promise<void> => {
        const session: SessionId = `ses_append-${index}`
        do {
          await store.transact([`session:${session}`], async (tx) => tx.append(createStep(session, events)))
          events += 1
        } while (performance.now() < endAt)
      }
      await Promise.all(Array.from({ length: concurrency }, lane))
      return events
    },
    close: () => store.close(),
  }
}

export async function appends(progress: Progress, seconds: number): Promise<Part> {
  progress.part('appends', rounds)
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-append-'))
  try {
    const lanes = {
      ours: createOwnLane(join(directory, 'ours')),
      raw: createRawLane(join(directory, 'raw.db'), rawBatch, (n) =>
        JSON.stringify([createStep('ses_append-1', n)]),
      ),
    }
    const rates = await measureLanes(lanes, { rounds, seconds: seconds / 2 }, ({ ours, raw }) =>
      progress.step(`${formatNumber(ours)} events/s against ${formatNumber(raw)}`),
    )
    return buildPart(rates)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function buildPart({ ours, raw }: Record<'ours' | 'raw', number>): Part {
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
            formatNumber(ours),
            formatRatio(ours / raw),
          ],
          [`raw insert, ${rawBatch} rows per commit`, formatNumber(raw), formatRatio(1)],
        ],
      },
    ],
  }
}
