import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { clusterKit, nextSchema, texts } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { append, created, ended, running, sent, testClock } from '../../../test/kits/store.ts'
import { viewsEqual } from '../rebuild.ts'
import { sqliteStore } from '../sqlite.ts'
import { checkCluster, rebuildCluster } from './care.ts'
import { moveToPostgres, moveToSqlite } from './move-log.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())
const { open, sql } = clusterKit(postgres)
const url = postgres?.url ?? ''

function place(): string {
  const path = mkdtempSync(join(tmpdir(), 'tieline-move-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A log of more than one page. */
async function write(directory: string): Promise<string[]> {
  const store = sqliteStore({ directory, now: testClock().now })
  await append(store, ...running('a'))
  for (let n = 0; n < 450; n += 1) await append(store, created(`ses_${n}`), sent(`ses_${n}`, `turn_${n}`))
  await append(store, ended('ses_a', 'turn_a'))
  const all = await texts(store)
  await store.close()
  return all
}

describe.skipIf(postgres === null)('a log that moves', () => {
  test('to PostgreSQL and back it is the same, with its numbers, and so are its views', async () => {
    const [from, back, schema] = [place(), place(), nextSchema()]
    const all = await write(from)
    const there = await moveToPostgres({ directory: from, url, schema })
    const store = await open(schema)
    expect(await texts(store)).toEqual(all)
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
    await store.close()
    const again = await moveToSqlite({ directory: back, url, schema })
    expect([again.rows, again.hash]).toEqual([there.rows, there.hash])
    const returned = sqliteStore({ directory: back, now: testClock().now })
    onTestFinished(() => returned.close())
    expect(await texts(returned)).toEqual(all)
    expect(viewsEqual(returned.db).equal).toBe(true)
  })

  test('with what has left it for segments, and it comes back as one log', async () => {
    const [from, back, schema] = [place(), place(), nextSchema()]
    const store = sqliteStore({ directory: from, now: testClock().now })
    await append(store, ...running('a', { flow: 'flow_a' }))
    await append(store, ended('ses_a', 'turn_a'))
    await append(store, { type: 'session.archived', session: 'ses_a', turn: null, cause: 'idle' })
    await append(store, created('ses_b'), sent('ses_b', 'turn_b'))
    const all = await texts(store)
    const ask = { endedBefore: Number.MAX_SAFE_INTEGER, now: 1, unitsPerSegment: 1 }
    expect(await store.archive?.(ask)).toMatchObject({ flows: 1 })
    await store.close()
    const there = await moveToPostgres({ directory: from, url, schema })
    const cluster = await open(schema)
    expect(await texts(cluster)).toEqual(all)
    expect(viewsEqual(cluster.db)).toEqual({ equal: true, difference: null })
    await cluster.close()
    const again = await moveToSqlite({ directory: back, url, schema })
    expect([again.rows, again.hash]).toEqual([there.rows, there.hash])
    const returned = sqliteStore({ directory: back, now: testClock().now })
    onTestFinished(() => returned.close())
    expect(await texts(returned)).toEqual(all)
  })

  test('one that was interrupted goes on where it was', async () => {
    const [from, schema] = [place(), nextSchema()]
    const all = await write(from)
    const stop = new AbortController()
    const broken = moveToPostgres({
      directory: from,
      url,
      schema,
      signal: stop.signal,
      onProgress: () => stop.abort(new Error('interrupted')),
    })
    await expect(broken).rejects.toThrow('interrupted')
    const [kept] = await sql(`select count(*) as rows from ${schema}.log`)
    expect(Number(kept?.['rows'])).toBe(200)
    const { events } = await moveToPostgres({ directory: from, url, schema })
    expect(events).toBe(all.length)
  })

  test('a place with another log is refused, and so is one that nodes work on', async () => {
    const [from, schema] = [place(), nextSchema()]
    await write(from)
    const store = await open(schema)
    await append(store, created('ses_other'))
    await store.heartbeat('node_1', 60_000)
    await expect(moveToPostgres({ directory: from, url, schema })).rejects.toThrow('in use by 1 nodes')
    await store.close()
    await expect(moveToPostgres({ directory: from, url, schema })).rejects.toThrow('has another log')
  })
})

describe.skipIf(postgres === null)('the log of a cluster', () => {
  test('is checked as a whole, and what is wrong with it or with a replica is named', async () => {
    const [directory, schema] = [place(), nextSchema()]
    const store = await open(schema, { directory })
    await append(store, ...running('a'))
    await append(store, created('ses_b'))
    await store.close()
    const check = () => checkCluster({ directory, url, schema })
    expect(await check()).toMatchObject({ ok: true, rows: 2, events: 4 })
    const replica = new DatabaseSync(join(directory, 'replica.db'))
    replica.exec(`update sessions set agent = 'other'`)
    replica.close()
    expect((await check()).problems).toMatchObject([{ what: 'views' }])
    expect((await rebuildCluster({ directory, url, schema })).differed).toHaveLength(1)
    expect((await check()).ok).toBe(true)
    await sql(`update ${schema}.log set events = 'no json' where seq = 4`)
    const { problems } = await check()
    expect(problems.map(({ what }) => what)).toEqual(['row', 'views'])
  })
})
