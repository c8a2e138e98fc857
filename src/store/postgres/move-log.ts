/**
 * Moves a log from a data directory to PostgreSQL and back. Rows are copied as they are, with their numbers, so
 * what comes of them is the same. What was copied before an interruption is kept, if it is the beginning of the
 * same log. At the end both sides are read and compared by their hash.
 */
import { createHash, type Hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { applyAll } from '../apply.ts'
import { openDatabase, ownDirectory, placeFault, StoreFault } from '../directory.ts'
import { movedRows } from '../archive/moved-rows.ts'
import { findLastSeq, mergeRows, parseEvents, type LogRow } from '../log-row.ts'
import type { Watched } from '../rebuild.ts'
import { createWriter } from '../writer.ts'
import { connect, describePlace, quote, type Link } from './link.ts'
import { prepareTables } from './remote.ts'
import { placesIn, type Places } from './schema.ts'

export type MoveOptions = Watched & { directory: string; url: string; schema?: string }
export type Moved = { rows: number; events: number; hash: string; place: string }

const rowsPerPage = 200
/** Copying waits for nobody, but a page may be long. */
const flightMsMax = 60_000

/** A side of the move: its rows in order, and a place for more. */
type Side = {
  where: string
  last(): Promise<number>
  read(after: number): Promise<LogRow[]>
  write(rows: readonly LogRow[]): Promise<void>
}

export const moveToPostgres = (options: MoveOptions): Promise<Moved> =>
  withSides(options, (files, database) => move(files, database, options))

export const moveToSqlite = (options: MoveOptions): Promise<Moved> =>
  withSides(options, (files, database) => move(database, files, options))

async function withSides(
  { directory, url, schema = 'tieline' }: MoveOptions,
  act: (files: Side, database: Side) => Promise<Moved>,
): Promise<Moved> {
  const places = placesIn(schema)
  const where = describePlace(url)
  const owned = ownDirectory(directory)
  try {
    const db = openDatabase(owned.file)
    try {
      const link = await connect({ url, flightMsMax })
      try {
        await prepareTables(link, places, where)
        await refuseLiving(link, places, where)
        return await act(fileSide(db, owned.file), databaseSide(link, places, where))
      } finally {
        link.close()
      }
    } finally {
      db.close()
    }
  } catch (error) {
    throw placeFault(owned.file, error)
  } finally {
    owned.release()
  }
}

async function refuseLiving(link: Link, { schema }: Places, where: string): Promise<void> {
  const [answer] = await link.run(
    `select id from ${schema}.nodes where until > extract(epoch from clock_timestamp()) * 1000`,
  )
  if ((answer?.rows.length ?? 0) > 0)
    throw new StoreFault(`${where} is in use by ${answer?.rows.length} nodes. Stop them first.`)
}

/** A segment that cannot be read ends the move: half a log is none. */
const listStrictly = (db: DatabaseSync, after: number): Iterable<LogRow> =>
  movedRows(db).list(after, (fault) => {
    throw fault
  })

const fileSide = (db: DatabaseSync, where: string): Side => {
  const page = db.prepare('select seq, at, events from log where seq > ? order by seq limit +?')
  const writer = createWriter(db)
  return {
    where,
    last: async () => findLastSeq(db),
    // Those in segments go with the others.
    read: async (after) => {
      const rows = page.all(after, rowsPerPage) as unknown as LogRow[]
      return movedRows(db).last() > after ? [...mergeRows(rows, listStrictly(db, after), rowsPerPage)] : rows
    },
    async write(rows) {
      writer.begin.run()
      try {
        for (const row of rows) {
          writer.log.run(row.seq, row.at, row.events)
          applyAll(writer.writes, row, parseEvents(row))
        }
        writer.commit.run()
      } catch (error) {
        if (db.isTransaction) db.exec('rollback')
        throw error
      }
    },
  }
}

const databaseSide = (link: Link, { schema }: Places, where: string): Side => ({
  where,
  async last() {
    const [answer] = await link.run(`select coalesce(max(seq), 0) as seq from ${schema}.log`)
    return Number(answer?.rows[0]?.['seq'])
  },
  async read(after) {
    const [answer] = await link.run(
      `select seq, at, events from ${schema}.log where seq > ${after} order by seq limit ${rowsPerPage}`,
    )
    return (answer?.rows ?? []).map(({ seq, at, events }) => ({
      seq: Number(seq),
      at: Number(at),
      events: events ?? '',
    }))
  },
  async write(rows) {
    const values = rows.map(({ seq, at, events }) => `(${seq}, ${at}, ${quote(events)}, 'moved')`)
    await link.run(`insert into ${schema}.log (seq, at, events, mark) values ${values.join(',')}`)
  },
})

async function move(from: Side, to: Side, { onProgress, signal }: Watched): Promise<Moved> {
  const total = await from.last()
  const kept = await to.last()
  await compare(from, to, kept, signal)
  for (let after = kept; ;) {
    signal?.throwIfAborted()
    const rows = await from.read(after)
    if (rows.length === 0) break
    await to.write(rows)
    after = rows.at(-1)?.seq ?? after
    onProgress?.(after, 2 * total)
  }
  const { rows, hash } = await compare(from, to, total, signal, (done) =>
    onProgress?.(total + done, 2 * total),
  )
  return { rows, events: total, hash, place: to.where }
}

/** Both must have the same rows up to a number. */
async function compare(
  from: Side,
  to: Side,
  upTo: number,
  signal: AbortSignal | undefined,
  onProgress: (done: number) => void = () => undefined,
): Promise<{ rows: number; hash: string }> {
  const [ours, theirs] = [await digest(from, upTo, signal, onProgress), await digest(to, upTo, signal)]
  if (ours.hash === theirs.hash) return ours
  throw new StoreFault(
    `${to.where} has another log than ${from.where}: they differ within the first ${upTo} events. ` +
      'Nothing more was copied. Choose an empty place.',
  )
}

async function digest(
  side: Side,
  upTo: number,
  signal: AbortSignal | undefined,
  onProgress: (done: number) => void = () => undefined,
): Promise<{ rows: number; hash: string }> {
  const hash: Hash = createHash('sha256')
  let rows = 0
  for (let after = 0; after < upTo;) {
    signal?.throwIfAborted()
    const page = (await side.read(after)).filter(({ seq }) => seq <= upTo)
    if (page.length === 0) break
    for (const { seq, at, events } of page) hash.update(`${seq} ${at} ${events}\n`)
    rows += page.length
    after = page.at(-1)?.seq ?? upTo
    onProgress(after)
  }
  return { rows, hash: hash.digest('hex') }
}
