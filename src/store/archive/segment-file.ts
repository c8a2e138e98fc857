/**
 * A segment: a file with rows that were moved out of the log, in their order. It consists of blocks that are
 * compressed one by one, so that a row is read without the rest; where they stand, and their checksums, is kept with
 * the log. A block is lines of JSON, so `zstdcat` shows a whole segment.
 */
import { createHash } from 'node:crypto'
import {
  closeSync,
  constants as flags,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompressSync } from 'node:zlib'
import { privateMode } from '../../trust/private-files.ts'

/** A row of the log; `seq` is the number of its last event, `count` how many it holds. */
export type SegmentRow = { seq: number; count: number; at: number; events: string }

/** `first` is the number of the first event in it, `last` that of the last. */
export type Block = {
  offset: number
  bytes: number
  hash: string
  first: number
  last: number
  rows: number
}

/** A block ends with the row that makes it so long. Its text is held in memory while one of its rows is read. */
const blockUnitsMin = 1024 * 1024
const level = 12

const compress = promisify(zstdCompress)

/** Durable under its name when it settles. Rows come in their order. */
export async function writeSegment(path: string, rows: Iterable<SegmentRow>): Promise<Block[]> {
  const part = `${path}.part`
  const file = openSync(part, 'w', privateMode)
  try {
    const blocks: Block[] = []
    let offset = 0
    for (const gathered of gatherBlocks(rows)) {
      const text = gathered.map(({ seq, count, at, events }) => JSON.stringify([seq, count, at, events]))
      const data = await compress(Buffer.from(`${text.join('\n')}\n`), {
        params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 },
      })
      for (let at = 0; at < data.length;) at += writeSync(file, data, at)
      const [first, last] = [gathered[0] as SegmentRow, gathered.at(-1) as SegmentRow]
      blocks.push({
        offset,
        bytes: data.length,
        hash: hashBlock(data),
        first: first.seq - first.count + 1,
        last: last.seq,
        rows: gathered.length,
      })
      offset += data.length
    }
    fsyncSync(file)
    renameSync(part, path)
    await syncDirectory(dirname(path))
    return blocks
  } finally {
    closeSync(file)
  }
}

function* gatherBlocks(rows: Iterable<SegmentRow>): Generator<SegmentRow[]> {
  let [gathered, units]: [SegmentRow[], number] = [[], 0]
  for (const row of rows) {
    gathered.push(row)
    units += row.events.length
    if (units < blockUnitsMin) continue
    yield gathered
    ;[gathered, units] = [[], 0]
  }
  if (gathered.length > 0) yield gathered
}

/** A name that is not on disk may be gone after a crash, whatever the file holds. Windows has no such thing. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

const hashBlock = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')

/** Throws where the file is missing, or is not as it was written. */
export function readBlock(path: string, { offset, bytes, hash }: Block): SegmentRow[] {
  // A pipe in its place would be waited for, with everybody else.
  const file = openSync(path, flags.O_RDONLY | flags.O_NONBLOCK)
  const data = Buffer.alloc(bytes)
  try {
    if (!fstatSync(file).isFile()) throw new Error('it is not a file')
    const size = readSync(file, data, 0, bytes, offset)
    if (size < bytes) throw new Error('it is shorter than it was written')
  } finally {
    closeSync(file)
  }
  if (hashBlock(data) !== hash) throw new Error('its checksum does not match')
  const lines = zstdDecompressSync(data).toString('utf8').split('\n')
  return lines.flatMap((line) => (line === '' ? [] : [parseLine(line)]))
}

function parseLine(line: string): SegmentRow {
  const [seq, count, at, events] = JSON.parse(line) as [number, number, number, string]
  return { seq, count, at, events }
}
