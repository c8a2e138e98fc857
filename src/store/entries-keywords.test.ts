import { expect, test } from 'vitest'
import type { Role } from '../model/context.ts'
import { selectEntries } from './entries.ts'
import { clearKeywordIndex, findEntries, indexedEntries } from './keyword-index.ts'
import { append, countDropped, makeHistory, many, numbers, select } from '../../test/kits/entries.ts'

test('K1: a keyword in one old message is found, whole, in part and as a phrase, and the rest is counted', () => {
  const db = makeHistory(many(5000, { 41: 'The Xylophone, quite alone' }))
  expect(indexedEntries(db, 'ses_a', 5000)).toBeGreaterThan(4950)
  for (const keyword of [
    'xylophone',
    'YLOPHO',
    'xyl',
    'xylo',
    'phone, quite',
    'the xylophone, quite alone',
    'e alone',
  ]) {
    const page = select(db, { keywords: ['nowhere at all', keyword] })
    expect(numbers(page)).toEqual([41])
    expect(countDropped(page)).toEqual({ keywords: 4999 })
  }
})

test('a keyword that is nowhere finds nothing, though all its parts are everywhere', () => {
  const page = select(makeHistory(many(2000)), {
    keywords: ['about nothing about', 'essage nothing', 'xylophone'],
  })
  expect(page.entries).toEqual([])
  expect(countDropped(page)).toEqual({ keywords: 2000 })
})

test('K1: each role is searched alone, and steps belong to answers', () => {
  const said = many(1000, { 41: 'xylophone asked', 42: 'xylophone answered' })
  const db = makeHistory(said.map((one, index) => ({ ...one, steps: index === 41 })))
  const found = (roles: Role[]): number[] => numbers(select(db, { keywords: ['xylophone'], roles }))
  expect([found(['user']), found(['assistant']), found(['tool']), found(['user', 'assistant'])]).toEqual([
    [41],
    [42],
    [42],
    [41, 42],
  ])
})

test('conversations do not see each other', () => {
  const db = makeHistory(many(600, { 5: 'xylophone' }))
  append(db, many(600, { 7: 'zeppelin' }), 'ses_b')
  expect(numbers(select(db, { keywords: ['zeppelin'] }))).toEqual([])
  expect(
    numbers(
      selectEntries(db, 'ses_b', {
        filter: { keywords: ['zeppelin', 'xylophone'] },
        now: 0,
        tokensMax: 10,
      }),
    ),
  ).toEqual([7])
})

test('an age bounds the search, and what is older counts as too old', () => {
  const db = makeHistory(
    many(1000, { 41: 'xylophone', 500: 'xylophone' }).map((one, index) => ({
      ...one,
      at: (index + 1) * 1000,
    })),
  )
  const page = select(db, { keywords: ['xylophone'], max_age_seconds: 600 }, { now: 1_000_000 })
  expect(numbers(page)).toEqual([500])
  expect(countDropped(page)).toEqual({ age: 399, keywords: 600 })
})

test('a keyword too short for the index is searched in the newest two thousand; the rest is unsearched', () => {
  const db = makeHistory(many(5000, { 41: 'qz', 4000: 'Qz' }))
  const page = select(db, { keywords: ['qz'] })
  expect(numbers(page)).toEqual([4000])
  expect(page.dropped['unsearched']).toBe(5000 - 2016)
  expect(page.entries.length + Object.values(page.dropped).reduce((sum, count) => sum + count, 0)).toBe(5000)
})

test('a short keyword beside a long one does not hide what the index knows', () => {
  const page = select(makeHistory(many(5000, { 41: 'xylophone' })), { keywords: ['qz', 'xylophone'] })
  expect(numbers(page)).toEqual([41])
  expect(countDropped(page)).toEqual({ keywords: 2000, unsearched: 2999 })
})

test.each([
  ['a letter whose lower case is longer', 'der İSTANBUL plan', 'İstanbul'],
  ['the lower case of it', 'der İSTANBUL plan', 'i̇stanbul'],
  ['Chinese', '部署失败,请检查日志', '请检查'],
  ['a sigma at the end', 'ΟΔΟΣ', 'οδος'],
  ['emoji', 'ship it 🚀🚀 now', '🚀🚀'],
  ['an emoji in a word', 'foo🚀bar', 'o🚀b'],
  ['a long one with emoji', 'a🚀b🚀c🚀d🚀e🚀f🚀g', '🚀b🚀c🚀d🚀e🚀'],
  ['signs', 'a ->> b && "c"', '->> B && "c"'],
  ['a line break', 'one\ntwo\tthree', 'one\ntwo\tthree'],
  ['a zero', 'a\0bcd', 'a\0bc'],
  ['underscores and blanks', 'snake_case name', 'SNAKE_CASE N'],
  ['a long text', `${'lorem ipsum '.repeat(3000)}xylophone`, 'xylophone'],
  ['a keyword longer than the index takes', 'abcdefghij '.repeat(40), 'abcdefghij '.repeat(30)],
])('K1: %s is found in an old message', (_, text, keyword) => {
  expect(numbers(select(makeHistory(many(600, { 77: text })), { keywords: [keyword] }))).toEqual([77])
})

test('hundreds of keywords are one search', () => {
  const keywords = Array.from({ length: 400 }, (_, index) => `absent${index}`)
  expect(numbers(select(makeHistory(many(600, { 9: 'absent399' })), { keywords }))).toEqual([9])
})

test('K2: a keyword of one old message makes the index name that one alone', () => {
  const db = makeHistory(many(3000, { 41: 'xylophone' }))
  expect([...findEntries(db, 'ses_a', 3001, ['xylophone'], ['user', 'assistant'])]).toEqual([41])
  expect([...findEntries(db, 'ses_a', 41, ['xylophone'], ['user', 'assistant'])]).toEqual([])
})

test('K3: emptied and appended again it is the same index', () => {
  const db = makeHistory(many(900, { 41: 'xylophone' }))
  const dump = (): unknown[] => [
    db.prepare('select * from keyword_sessions').all(),
    db.prepare('select id, hex(block) from keyword_grams_data where id > 10').all(),
    db.prepare('select * from keyword_grams_config').all(),
  ]
  const before = dump()
  db.exec('delete from entries')
  clearKeywordIndex(db)
  expect([...findEntries(db, 'ses_a', 901, ['xylophone'], ['user'])]).toEqual([])
  append(db, many(900, { 41: 'xylophone' }))
  expect(dump()).toEqual(before)
})

test('a short conversation has no index and needs no tables of one', () => {
  const db = makeHistory(many(256, { 3: 'xylophone' }))
  expect(db.prepare('select * from keyword_sessions').all()).toEqual([])
  db.exec('drop table keyword_sessions')
  expect(numbers(select(db, { keywords: ['xylophone'] }))).toEqual([3])
})
