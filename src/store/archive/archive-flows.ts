/**
 * Moves flows that ended long ago from the log to segments. A segment is durable under its name before the log lets
 * its rows go, and that is one transaction: after a crash at any moment every row is in the log or in a segment that
 * the log knows. A file that it does not know is left from such a crash, and holds only what the log still has.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Millis } from '../../model/id.ts'
import { nextRound } from '../../runtime/kernel/next-round.ts'
import { chooseFlows, type ChosenFlow } from './choose-flows.ts'
import { moveTurns } from './moved-lines.ts'
import { findFolder } from './moved-rows.ts'
import { moveTimeline } from './moved-timelines.ts'
import { writeSegment, type Block } from './segment-file.ts'

export type ArchiveAsk = {
  /** Flows that ended later stay. */
  endedBefore: Millis
  /** The moment that it is done. */
  now: Millis
  /** A segment ends with the flow that makes it so long. */
  unitsPerSegment: number
  /** So many segments at most; the rest is left for the next time. */
  segmentsMax?: number
  signal?: AbortSignal
  onProgress?: (flows: number) => void
}

/** `units` is the text of the rows that were moved, `bytes` what their segments have. */
export type Archived = {
  flows: number
  rows: number
  events: number
  units: number
  bytes: number
  segments: number
}

export type ArchivePorts = {
  /** Sees what is committed. */
  reader: DatabaseSync
  /** Runs `write` on the connection that writes, in one transaction, and settles when that is durable. */
  commit: (write: (db: DatabaseSync) => void) => Promise<void>
}

/** Others run after so many flows were looked at. */
const flowsPerSlice = 8
/** Of so many the lines are moved at once, which takes a few milliseconds. */
const flowsPerCommit = 32

export async function archiveFlows(ports: ArchivePorts, ask: ArchiveAsk): Promise<Archived> {
  const done: Archived = { flows: 0, rows: 0, events: 0, units: 0, bytes: 0, segments: 0 }
  for await (const chosen of gatherSegments(ports.reader, ask)) {
    const moved = await moveFlows(ports, chosen, ask.now)
    for (const name of ['flows', 'rows', 'events', 'units', 'bytes', 'segments'] as const)
      done[name] += moved[name]
    ask.onProgress?.(done.flows)
    if (done.segments >= (ask.segmentsMax ?? Infinity)) break
  }
  return done
}

/** What would be moved. Writes nothing. */
export async function previewArchive(
  reader: DatabaseSync,
  ask: ArchiveAsk,
): Promise<Omit<Archived, 'bytes'>> {
  const found = { flows: 0, rows: 0, events: 0, units: 0, segments: 0 }
  for await (const chosen of gatherSegments(reader, ask)) {
    found.segments += 1
    for (const { rows, units } of chosen) {
      found.flows += 1
      found.rows += rows.length
      found.events += countEvents(rows)
      found.units += units
    }
    ask.onProgress?.(found.flows)
  }
  return found
}

async function* gatherSegments(
  reader: DatabaseSync,
  { endedBefore, unitsPerSegment, signal }: ArchiveAsk,
): AsyncGenerator<ChosenFlow[]> {
  let [chosen, units, looked]: [ChosenFlow[], number, number] = [[], 0, 0]
  for (const flow of chooseFlows(reader, endedBefore)) {
    looked += 1
    if (looked % flowsPerSlice === 0) {
      await nextRound()
      signal?.throwIfAborted()
    }
    if (flow === null) continue
    chosen.push(flow)
    units += flow.units
    if (units < unitsPerSegment) continue
    yield chosen
    ;[chosen, units] = [[], 0]
  }
  if (chosen.length > 0) yield chosen
}

const countEvents = (rows: ChosenFlow['rows']): number => rows.reduce((sum, { count }) => sum + count, 0)

async function moveFlows(
  { reader, commit }: ArchivePorts,
  chosen: ChosenFlow[],
  now: Millis,
): Promise<Archived> {
  const folder = findFolder(reader)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  removeParts(folder)
  // A row may belong to the life of a session that two flows share.
  const rows = [...new Map(chosen.flatMap((flow) => flow.rows).map((row) => [row.seq, row])).values()].sort(
    (a, b) => a.seq - b.seq,
  )
  const { id } = reader.prepare('select coalesce(max(id), 0) + 1 as id from segments').get() as { id: number }
  // Never the name of a file that is there: a log that was restored from a copy counts anew.
  const file = `${String(id).padStart(6, '0')}-${now.toString(36)}.jsonl.zst`
  const blocks = rows.length === 0 ? [] : await writeSegment(join(folder, file), rows)
  const moved: Archived = {
    flows: chosen.length,
    rows: rows.length,
    events: countEvents(rows),
    units: rows.reduce((sum, { events }) => sum + events.length, 0),
    bytes: blocks.reduce((sum, { bytes }) => sum + bytes, 0),
    segments: 1,
  }
  await commit((db) => {
    recordSegment(db, { id, file, at: now, moved, blocks })
    letGo(db, rows)
  })
  // After a crash in between, their lines are moved the next time.
  for (let at = 0; at < chosen.length; at += flowsPerCommit)
    await commit((db) => {
      for (const { turns } of chosen.slice(at, at + flowsPerCommit)) moveTurns(db, turns)
    })
  return moved
}

function recordSegment(
  db: DatabaseSync,
  { id, file, at, moved, blocks }: { id: number; file: string; at: Millis; moved: Archived; blocks: Block[] },
): void {
  const [first, last] = [blocks[0]?.first ?? 0, blocks.at(-1)?.last ?? 0]
  const { bytes, flows, rows, events } = moved
  db.prepare('insert into segments values (?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
    id,
    file,
    at,
    bytes,
    flows,
    rows,
    events,
    first,
    last,
  )
  const insert = db.prepare('insert into segment_blocks values (?, ?, ?, ?, ?, ?, ?, ?)')
  for (const [n, block] of blocks.entries())
    insert.run(id, n, block.offset, block.bytes, block.hash, block.first, block.last, block.rows)
}

function letGo(db: DatabaseSync, rows: ChosenFlow['rows']): void {
  const remove = db.prepare('delete from log where seq = ?')
  const timelines = new Map<string, number[]>()
  for (const { seq, sessions } of rows) {
    remove.run(seq)
    for (const session of sessions) {
      const seqs = timelines.get(session)
      if (seqs === undefined) timelines.set(session, [seq])
      else seqs.push(seq)
    }
  }
  for (const [session, seqs] of timelines) moveTimeline(db, session, seqs)
}

/**
 * What a crash left unfinished. A whole file that the log does not know stays: it may belong to a newer copy of the
 * log.
 */
function removeParts(folder: string): void {
  for (const name of readdirSync(folder)) if (name.endsWith('.part')) rmSync(join(folder, name))
}

/** What a data directory takes on disk, all of it. */
export const sizeOf = (path: string): number =>
  statSync(path).isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
    : statSync(path).size
