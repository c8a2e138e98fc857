/** What a long run of the simulator keeps, and what it must not keep. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { takeDatabase } from '../../sim/kept-databases.ts'
import { Parts } from '../../sim/parts.ts'
import type { SeedResult } from '../../sim/totals.ts'

const makeResult = (seed: number): SeedResult => ({
  seed,
  failure: seed % 400 === 0 ? `R1: seed ${seed}` : null,
  digest: `digest ${seed}`,
  calls: 2,
  events: 3,
  simulatedMs: 10,
  rerunsMax: seed === 7 ? 4 : 1,
  outcomes: [['completed', 1]],
  counts: [['crash', 2]],
})

test('a run that was stopped goes on with the parts that are missing, and sums up all of them', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-parts-'))
  try {
    const begun = new Parts(1, 1200, directory)
    expect(begun.listMissing()).toHaveLength(1200)
    // The second part is not whole when the run is stopped.
    for (let seed = 1; seed <= 700; seed += 1) begun.add(makeResult(seed))
    expect(readdirSync(directory)).toEqual(['1-500.json'])

    const again = new Parts(1, 1200, directory)
    const missing = again.listMissing()
    expect([missing[0], missing.length]).toEqual([501, 700])
    for (const seed of missing) again.add(makeResult(seed))
    expect(new Parts(1, 1200, directory).listMissing()).toEqual([])

    const whole = new Parts(1, 1200, null)
    for (let seed = 1; seed <= 1200; seed += 1) whole.add(makeResult(seed))
    const [sum, expected] = [new Parts(1, 1200, directory).sum(), whole.sum()]
    expect(sum.save()).toEqual(expected.save())
    expect(sum.digest()).toBe(expected.digest())
    expect(sum.failures.map(({ seed }) => seed)).toEqual([400, 800, 1200])
    expect([sum.seeds, sum.calls, sum.events, sum.rerunsMax, sum.counts.get('crash')]).toEqual([
      1200, 2400, 3600, 4, 2400,
    ])
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('nothing of one plan is left in the database that the next one gets', () => {
  const db = takeDatabase('plain')
  const tables = db
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like 'keyword%' and name <> 'folded'`,
    )
    .all()
    .map((row) => String(row['name']))
  expect(tables).toEqual(expect.arrayContaining(['log', 'nodes', 'sessions', 'turns', 'segments']))
  db.exec('begin immediate')
  db.exec(
    `insert into log values (1, 1, '[]'); insert into nodes values ('node_a', 5); update folded set seq = 1`,
  )
  db.exec(
    `insert into segments values (1, 'a', 1, 1, 1, 1, 1, 1, 1); insert into waits values ('a', 'b', 'c', 1)`,
  )
  db.close()

  const next = takeDatabase('plain')
  expect(next).toBe(db)
  for (const table of tables)
    expect(next.prepare(`select count(*) as n from ${table}`).get()).toEqual({ n: 0 })
  expect(next.prepare('select seq from folded').get()).toEqual({ seq: null })
  expect(next.isTransaction).toBe(false)
  // Two at once are not the same.
  expect(takeDatabase('plain')).not.toBe(next)
})
