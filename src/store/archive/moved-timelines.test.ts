import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { migrations } from '../schema.ts'
import { movedInLineMax, stripTimelines } from './moved-schema.ts'
import { listNewest, listNumbers, listTimeline, moveTimeline } from './moved-timelines.ts'

function filled(seqs: readonly number[]): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  for (const step of migrations) db.exec(step)
  db.exec(
    `insert into sessions (id, agent, kind, cwd, title, created_at) values ('ses_a', 'a', 'persistent', '/', '', 0)`,
  )
  const [timeline, log] = [
    'log_sessions (session, seq) values (?, ?)',
    'log (at, events, seq) values (7, ?, ?)',
  ].map((into) => db.prepare(`insert into ${into}`))
  for (const seq of seqs) {
    timeline?.run('ses_a', seq)
    log?.run('[]', seq)
  }
  return db
}

function letGo(db: DatabaseSync, seqs: readonly number[]): void {
  for (const seq of seqs) db.prepare('delete from log where seq = ?').run(seq)
}

const state = (db: DatabaseSync): unknown => [
  db.prepare('select moved from sessions').get(),
  db.prepare('select seq from log_sessions order by seq').all(),
]

test('a timeline reads as before, whichever rows were moved, and a rebuild puts the same into its line', () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 3000 }), { maxLength: 2 * movedInLineMax + 40 })
  const parts = fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 5 }))
  fc.assert(
    fc.property(
      numbers,
      parts,
      fc.nat(3000),
      fc.integer({ min: 1, max: 700 }),
      (given, [first, of], after, count) => {
        const seqs = given.toSorted((a, b) => a - b)
        const db = filled(seqs)
        const moved: number[] = []
        // In two moves, and some of them stay.
        for (const portion of [first, first + 1]) {
          const goes = given.filter(
            (_seq, index) => index % (of + 1) === portion % (of + 1) && !moved.includes(_seq),
          )
          letGo(db, goes)
          moveTimeline(db, 'ses_a', goes)
          moved.push(...goes)
        }
        const wanted = seqs.filter((seq) => seq > after).slice(0, count)
        expect(listNumbers(db, 'ses_a', after, count)).toEqual(wanted)
        expect(listNewest(db, 'ses_a', count)).toEqual(seqs.toReversed().slice(0, count))
        expect([...listTimeline(db, 'ses_a', after, count)]).toEqual(
          wanted.map((seq) =>
            moved.includes(seq) ? { seq, at: null, events: null } : { seq, at: 7, events: '[]' },
          ),
        )
        const rebuilt = filled(seqs)
        letGo(rebuilt, moved)
        rebuilt.exec(stripTimelines('log'))
        expect(state(rebuilt)).toEqual(state(db))
        for (const one of [db, rebuilt]) one.close()
      },
    ),
    { numRuns: 60 },
  )
})

test('R11: a session with many rows that were moved has none of their numbers in its line', () => {
  const seqs = Array.from({ length: movedInLineMax + 1 }, (_, index) => 3 * index + 1)
  const db = filled(seqs)
  const lengthOf = () => db.prepare('select length(moved) as n from sessions').get()
  letGo(db, seqs.slice(0, -1))
  moveTimeline(db, 'ses_a', seqs.slice(0, -1))
  expect(db.prepare('select count(*) as n from log_sessions').get()).toEqual({ n: 1 })
  expect(lengthOf()).toEqual({ n: 2 * movedInLineMax - 1 })
  letGo(db, seqs.slice(-1))
  moveTimeline(db, 'ses_a', seqs.slice(-1))
  expect(lengthOf()).toEqual({ n: 0 })
  expect(db.prepare('select count(*) as n from log_sessions').get()).toEqual({ n: movedInLineMax + 1 })
  expect(listNumbers(db, 'ses_a', 0)).toEqual(seqs)
})

test('a page that is full with moved rows has none of those after them', () => {
  const db = filled([1, 2, 3])
  letGo(db, [1, 2])
  moveTimeline(db, 'ses_a', [1, 2])
  expect([...listTimeline(db, 'ses_a', 0, 2)].map(({ seq }) => seq)).toEqual([1, 2])
})
