/** What is asked of PostgreSQL, in as few flights as there are things to wait for. */
import { createHash } from 'node:crypto'
import type { Millis } from '../../model/id.ts'
import { StoreFault } from '../directory.ts'
import type { LogRow } from '../log-row.ts'
import { LogNewer } from './fault-words.ts'
import { findBar, knowsLog, type Bar } from './formats.ts'
import { LinkFault, quote, type Answer, type Link } from './link.ts'
import type { Lease, Replica } from './replica.ts'
import { logFormat, steps, type Places } from './schema.ts'

/** So many rows are read at once. Who is further behind reads the rest without holding anything. */
export const rowsPerRead = 500

export type MarkedRow = LogRow & { mark: string }
/** What others have done since, and the time of the database. */
export type News = { rows: MarkedRow[]; leases: Lease[]; now: Millis }

const readNews = ({ schema }: Places, after: number): string =>
  `select seq, at, events, mark from ${schema}.log where seq > ${after} order by seq limit ${rowsPerRead};
   select id, until from ${schema}.nodes;
   select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now,
     (select max(format) from ${schema}.meta) as format`

function parseNews(answers: readonly Answer[]): News {
  const [log, nodes, clock] = answers.slice(-3).map(({ rows }) => rows)
  // A node that was frozen while the cluster was updated must not fold what it does not know.
  const format = Number(clock?.[0]?.['format'])
  if (!knowsLog(logFormat, format)) throw newer(format)
  return {
    rows: (log ?? []).map(({ seq, at, events, mark }) => ({
      seq: Number(seq),
      at: Number(at),
      events: events ?? '',
      mark: mark ?? '',
    })),
    leases: (nodes ?? []).map(({ id, until }) => ({ id: id ?? '', until: Number(until) })),
    now: Number(clock?.[0]?.['now']),
  }
}

const newer = (format: number): LogNewer =>
  new LogNewer(`a newer Tieline uses this log now (its format is ${format}, this one knows ${logFormat})`)

export const readTail = async (link: Link, places: Places, after: number): Promise<News> =>
  parseNews(await link.run(readNews(places, after)))

/**
 * R1: opens a transaction that holds its keys, and reads what was committed before it got them. Keys are taken
 * in one order by everybody, so that no two wait for each other. READ COMMITTED looks anew with each statement:
 * with a snapshot from before the locks, what they protect would be missed. `keys` null takes them all.
 */
export async function beginWith(
  link: Link,
  places: Places,
  keys: readonly string[] | null,
  after: number,
): Promise<News> {
  const { everything, keyOf } = places
  const numbers = [...new Set((keys ?? []).map(keyOf))].sort((a, b) => (a < b ? -1 : 1))
  const locks =
    keys === null
      ? `select pg_advisory_xact_lock(${everything})`
      : `select pg_advisory_xact_lock_shared(${everything})` +
        (numbers.length === 0
          ? ''
          : `; select pg_advisory_xact_lock(k) from unnest(array[${numbers.join(',')}]::bigint[]) k`)
  return parseNews(
    await link.run(`begin isolation level read committed; ${locks}; ${readNews(places, after)}`),
  )
}

/** Rows to append, each with how many events it and those before it have. */
export type Appended = { upTo: number; at: Millis; text: string }

/**
 * Appends and commits in one flight, and returns the number before the first. Numbers are given out under a lock
 * that nobody waits with: from there to the commit PostgreSQL needs no answer from us.
 */
export async function appendAndCommit(
  link: Link,
  { schema, numbers }: Places,
  rows: readonly Appended[],
  mark: string,
): Promise<number> {
  const values = rows.map(({ upTo, at, text }) => `(${upTo}::bigint, ${at}::bigint, ${quote(text)})`)
  const answers = await link.run(
    `select pg_advisory_xact_lock(${numbers});
     insert into ${schema}.log (seq, at, events, mark)
       select b.seq + r.up_to, r.at, r.events, ${quote(mark)}
       from (select coalesce(max(seq), 0) as seq from ${schema}.log) b,
         (values ${values.join(',')}) r(up_to, at, events)
       returning seq;
     commit`,
  )
  const [, inserted, ended] = answers
  // After a statement that failed, a commit answers ROLLBACK, without an error.
  if (ended?.command !== 'COMMIT' || inserted?.rows.length !== rows.length)
    throw new LinkFault(`the commit was answered with ${ended?.command ?? 'nothing'}`)
  const last = Math.max(...inserted.rows.map(({ seq }) => Number(seq)))
  return last - (rows.at(-1)?.upTo ?? 0)
}

