/**
 * Rows of the log that stand in segments. Readers of the log ask here for what the log does not have, so that it does
 * not matter to them where a row is.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { DamagedRow } from '../../model/damaged-row.ts'
import { readBlock, type Block, type SegmentRow } from './segment-file.ts'

/** A block with the file that it stands in. */
export type PlacedBlock = Block & { segment: number; n: number; file: string }

export type MovedRows = {
  /** The number of the last event that was moved; 0 where none was. */
  last(): number
  /** The row that holds the event with this number, or null. Throws a DamagedRow where its segment cannot be read. */
  find(seq: number): SegmentRow | null
  /** All rows after this number, in order. What cannot be read is told of and left out. */
  list(after: number, onDamage: (fault: DamagedRow, block: PlacedBlock) => void): Generator<SegmentRow>
  blocks(): readonly PlacedBlock[]
}

export const segmentsFolder = 'segments'

/** R11: so many blocks are held in memory after they were read. */
const blocksKeptMax = 8

const known = new WeakMap<DatabaseSync, MovedRows>()

export function movedRows(db: DatabaseSync): MovedRows {
  let rows = known.get(db)
  if (rows === undefined) known.set(db, (rows = openMoved(db)))
  return rows
}

const nothing: MovedRows = {
  last: () => 0,
  find: () => null,
  *list() {
    // Nothing was moved.
  },
  blocks: () => [],
}

/** A file of an older format has no such tables. */
const hasSegments = (db: DatabaseSync): boolean =>
  db.prepare(`select 1 from sqlite_schema where name = 'segments'`).get() !== undefined

export const findFolder = (db: DatabaseSync): string => join(dirname(db.location() ?? ''), segmentsFolder)

function openMoved(db: DatabaseSync): MovedRows {
  if (db.location() === null || !hasSegments(db)) return nothing
  const newest = db.prepare('select max(id) as id, max(last_seq) as last from segments')
  const all = db.prepare(
    `select b.segment as segment, b.n as n, s.file as file, b.offset as offset, b.bytes as bytes,
      b.hash as hash, b.first_seq as first, b.last_seq as last, b.rows as rows
      from segment_blocks b join segments s on s.id = b.segment order by b.first_seq`,
  )
  return new Moved(findFolder(db), newest, all)
}

class Moved implements MovedRows {
  readonly #folder: string
  readonly #newest: StatementSync
  readonly #all: StatementSync
  #listed: { upTo: number; blocks: readonly PlacedBlock[] } = { upTo: 0, blocks: [] }
  /** By segment and number, the one that was used last at the end. */
  readonly #read = new Map<string, SegmentRow[]>()

  constructor(folder: string, newest: StatementSync, all: StatementSync) {
    this.#folder = folder
    this.#newest = newest
    this.#all = all
  }

  #look(): { id: number; last: number } {
    const { id, last } = this.#newest.get() as Record<'id' | 'last', number | null>
    return { id: id ?? 0, last: last ?? 0 }
  }

  last(): number {
    return this.#look().last
  }

  /** In the order of their first events. Segments are never changed, so a new one is all that can happen. */
  blocks(): readonly PlacedBlock[] {
    const { id: upTo } = this.#look()
    if (upTo !== this.#listed.upTo)
      this.#listed = { upTo, blocks: this.#all.all() as unknown as PlacedBlock[] }
    return this.#listed.blocks
  }

  find(seq: number): SegmentRow | null {
    let broken: DamagedRow | null = null
    for (const block of this.blocks()) {
      if (block.first > seq) break
      if (block.last < seq) continue
      try {
        const row = findRow(this.#open(block), seq)
        if (row !== null) return row
      } catch (fault) {
        if (!(fault instanceof DamagedRow)) throw fault
        broken = fault
      }
    }
    // Where all could be read, no segment has it; otherwise it stands in the one that could not.
    if (broken !== null) throw new DamagedRow(seq, broken.why)
    return null
  }

  *list(after: number, onDamage: Parameters<MovedRows['list']>[1]): Generator<SegmentRow> {
    const pending = this.blocks().filter(({ last }) => last > after)
    const opened: { rows: SegmentRow[]; at: number }[] = []
    for (let next = 0; ;) {
      let least = findLeast(opened)
      // Blocks of different segments overlap: each is read when its first row could be the next.
      for (let block = pending[next]; block !== undefined; block = pending[(next += 1)]) {
        if (least !== null && block.first > headOf(least).seq) break
        const rows = this.#openOrTell(block, onDamage).filter(({ seq }) => seq > after)
        if (rows.length > 0) opened.push({ rows, at: 0 })
        least = findLeast(opened)
      }
      if (least === null) return
      yield headOf(least)
      least.at += 1
      if (least.at === least.rows.length) opened.splice(opened.indexOf(least), 1)
    }
  }

  #openOrTell(block: PlacedBlock, onDamage: Parameters<MovedRows['list']>[1]): SegmentRow[] {
    try {
      return this.#open(block)
    } catch (fault) {
      if (!(fault instanceof DamagedRow)) throw fault
      onDamage(fault, block)
      return []
    }
  }

  #open(block: PlacedBlock): SegmentRow[] {
    const key = `${block.segment}/${block.n}`
    const kept = this.#read.get(key)
    const rows = kept ?? this.#load(block)
    this.#read.delete(key)
    this.#read.set(key, rows)
    const [oldest] = this.#read.keys()
    if (this.#read.size > blocksKeptMax && oldest !== undefined) this.#read.delete(oldest)
    return rows
  }

  #load(block: PlacedBlock): SegmentRow[] {
    const path = join(this.#folder, block.file)
    try {
      return readBlock(path, block)
    } catch (cause) {
      const why = existsSync(path)
        ? `the segment ${block.file} is damaged (${(cause as Error).message})`
        : `the segment ${block.file} is missing`
      throw new DamagedRow(block.last, why, null, { cause })
    }
  }
}

type Opened = { rows: SegmentRow[]; at: number }
const headOf = ({ rows, at }: Opened): SegmentRow => rows[at] as SegmentRow
const findLeast = (opened: readonly Opened[]): Opened | null =>
  opened.reduce<Opened | null>(
    (least, one) => (least === null || headOf(one).seq < headOf(least).seq ? one : least),
    null,
  )

/** Rows are in order: the first that does not end before the event holds it, or none does. */
function findRow(rows: readonly SegmentRow[], seq: number): SegmentRow | null {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rows[middle] as SegmentRow).seq < seq) low = middle + 1
    else high = middle
  }
  const row = rows[low]
  return row !== undefined && row.seq - row.count < seq ? row : null
}
