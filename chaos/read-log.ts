/** The log as the database has it, and what each node has made of it. */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import type { Event } from '../src/model/event.ts'
import { connect } from '../src/store/postgres/link.ts'
import { readTail, type MarkedRow } from '../src/store/postgres/remote.ts'
import { replicaFile } from '../src/store/postgres/replica.ts'
import { placesIn } from '../src/store/postgres/schema.ts'
import { viewsEqual } from '../src/store/rebuild.ts'
import type { Member } from './member.ts'

export type Row = MarkedRow & { parsed: Event[] }

export async function readRows(url: string): Promise<Row[]> {
  const link = await connect({ url, flightMsMax: 60_000 })
  const rows: Row[] = []
  try {
    for (;;) {
      const page = await readTail(link, placesIn('tieline'), rows.at(-1)?.seq ?? 0)
      if (page.rows.length === 0) return rows
      for (const row of page.rows) rows.push({ ...row, parsed: JSON.parse(row.events) as Event[] })
    }
  } finally {
    link.close()
  }
}

/** What a node has that the database has not, and views that are not the fold of its log. Its process has ended. */
export function checkReplica({ name, dataDir }: Member, rows: readonly Row[]): string[] {
  const db = new DatabaseSync(join(dataDir, replicaFile), { readOnly: true })
  try {
    const problems: string[] = []
    let at = 0
    for (const own of db.prepare('select seq, at, events from log order by seq').iterate()) {
      const row = rows[at]
      at += 1
      if (row?.seq === own['seq'] && row?.at === own['at'] && row?.events === own['events']) continue
      problems.push(`${name}: its row ${String(own['seq'])} is not row ${row?.seq ?? 'none'} of the database`)
      break
    }
    if (problems.length === 0 && at !== rows.length)
      problems.push(`${name}: it has ${at} rows of ${rows.length}`)
    const { equal, difference } = viewsEqual(db)
    if (!equal) problems.push(`${name}: views are not the fold of the log: ${difference ?? ''}`.slice(0, 300))
    return problems
  } finally {
    db.close()
  }
}
