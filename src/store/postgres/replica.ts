/**
 * The log as this node has read it, with its views, in an SQLite file of its own. It is never ahead of
 * PostgreSQL, and can be deleted at any time: the node then reads the log again.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DamagedRow } from '../../model/damaged-row.ts'
import type { Event } from '../../model/event.ts'
import type { Hint } from '../../runtime/kernel/store-port.ts'
import { applyAll } from '../apply.ts'
import { openDatabase, ownDirectory, placeFault } from '../directory.ts'
import { collectHints } from '../hints.ts'
import { findLastSeq, parseEvents, watchRows, type LogRow } from '../log-row.ts'
import { viewsProblem } from '../views-belong.ts'
import { createWriter, type Writer } from '../writer.ts'

export type Lease = { id: string; until: number }

export type Replica = {
  readonly writer: Writer
  readonly reader: DatabaseSync
  /** The number of the last event that it has. */
  seq: number
  /** What the log said at its last row, to compare it with PostgreSQL's. */
  lastRow(): LogRow | null
  /** Folds rows that others committed, in one transaction. */
  take(rows: readonly LogRow[], hints: Hint[]): void
  /** Takes back what an open transaction has written. */
  undo(): void
  setLease(lease: Lease): void
  /** All that there are: whose is missing has none. */
  setLeases(leases: readonly Lease[]): void
  close(): void
}

type ReplicaOptions = {
  /** A data directory, or ':memory:' for one that is gone at the end. */
  directory: string
  /** Which log it is of. A replica of another one is made anew. */
  log: string
  onDamage: (fault: DamagedRow) => void
}

export const replicaFile = 'replica.db'

/** One that is not of this log, or does not belong together, is deleted: it holds nothing of its own. */
export function openReplica({ directory, log, onDamage }: ReplicaOptions): Replica {
  const passing = directory === ':memory:'
  const place = passing ? mkdtempSync(join(tmpdir(), 'tieline-replica-')) : directory
  const owned = ownDirectory(place)
  const file = join(place, replicaFile)
  const release = (): void => {
    owned.release()
    if (passing) rmSync(place, { recursive: true, force: true })
  }
  try {
    let opened = openFile(file, log, passing)
    if (opened === null) {
      deleteReplica(place)
      opened = openFile(file, log, passing)
    }
    if (opened === null) throw new Error('a fresh replica cannot be used')
    return present(opened, release, onDamage)
  } catch (error) {
    release()
    throw placeFault(file, error)
  }
}

export function deleteReplica(directory: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(join(directory, `${replicaFile}${end}`), { force: true })
}

type OpenFile = { db: DatabaseSync; reader: DatabaseSync }

/** Null where it is of another log, or its views are not of its log. */
function openFile(file: string, log: string, passing: boolean): OpenFile | null {
  const db = openDatabase(file)
  // PostgreSQL has what was acknowledged. After a loss of power the file is whole, and at most behind.
  db.exec(`pragma synchronous = ${passing ? 'off' : 'normal'};
    create table if not exists replica_of (log text primary key) strict`)
  const known = db.prepare('select log from replica_of').get() as { log: string } | undefined
  if (known === undefined) db.prepare('insert into replica_of (log) values (?)').run(log)
  const reader = new DatabaseSync(file, { readOnly: true })
  const isWrong =
    known === undefined ? findLastSeq(db) > 0 : known.log !== log || viewsProblem(reader) !== null
  if (!isWrong) return { db, reader }
  reader.close()
  db.close()
  return null
}

function present(
  { db, reader }: OpenFile,
  release: () => void,
  onDamage: ReplicaOptions['onDamage'],
): Replica {
  watchRows(db, onDamage)
  watchRows(reader, onDamage)
  const writer = createWriter(db)
  db.exec('update nodes set until = 0')
  const leases = new Map<string, number>()
  const write = (rows: readonly Lease[]): void => {
    const changed = rows.filter(({ id, until }) => leases.get(id) !== until)
    if (changed.length === 0) return
    inTransaction(writer, () => {
      for (const { id, until } of changed) writer.heartbeat.run(id, until)
    })
    for (const { id, until } of changed) leases.set(id, until)
  }
  const replica: Replica = {
    writer,
    reader,
    seq: findLastSeq(db),
    lastRow: () =>
      (db.prepare('select seq, at, events from log order by seq desc limit 1').get() as LogRow | undefined) ??
      null,
    take(rows, hints) {
      if (rows.length === 0) return
      inTransaction(writer, () => {
        for (const row of rows) {
          writer.log.run(row.seq, row.at, row.events)
          const events = readRow(row, onDamage)
          if (events.length === 0) continue
          applyAll(writer.writes, row, events)
          hints.push(...collectHints(events, { first: row.seq - events.length + 1, at: row.at }))
        }
      })
      replica.seq = rows.at(-1)?.seq ?? replica.seq
    },
    undo() {
      if (db.isTransaction) db.exec('rollback')
    },
    setLease: (lease) => write([lease]),
    setLeases(rows) {
      const there = new Set(rows.map(({ id }) => id))
      const gone = [...leases.keys()].filter((id) => !there.has(id)).map((id) => ({ id, until: 0 }))
      write([...rows, ...gone])
    },
    close() {
      reader.close()
      db.close()
      release()
    },
  }
  return replica
}

/** A row that cannot be read is kept as it is, and breaks only its own flow. */
function readRow(row: LogRow, onDamage: ReplicaOptions['onDamage']): Event[] {
  try {
    return parseEvents(row)
  } catch (fault) {
    if (!(fault instanceof DamagedRow)) throw fault
    onDamage(fault)
    return []
  }
}

function inTransaction({ db, begin, commit }: Writer, write: () => void): void {
  begin.run()
  try {
    write()
    commit.run()
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}