export const rollBack = (link: Link): Promise<unknown> => link.run('rollback')

/**
 * `until` null: so long from now, by the database's clock. Returns the lease. A node that no longer knows the log
 * can do nothing, so it does not count as alive either: others go on with what it had begun.
 */
export async function beat(
  link: Link,
  { schema }: Places,
  node: string,
  ttlMs: number,
  { until = null, about = null }: { until?: Millis | null; about?: string | null } = {},
): Promise<Lease & { now: Millis }> {
  const now = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'
  const format = `(select max(format) from ${schema}.meta)`
  const [known, answer] = await link.run(
    `select ${format} as format;
     insert into ${schema}.nodes as n (id, until, format, about)
       select ${quote(node)}, ${until ?? `${now} + ${Math.ceil(ttlMs)}`}, ${logFormat},
         ${about === null ? 'null' : quote(about)}
       where ${format} <= ${logFormat}
       on conflict (id) do update set until = excluded.until, format = excluded.format,
         about = coalesce(excluded.about, n.about)
       returning until, ${now} as now`,
  )
  const [row] = answer?.rows ?? []
  if (row === undefined) throw newer(Number(known?.rows[0]?.['format']))
  return { id: node, until: Number(row['until']), now: Number(row['now']) }
}

/** Leases that ended long ago say nothing any more. */
export const forgetNodes = (link: Link, { schema }: Places, before: Millis): Promise<unknown> =>
  link.run(`delete from ${schema}.nodes where until < ${before}`)

/** Whether PostgreSQL has the last row that the replica has. */
export async function isBehind(link: Link, { schema }: Places, replica: Replica): Promise<boolean> {
  const last = replica.lastRow()
  if (last === null) return true
  const [answer] = await link.run(`select md5(events) as hash from ${schema}.log where seq = ${last.seq}`)
  return answer?.rows[0]?.['hash'] === createHash('md5').update(last.events).digest('hex')
}

/**
 * Makes the tables, or brings them up to date, and says which log it is. A database that is newer is left as it
 * is; one that is older, while nodes of the older version live in it.
 */
export async function prepareTables(link: Link, places: Places, where: string): Promise<{ log: string }> {
  const { schema, making } = places
  const [, , found] = await link.run(
    `begin; select pg_advisory_xact_lock(${making});
     select to_regnamespace('${schema}') as schema, to_regclass('${schema}.meta') as meta`,
  )
  // Who may not make a schema can use one that somebody else has made.
  if (found?.rows[0]?.['schema'] == null) await link.run(`create schema ${schema}`)
  if (found?.rows[0]?.['meta'] == null)
    await link.run(
      `create table ${schema}.meta (log text not null, version integer not null, format integer not null);
       insert into ${schema}.meta values (gen_random_uuid()::text, 0, ${logFormat})`,
    )
  const [meta] = await link.run(`select log, version, format from ${schema}.meta`)
  const { log, version, format } = meta?.rows[0] ?? {}
  const bar = Number(version) > steps.length ? newerLog : await askBar(link, places, Number(format))
  if (bar !== null) {
    await rollBack(link)
    throw new StoreFault(
      bar.why === 'log newer'
        ? `${where} was written by a newer Tieline (its format is ${format}, this one knows ${logFormat}). ` +
            'Update Tieline on this machine; the database was left as it is.'
        : `Nodes of an older Tieline work on ${where} (${bar.nodes.join(', ')}), and would not understand what ` +
            'this one records. Stop them first, or start this one with their version.',
    )
  }
  const missing = steps.slice(Number(version)).join(';')
  await link.run(
    `set local search_path to ${schema}; ${missing};
     update ${schema}.meta set version = ${steps.length}, format = ${logFormat}; commit`,
  )
  return { log: log ?? '' }
}

const newerLog: Bar = { why: 'log newer' }

async function askBar(link: Link, { schema }: Places, found: number): Promise<Bar | null> {
  if (found === logFormat) return null
  const [there] = await link.run(`select to_regclass('${schema}.nodes') as nodes`)
  if (there?.rows[0]?.['nodes'] == null) return findBar(logFormat, found, [], 0)
  const [answer, clock] = await link.run(
    `select id, format, until from ${schema}.nodes order by id;
     select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`,
  )
  const nodes = (answer?.rows ?? []).map(({ id, format, until }) => ({
    id: id ?? '',
    format: Number(format),
    until: Number(until),
  }))
  return findBar(logFormat, found, nodes, Number(clock?.rows[0]?.['now']))
}
