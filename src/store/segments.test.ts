/** A fork reads as if what it shares had been copied, whatever is asked of it. */
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntrySelect } from '../runtime/kernel/store-port.ts'
import { selectEntries } from './entries.ts'
import { indexEntries } from './keyword-index.ts'
import { prepareReads } from './reads.ts'
import { migrations } from './schema.ts'
import { listSegments } from './segments.ts'

type Said = { text: string; at: number; steps: boolean }

function fresh(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  for (const step of migrations) db.exec(step)
  return db
}

function makeSession(db: DatabaseSync, id: string, from: { session: string; entries: number } | null): void {
  db.prepare(
    `insert into sessions (id, agent, kind, cwd, title, created_at, fork_of, fork_n)
      values (?, 'a', 'persistent', '/', '', 0, ?, ?)`,
  ).run(id, from?.session ?? null, from?.entries ?? 0)
}

function say(db: DatabaseSync, session: string, said: readonly Said[], first: number): void {
  const insert = db.prepare(
    `insert into entries (session, n, role, at, text, tokens, sender, turn, has_steps)
      values (?, ?, ?, ?, ?, 1, null, ?, ?)`,
  )
  said.forEach(({ text, at, steps }, index) => {
    const n = first + index
    insert.run(
      session,
      n,
      n % 2 === 1 ? 'user' : 'assistant',
      at,
      text,
      `turn_${n}`,
      steps && n % 2 === 0 ? 1 : 0,
    )
    indexEntries(db, session, n)
  })
}

const words = ['alpha', 'beta', 'gamma', 'walrus', 'delta']
const said = (count: number, seed: number, at: number): Said[] =>
  Array.from({ length: count }, (_, index) => ({
    text: `message ${index} ${words[(index * 7 + seed) % 5] ?? ''} ${index % 97 === seed % 97 ? 'rareword' : ''}`,
    at: at + index,
    steps: (index + seed) % 3 === 0,
  }))

const selects: fc.Arbitrary<EntrySelect> = fc.record({
  filter: fc.record(
    {
      roles: fc.constantFrom(
        ['user' as const],
        ['assistant' as const],
        ['tool' as const],
        ['user' as const, 'assistant' as const],
      ),
      keywords: fc.constantFrom(['walrus'], ['rareword'], ['nowhere'], ['be'], ['alpha', 'rareword']),
      last_messages: fc.constantFrom(0, 3, 1000),
      max_age_seconds: fc.constantFrom(0.1, 0.5, 100),
    },
    { requiredKeys: [] },
  ),
  now: fc.constant(3000),
  tokensMax: fc.constantFrom(0, 5, 100_000),
})

test('whatever is selected from a fork of a fork is what would be selected from a copy', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 700 }),
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 0, max: 400 }),
      fc.integer({ min: 0, max: 60 }),
      fc.array(selects, { minLength: 5, maxLength: 5 }),
      async (first, cut, second, back, asks) => {
        const [shared, flat] = [fresh(), fresh()]
        const [one, two, three] = [said(first, 1, 1), said(second, 2, 1000), said(40, 3, 2000)]
        const [upToOne] = [Math.max(0, first - cut)]
        const upToTwo = Math.max(0, upToOne + second - back)
        makeSession(shared, 'ses_a', null)
        makeSession(shared, 'ses_b', { session: 'ses_a', entries: upToOne })
        makeSession(shared, 'ses_c', { session: 'ses_b', entries: upToTwo })
        say(shared, 'ses_a', one, 1)
        say(shared, 'ses_b', two, upToOne + 1)
        say(shared, 'ses_c', three, upToTwo + 1)
        makeSession(flat, 'ses_c', null)
        say(flat, 'ses_c', [...[...one.slice(0, upToOne), ...two].slice(0, upToTwo), ...three], 1)
        for (const ask of asks) {
          const [ours, theirs] = [selectEntries(shared, 'ses_c', ask), selectEntries(flat, 'ses_c', ask)]
          expect([ours.entries, ours.total]).toEqual([theirs.entries, theirs.total])
          const drops = (page: typeof ours): number =>
            Object.values(page.dropped).reduce((sum, count) => sum + count, 0)
          expect(drops(ours) + ours.entries.length).toBe(ours.total)
        }
        const numbers = Array.from({ length: 50 }, (_, index) => 1 + ((index * 37) % (upToTwo + 40)))
        expect(await prepareReads(shared).entriesByNumber('ses_c', numbers)).toEqual(
          await prepareReads(flat).entriesByNumber('ses_c', numbers),
        )
      },
    ),
    { numRuns: 20 },
  )
})

test('a session without a fork has one segment, an empty one none, and a fork of nothing its own', () => {
  const db = fresh()
  makeSession(db, 'ses_a', null)
  makeSession(db, 'ses_b', { session: 'ses_a', entries: 0 })
  expect(listSegments(db, 'ses_a', 4)).toEqual([{ session: 'ses_a', first: 1, last: 4 }])
  expect(listSegments(db, 'ses_a', 0)).toEqual([])
  expect(listSegments(db, 'ses_b', 2)).toEqual([{ session: 'ses_b', first: 1, last: 2 }])
  expect(listSegments(db, 'ses_unknown', 2)).toEqual([{ session: 'ses_unknown', first: 1, last: 2 }])
})

test('what a fork shares and nobody has indexed is read, also where what it said itself is found by the index', () => {
  const db = fresh()
  makeSession(db, 'ses_a', null)
  makeSession(db, 'ses_b', { session: 'ses_a', entries: 200 })
  const plain = (count: number): Said[] =>
    Array.from({ length: count }, (_, index) => ({ text: `nothing ${index}`, at: index, steps: false }))
  say(db, 'ses_a', plain(200).with(1, { text: 'the walrus', at: 1, steps: false }), 1)
  say(db, 'ses_b', plain(400), 201)
  const page = selectEntries(db, 'ses_b', { filter: { keywords: ['walrus'] }, now: 1000, tokensMax: 1000 })
  expect([page.entries.map(({ n }) => n), page.dropped['unsearched']]).toEqual([[2], 0])
})
