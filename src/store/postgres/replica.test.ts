import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { clusterKit, nextSchema, texts, until } from '../../../test/kits/cluster.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { append, created, ended, keysOf, running } from '../../../test/kits/store.ts'
import { AppendFault } from '../../runtime/kernel/store-port.ts'
import { StoreUnavailable } from '../../runtime/kernel/store-health.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { viewsEqual } from '../rebuild.ts'
import { quote } from './link.ts'
import { logFormat } from './schema.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())
const { open, sql } = clusterKit(postgres)

describe.skipIf(postgres === null)('the views of a node', () => {
  const directory = (): string => {
    const path = mkdtempSync(join(tmpdir(), 'tieline-node-'))
    onTestFinished(() => rmSync(path, { recursive: true, force: true }))
    return path
  }

  test('a node goes on where its file ends, and another database makes it read from the beginning', async () => {
    const [schema, place] = [nextSchema(), directory()]
    const first = await open(schema, { directory: place })
    await append(first, created('ses_a'))
    await first.close()
    const other = await open(schema)
    await append(other, created('ses_b'))
    const again = await open(schema, { directory: place })
    expect(await texts(again)).toEqual(['1 session.created ses_a', '2 session.created ses_b'])
    await again.close()
    const elsewhere = await open(nextSchema(), { directory: place })
    expect(await texts(elsewhere)).toEqual([])
  })

  test('a database restored to an earlier moment is read again, and stops a node that runs', async () => {
    const [schema, place] = [nextSchema(), directory()]
    const store = await open(schema, { directory: place })
    await append(store, created('ses_a'))
    await append(store, created('ses_b'))
    await sql(`delete from ${schema}.log where seq = 2;
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tieline'
        and pid <> pg_backend_pid()`)
    await expect(append(store, created('ses_c'))).rejects.toThrow('Restart this node')
    await store.close()
    const again = await open(schema, { directory: place })
    expect(await texts(again)).toEqual(['1 session.created ses_a'])
  })

  test('R2: an event that cannot be folded fails the work that wanted it, and nobody else', async () => {
    const schema = nextSchema()
    const store = await open(schema)
    await append(store, ...running('kept'))
    const settled = await Promise.allSettled([
      append(store, created('ses_before')),
      append(store, ended('ses_kept', 'turn_unknown')),
      append(store, created('ses_after')),
    ])
    expect(settled.map((one) => (one.status === 'rejected' ? one.reason.constructor : 'kept'))).toEqual([
      'kept',
      AppendFault,
      'kept',
    ])
    const other = await open(schema)
    expect(await texts(other)).toEqual(await texts(store))
    expect(viewsEqual(other.db).equal).toBe(true)
  })

  test('a row that cannot be read is named, and the others go on', async () => {
    const schema = nextSchema()
    const store = await open(schema)
    await append(store, created('ses_a'))
    await sql(`insert into ${schema}.log values (2, 0, 'no json', '')`)
    await append(store, created('ses_b'))
    const rows: number[] = []
    const other = await open(schema, { onDamage: ({ row }) => rows.push(row) })
    expect(rows).toEqual([2])
    expect((await other.session('ses_b'))?.agent).toBe('b')
  })

  test('a database of a newer version is left as it is, and older nodes keep a newer one out', async () => {
    const schema = nextSchema()
    const store = await open(schema)
    await store.heartbeat('node_old', 60_000)
    await sql(
      `update ${schema}.nodes set format = ${logFormat - 1}; update ${schema}.meta set format = ${logFormat - 1}`,
    )
    await expect(open(schema)).rejects.toThrow('Nodes of an older Tieline work on')
    await sql(`update ${schema}.meta set format = ${logFormat + 1}`)
    await expect(open(schema)).rejects.toThrow('was written by a newer Tieline')
  })

  test('a node that is refused leaves no connection behind, which would keep its process alive', async () => {
    const schema = nextSchema()
    await (await open(schema)).close()
    await sql(`update ${schema}.meta set format = ${logFormat + 1}`)
    await expect(open(schema)).rejects.toThrow('was written by a newer Tieline')
    const others = `select 1 from pg_stat_activity where application_name = 'tieline' and pid <> pg_backend_pid()`
    await until(async () => (await sql(others)).length === 0)
  })

  test('a node that was left behind by an upgrade does not count as alive, so that others go on', async () => {
    const schema = nextSchema()
    const store = await open(schema)
    await store.heartbeat('node_old', 1)
    const [before] = await sql(`select until from ${schema}.nodes`)
    await sql(`update ${schema}.meta set format = ${logFormat + 1}`)
    await expect(store.heartbeat('node_old', 60_000)).rejects.toThrow('a newer Tieline uses this log now')
    expect(await sql(`select until from ${schema}.nodes`)).toEqual([before])
    expect(store.health().state).toBe('unavailable')
  })

  test('a node that was left behind by an upgrade folds and records nothing more, and goes on reading', async () => {
    const schema = nextSchema()
    const store = await open(schema)
    await append(store, created('ses_a'))
    await sql(`update ${schema}.meta set format = ${logFormat + 1}`)
    await sql(`insert into ${schema}.log values (2, 0, '[{"type":"of.the.future","session":"ses_b"}]', '')`)
    await expect(store.look()).rejects.toThrow('a newer Tieline uses this log now')
    await expect(append(store, created('ses_b'))).rejects.toThrow('a newer Tieline uses this log now')
    await expect(store.heartbeat('node_old', 1000)).rejects.toThrow(StoreUnavailable)
    expect([store.lastSeq(), (await store.session('ses_a'))?.agent]).toEqual([1, 'a'])
  })

  test('leases and the time of transactions are the clock of the database', async () => {
    const schema = nextSchema()
    const ahead = await open(schema, { now: () => systemClock.now() + 3_600_000 })
    const [row] = await sql('select floor(extract(epoch from clock_timestamp()) * 1000) as now')
    const at = await ahead.transact(keysOf('ses_a'), async (tx) => {
      tx.append(...running('a'))
      return tx.now
    })
    expect(at - Number(row?.['now'])).toBeLessThan(5000)
    await ahead.heartbeat('node_1', 1000)
    expect((await ahead.sessionFacts('ses_a')).runnerAlive).toBe(true)
    expect(Math.abs(ahead.now() - Number(row?.['now']))).toBeLessThan(5000)
  })

  test('a node that closes gives up its lease, so that others need not wait for its end', async () => {
    const schema = nextSchema()
    const [one, other] = [await open(schema), await open(schema)]
    await append(one, ...running('a'))
    await one.heartbeat('node_1', 60_000)
    await until(async () => {
      await other.look()
      return (await other.sessionFacts('ses_a')).runnerAlive
    })
    await one.close()
    await until(async () => !(await other.sessionFacts('ses_a')).runnerAlive)
  })
})

test('whatever a text says, nothing of it is read as SQL', () => {
  for (const text of ['$t$', "'; drop table log; --", '$t$ $t1$ x', 'ends with $', '\\', '$t'])
    expect(quote(text)).not.toBe(text)
  expect(quote('a $t$ b')).toBe('$t1$a $t$ b$t1$')
})

test.skipIf(postgres === null)('texts of all kinds come back as they were', async () => {
  for (const text of [
    '$t$',
    "'; drop table log; --",
    '$t$ $t1$ x',
    'ends with $',
    '\\',
    '$t',
    'é\u{1f600}\n',
  ])
    expect(await sql(`select ${quote(text)} as text`)).toEqual([{ text }])
})

test.skipIf(postgres === null)('R11: no statement reads a whole table', async () => {
  const schema = nextSchema()
  const store = await open(schema)
  await append(store, created('ses_a'))
  for (const statement of [
    `select seq, at, events, mark from ${schema}.log where seq > 1 order by seq limit 500`,
    `select coalesce(max(seq), 0) from ${schema}.log`,
    `select md5(events) from ${schema}.log where seq = 1`,
  ]) {
    const plan = await sql(`set enable_seqscan = off; explain ${statement}`)
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).not.toContain('Seq Scan')
  }
})
