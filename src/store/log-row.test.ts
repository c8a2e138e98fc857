/** A row of the log that cannot be read: named, passed over, and no harm to anybody else. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeLater } from '../../test/kits/small-disk.ts'
import { append, created, running, sent, testClock } from '../../test/kits/store.ts'
import { syncedAtOnce, virtualClock, world } from '../../test/kits/world.ts'
import type { ScriptedFunction } from '../adapters/scripted/run-function.ts'
import { DamagedRow } from '../model/damaged-row.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

function memory(): { store: SqliteStore; told: DamagedRow[] } {
  const told: DamagedRow[] = []
  return {
    store: sqliteStore({
      directory: ':memory:',
      now: testClock().now,
      onDamage: (fault) => told.push(fault),
    }),
    told,
  }
}

test.each([
  'not JSON',
  '{"type":"turn.ended"}',
  '[]',
  'null',
  '["a text"]',
  '[null]',
  '[{"type":7}]',
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
])('whoever pages through the log passes a row that is %s, and is told of it', async (text) => {
  const { store, told } = memory()
  for (const id of ['a', 'b', 'c'] as const) await append(store, created(`ses_${id}`))
  store.db.prepare('update log set events = ? where seq = 2').run(text)
  const seen: string[] = []
  let next = 0
  for (let page = 0; page < 10 && next < store.lastSeq(); page += 1) {
    const read = await store.read(next, {}, 1)
    seen.push(...read.events.map(({ event }) => event.session))
    next = read.next
  }
  expect([seen, next]).toEqual([['ses_a', 'ses_c'], 3])
  expect(new Set(told.map(({ row }) => row))).toEqual(new Set([2]))
  expect(await store.event(2)).toBeNull()
})

test('a turn whose beginning cannot be read is an error with the number of the row; other turns are not', async () => {
  const { store } = memory()
  await append(store, ...running('a'))
  await append(store, ...running('b'))
  store.db.exec(`update log set events = 'x' where seq = 3`)
  const [broken, whole] = [await store.turn('turn_a'), await store.turn('turn_b')]
  expect(() => broken?.grant).toThrow(DamagedRow)
  expect(() => broken?.grant).toThrow('row 3 of the log')
  expect(whole?.grant.agent).toBe('b')
})

test('the flow of a row is named where the views know it', async () => {
  const { store, told } = memory()
  await append(store, created('ses_a'), sent('ses_a', 'turn_a', { flow: 'flow_seven' }))
  store.db.exec(`update log set events = 'x'`)
  await store.read(0, {}, 10)
  expect(told[0]?.message).toContain(
    'row 2 of the log, which belongs to flow_seven, cannot be read: it is not JSON',
  )
})

test('a turn of a dead node whose beginning cannot be read is not claimed every second; others go on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-row-'))
  removeLater(directory)
  const clock = virtualClock()
  const hang: ScriptedFunction = ({ signal }) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    )
  const agents = { slow: { script: hang }, quick: { script: () => 'done' } }
  const open = (): SqliteStore => sqliteStore({ directory, now: () => clock.now(), openSync: syncedAtOnce })
  const first = await world({ agents, clock, store: open() })
  const run = first.ask('slow', 'x')
  await first.pass(2000)
  await first.node.stop()
  await expect(run).rejects.toThrow('closed')
  first.store.db.exec(`update log set events = 'x' where seq = (select min(seq) from log)`)
  await first.store.close()
  const second = await world({ agents, clock, store: open() })
  await second.pass(10_000)
  expect(second.faults.every((fault) => fault instanceof DamagedRow)).toBe(true)
  expect(second.faults.length).toBeGreaterThan(0)
  expect(await second.events('session.claimed')).toEqual([])
  expect((await second.run('quick', 'y')).output).toBe('done')
  await second.node.stop()
  await second.store.close()
})
