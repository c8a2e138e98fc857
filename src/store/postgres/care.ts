/**
 * Looks after the log of a cluster. The log is in PostgreSQL; what is derived from it is in each node's own
 * replica, so that is what a rebuild makes again.
 */
import { mkdtempSync, rmSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { checkLog, type LogCheck } from '../check-log.ts'
import { openDatabase, ownDirectory } from '../directory.ts'
import { findLastSeq } from '../log-row.ts'
import type { LogRebuild } from '../rebuild-log.ts'
import { differences, type Watched } from '../rebuild.ts'
import { connect, describePlace, type Link } from './link.ts'
import { prepareTables, readTail } from './remote.ts'
import { deleteReplica, openReplica, replicaFile, type Replica } from './replica.ts'
import { placesIn, type Places } from './schema.ts'

export type CareOptions = Watched & { directory: string; url: string; schema?: string }

const flightMsMax = 60_000

/** Reads the whole log into a fresh replica, checks that, and compares this node's own with it. */
export async function checkCluster({ directory, ...options }: CareOptions): Promise<LogCheck> {
  const place = mkdtempSync(join(tmpdir(), 'tieline-check-'))
  try {
    const fresh = await fold(place, options)
    fresh.close()
    const checked = await checkLog(join(place, replicaFile))
    const says = compareOwn(join(directory, replicaFile), join(place, replicaFile))
    if (says.length === 0) return checked
    const problems = says.map((said) => ({ what: 'views' as const, row: null, flow: null, says: said }))
    return {
      ...checked,
      ok: false,
      problems: [...checked.problems, ...problems],
      problemsTotal: checked.problemsTotal + problems.length,
    }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** Makes this node's replica anew. */
export async function rebuildCluster({ directory, ...options }: CareOptions): Promise<LogRebuild> {
  // Nobody else may have it open.
  ownDirectory(directory).release()
  const place = mkdtempSync(join(tmpdir(), 'tieline-rebuild-'))
  let differed: string[]
  try {
    const fresh = await fold(place, options)
    fresh.close()
    differed = compareOwn(join(directory, replicaFile), join(place, replicaFile))
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
  deleteReplica(directory)
  const replica = await fold(directory, options)
  const { rows } = replica.reader.prepare('select count(*) as rows from log').get() as { rows: number }
  replica.close()
  return { rows, differed, leftOut: [] }
}

async function fold(
  directory: string,
  { url, schema = 'tieline', onProgress, signal }: Omit<CareOptions, 'directory'>,
): Promise<Replica> {
  const places = placesIn(schema)
  const link = await connect({ url, flightMsMax })
  try {
    const { log } = await prepareTables(link, places, describePlace(url))
    const total = await findLast(link, places)
    const replica = openReplica({ directory, log, onDamage: () => undefined })
    try {
      while (replica.seq < total) {
        signal?.throwIfAborted()
        replica.take((await readTail(link, places, replica.seq)).rows, [])
        onProgress?.(Math.min(replica.seq, total), total)
      }
      return replica
    } catch (error) {
      replica.close()
      throw error
    }
  } finally {
    link.close()
  }
}

async function findLast(link: Link, { schema }: Places): Promise<number> {
  const [answer] = await link.run(`select coalesce(max(seq), 0) as seq from ${schema}.log`)
  return Number(answer?.rows[0]?.['seq'])
}

/** What this node has, next to the whole log. One that is behind is compared as far as it goes. */
function compareOwn(own: string, fresh: string): string[] {
  if (!existsSync(own)) return []
  const [mine, whole] = [new DatabaseSync(own, { readOnly: true }), openDatabase(fresh)]
  try {
    const last = findLastSeq(mine)
    const rows = (db: DatabaseSync) =>
      db.prepare('select seq, at, events from log where seq <= ? order by seq').iterate(last)
    const theirs = rows(whole)[Symbol.iterator]()
    for (const row of rows(mine)) {
      if (JSON.stringify(row) === JSON.stringify(theirs.next().value)) continue
      return [`replica.db: its row ${String(row['seq'])} is not the one that PostgreSQL has`]
    }
    return last === findLastSeq(whole) ? differences(mine, whole) : []
  } finally {
    mine.close()
    whole.close()
  }
}
