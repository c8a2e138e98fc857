import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Role } from '../model/context.ts'
import type { EntryPage, EntrySelect } from '../runtime/kernel/store-port.ts'
import { selectEntries } from './entries.ts'
import {
  clearKeywordIndex,
  findEntries,
  indexEntries,
  indexedEntries,
  keywordSchema,
} from './keyword-index.ts'
import { migrations } from './schema.ts'

type Said = { text: string; tokens?: number; at?: number; steps?: boolean }

function fresh(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  for (const step of migrations) db.exec(step)
  if (!migrations.some((step) => step.includes('keyword_grams'))) db.exec(keywordSchema)
  return db
}

/** Appends as turns do: a question and an answer, then the index. */
function append(db: DatabaseSync, said: readonly Said[], session = 'ses_a'): void {
  const insert = db.prepare(
    'insert into entries (session, n, role, at, text, tokens, sender, turn, has_steps) values (?, ?, ?, ?, ?, ?, null, ?, ?)',
  )
  db.exec('begin')
  for (const [index, { text, tokens = 1, at = index + 1, steps = false }] of said.entries()) {
    insert.run(
      session,
      index + 1,
      index % 2 === 0 ? 'user' : 'assistant',
      at,
      text,
      tokens,
      `turn_${index >> 1}`,
      steps ? 1 : 0,
    )
    if (index % 2 === 1) indexEntries(db, session, index + 1)
  }
  db.exec('commit')
}

function historyOf(said: readonly Said[]): DatabaseSync {
  const db = fresh()
  append(db, said)
  return db
}

const select = (
  db: DatabaseSync,
  filter: EntrySelect['filter'],
  more: Partial<EntrySelect> = {},
): EntryPage => selectEntries(db, 'ses_a', { filter, now: 1000, tokensMax: 1_000_000, ...more })
const numbers = (page: EntryPage): number[] => page.entries.map(({ n }) => n)
const droppedOf = (page: EntryPage): Record<string, number> =>
  Object.fromEntries(Object.entries(page.dropped).filter(([, count]) => count > 0))
const many = (count: number, special: Record<number, string> = {}): Said[] =>
  Array.from({ length: count }, (_, index) => ({
    text: special[index + 1] ?? `message ${index + 1} about nothing much`,
  }))

/** The same rules without any shortcut: filters over everything, then the walk. */
function reference(
  said: readonly Said[],
  { filter, now, tokensMax }: EntrySelect,
): { passed: number[]; dropped: Record<string, number> } {
  const dropped: Record<string, number> = {}
  const drop = (reason: string, count = 1): void => void (dropped[reason] = (dropped[reason] ?? 0) + count)
  const passed: number[] = []
  let tokens = 0
  for (let n = said.length; n > 0; n -= 1) {
    const { text, tokens: own = 1, at = n, steps = false } = said[n - 1] as Said
    const spoken = filter.roles?.includes(n % 2 === 1 ? 'user' : 'assistant') ?? true
    const cost = spoken ? own : 4
    const end =
      passed.length >= (filter.last_messages ?? Infinity)
        ? 'last'
        : tokens >= tokensMax
          ? 'budget'
          : now - at > (filter.max_age_seconds ?? Infinity) * 1000
            ? 'age'
            : null
    if (end !== null) return { passed: passed.reverse(), dropped: (drop(end, n), dropped) }
    if (!spoken && !(steps && filter.roles?.includes('tool') === true)) drop('roles')
    else if (
      filter.keywords !== undefined &&
      !filter.keywords.some((keyword) => text.toLowerCase().includes(keyword.toLowerCase()))
    )
      drop('keywords')
    else if (tokens + cost > tokensMax)
      return { passed: passed.reverse(), dropped: (drop('budget', n), dropped) }
    else {
      tokens += cost
      passed.push(n)
    }
  }
  return { passed: passed.reverse(), dropped }
}

describe('what is selected', () => {
  const said: Said[] = [
    { text: 'Deploy it', at: 1000 },
    { text: 'deployed', at: 2000 },
    { text: 'and the tests?', at: 3000 },
    { text: 'deploy tests pass', at: 4000, steps: true },
    { text: 'deploy again', at: 5000 },
    { text: 'done', at: 6000, steps: true },
    { text: 'DEPLOY once more', at: 7000 },
    { text: 'deployed, again', at: 8000 },
  ]

  test('the filters apply in the order age, roles, keywords, last, budget, and each reason is counted', () => {
    const page = select(
      historyOf(said),
      { max_age_seconds: 6, roles: ['user'], keywords: ['deploy'] },
      { now: 9000 },
    )
    expect(numbers(page)).toEqual([5, 7])
    expect(droppedOf(page)).toEqual({ age: 2, roles: 3, keywords: 1 })
    expect(page.total).toBe(8)
  })

  test('the last messages are the last that passed the other filters, and everything older counts as dropped by it', () => {
    const page = select(historyOf(said), { roles: ['user'], keywords: ['deploy'], last_messages: 2 })
    expect(numbers(page)).toEqual([5, 7])
    expect(droppedOf(page)).toEqual({ roles: 2, last: 4 })
  })

  test('E2: the first that does not fit ends the selection, though an older one would fit', () => {
    const page = select(
      historyOf([
        { text: 'small', tokens: 1 },
        { text: 'large', tokens: 50 },
        { text: 'c', tokens: 5 },
        { text: 'd', tokens: 5 },
      ]),
      {},
      { tokensMax: 20 },
    )
    expect(numbers(page)).toEqual([3, 4])
    expect(droppedOf(page)).toEqual({ budget: 2 })
  })

  test('what fits exactly passes', () => {
    expect(
      numbers(
        select(
          historyOf([
            { text: 'a', tokens: 5 },
            { text: 'b', tokens: 5 },
            { text: 'c', tokens: 5 },
          ]),
          {},
          { tokensMax: 10 },
        ),
      ),
    ).toEqual([2, 3])
  })

  test.each([
    ['a budget', {}, { tokensMax: 0 }, 'budget'],
    ['a negative budget', {}, { tokensMax: -5 }, 'budget'],
    ['last messages', { last_messages: 0 }, {}, 'last'],
    ['an age', { max_age_seconds: 0 }, { now: 9000 }, 'age'],
    ['roles', { roles: [] }, {}, 'roles'],
    ['keywords', { keywords: [] }, {}, 'keywords'],
  ] as [string, EntrySelect['filter'], Partial<EntrySelect>, string][])(
    'E3: nothing of %s is nothing, never everything',
    (_, filter, more, reason) => {
      const page = select(historyOf(said), filter, more)
      expect(page.entries).toEqual([])
      expect(droppedOf(page)).toEqual({ [reason]: 8 })
    },
  )

  test('an age of zero still passes what was said this very millisecond', () => {
    expect(numbers(select(historyOf(said), { max_age_seconds: 0 }, { now: 8000 }))).toEqual([8])
  })

  test('the role system matches nothing', () => {
    expect(droppedOf(select(historyOf(said), { roles: ['system'] }))).toEqual({ roles: 8 })
  })

  test('with the role tool alone entries that have steps pass without their text', () => {
    const page = select(historyOf(said), { roles: ['tool'] })
    expect(page.entries.map(({ n, text, tokens, hasSteps }) => ({ n, text, tokens, hasSteps }))).toEqual([
      { n: 4, text: '', tokens: 0, hasSteps: true },
      { n: 6, text: '', tokens: 0, hasSteps: true },
    ])
    expect(droppedOf(page)).toEqual({ roles: 6 })
  })

  test('with the roles user and tool a question keeps its text and an answer with steps leaves it behind', () => {
    expect(
      select(historyOf(said), { roles: ['user', 'tool'], last_messages: 3 }).entries.map(({ n, text }) => [
        n,
        text,
      ]),
    ).toEqual([
      [5, 'deploy again'],
      [6, ''],
      [7, 'DEPLOY once more'],
    ])
  })

  test('entries that pass for their steps alone are not free, so that not all of a long history pass', () => {
    const page = select(
      historyOf(many(600).map((one, index) => ({ ...one, steps: index % 2 === 1 }))),
      { roles: ['tool'] },
      { tokensMax: 40 },
    )
    expect(page.entries).toHaveLength(10)
    expect(droppedOf(page)).toEqual({ roles: 9, budget: 581 })
  })

  test('an unknown session is empty', () => {
    expect(
      selectEntries(fresh(), 'ses_none', { filter: { keywords: ['a'] }, now: 0, tokensMax: 10 }),
    ).toMatchObject({ entries: [], total: 0 })
  })
})

describe('keywords in a long history', () => {
  test('K1: a keyword in one old message is found, whole, in part and as a phrase, and the rest is counted', () => {
    const db = historyOf(many(5000, { 41: 'The Xylophone, quite alone' }))
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
      expect(droppedOf(page)).toEqual({ keywords: 4999 })
    }
  })

  test('a keyword that is nowhere finds nothing, though all its parts are everywhere', () => {
    const page = select(historyOf(many(2000)), {
      keywords: ['about nothing about', 'essage nothing', 'xylophone'],
    })
    expect(page.entries).toEqual([])
    expect(droppedOf(page)).toEqual({ keywords: 2000 })
  })

  test('K1: each role is searched alone, and steps belong to answers', () => {
    const said = many(1000, { 41: 'xylophone asked', 42: 'xylophone answered' })
    const db = historyOf(said.map((one, index) => ({ ...one, steps: index === 41 })))
    const found = (roles: Role[]): number[] => numbers(select(db, { keywords: ['xylophone'], roles }))
    expect([found(['user']), found(['assistant']), found(['tool']), found(['user', 'assistant'])]).toEqual([
      [41],
      [42],
      [42],
      [41, 42],
    ])
  })

  test('conversations do not see each other', () => {
    const db = historyOf(many(600, { 5: 'xylophone' }))
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
    const db = historyOf(
      many(1000, { 41: 'xylophone', 500: 'xylophone' }).map((one, index) => ({
        ...one,
        at: (index + 1) * 1000,
      })),
    )
    const page = select(db, { keywords: ['xylophone'], max_age_seconds: 600 }, { now: 1_000_000 })
    expect(numbers(page)).toEqual([500])
    expect(droppedOf(page)).toEqual({ age: 399, keywords: 600 })
  })

  test('a keyword too short for the index is looked for in the newest two thousand, and the rest is said to be unsearched', () => {
    const db = historyOf(many(5000, { 41: 'qz', 4000: 'Qz' }))
    const page = select(db, { keywords: ['qz'] })
    expect(numbers(page)).toEqual([4000])
    expect(page.dropped['unsearched']).toBe(5000 - 2016)
    expect(page.entries.length + Object.values(page.dropped).reduce((sum, count) => sum + count, 0)).toBe(
      5000,
    )
  })

  test('a short keyword beside a long one does not hide what the index knows', () => {
    const page = select(historyOf(many(5000, { 41: 'xylophone' })), { keywords: ['qz', 'xylophone'] })
    expect(numbers(page)).toEqual([41])
    expect(droppedOf(page)).toEqual({ keywords: 2000, unsearched: 2999 })
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
    expect(numbers(select(historyOf(many(600, { 77: text })), { keywords: [keyword] }))).toEqual([77])
  })

  test('hundreds of keywords are one search', () => {
    const keywords = Array.from({ length: 400 }, (_, index) => `absent${index}`)
    expect(numbers(select(historyOf(many(600, { 9: 'absent399' })), { keywords }))).toEqual([9])
  })

  test('K2: a keyword of one old message makes the index name that one alone', () => {
    const db = historyOf(many(3000, { 41: 'xylophone' }))
    expect([...findEntries(db, 'ses_a', 3001, ['xylophone'], ['user', 'assistant'])]).toEqual([41])
    expect([...findEntries(db, 'ses_a', 41, ['xylophone'], ['user', 'assistant'])]).toEqual([])
  })

  test('K3: emptied and appended again it is the same index', () => {
    const db = historyOf(many(900, { 41: 'xylophone' }))
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
    const db = historyOf(many(256, { 3: 'xylophone' }))
    expect(db.prepare('select * from keyword_sessions').all()).toEqual([])
    db.exec('drop table keyword_sessions')
    expect(numbers(select(db, { keywords: ['xylophone'] }))).toEqual([3])
  })
})

const word = fc.constantFrom('red', 'Green', 'blue', 'deploy', 'DEPLOYED', 'a', 'İx', '🚀', 'redgreen', '->')
const saidEntry = fc.record({
  text: fc.array(word, { maxLength: 4 }).map((words) => words.join(' ')),
  tokens: fc.nat(9),
  gap: fc.nat(3),
  steps: fc.boolean(),
})
const filterOf = fc.record(
  {
    last_messages: fc.nat(12),
    max_age_seconds: fc.nat(40).map((tenths) => tenths / 10),
    roles: fc.uniqueArray(fc.constantFrom<Role>('user', 'assistant', 'tool', 'system')),
    keywords: fc.array(
      fc.constantFrom('red', 'green', 'deploy', 'ed', 'blue dep', 'redgreen', 'i̇x', '🚀', 'absent', '->'),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
)

function aged(entries: readonly { text: string; tokens: number; gap: number; steps: boolean }[]): Said[] {
  let at = 0
  return entries.map(({ text, tokens, gap, steps }, index) => ({
    text,
    tokens,
    at: (at += gap * 100),
    steps: steps && index % 2 === 1,
  }))
}

describe('against the rules without shortcuts', () => {
  test('E1, E2: random histories give the same entries and the same counts', () => {
    fc.assert(
      fc.property(
        fc.array(saidEntry, { maxLength: 60 }),
        filterOf,
        fc.nat(60),
        (entries, filter, tokensMax) => {
          const said = aged(entries)
          const request: EntrySelect = { filter, now: (said.at(-1)?.at ?? 0) + 100, tokensMax }
          const page = selectEntries(historyOf(said), 'ses_a', request)
          const expected = reference(said, request)
          expect(numbers(page)).toEqual(expected.passed)
          // Where a list lets nothing pass nothing is read, so that all count under it.
          const isRead =
            filter.keywords?.length !== 0 && filter.roles?.some((role) => role !== 'system') !== false
          expect(isRead ? droppedOf(page) : null).toEqual(isRead ? expected.dropped : null)
          expect(
            page.entries.length + Object.values(page.dropped).reduce((sum, count) => sum + count, 0),
          ).toBe(said.length)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('K1: random searches of an indexed history find what reading everything finds', () => {
    const said = aged(fc.sample(saidEntry, { numRuns: 1500, seed: 7 }))
    const db = historyOf(said)
    fc.assert(
      fc.property(filterOf, fc.nat(3000), (filter, tokensMax) => {
        const request: EntrySelect = { filter, now: said.at(-1)?.at ?? 0, tokensMax }
        const page = selectEntries(db, 'ses_a', request)
        expect(numbers(page)).toEqual(reference(said, request).passed)
        expect(page.entries.length + Object.values(page.dropped).reduce((sum, count) => sum + count, 0)).toBe(
          said.length,
        )
      }),
      { numRuns: 300 },
    )
  })
})

test('no statement reads a whole table, and steps are found through their own index', () => {
  const db = fresh()
  const texts: string[] = []
  const prepare = db.prepare.bind(db)
  db.prepare = (sql) => (texts.push(sql), prepare(sql))
  append(db, many(300))
  select(db, { keywords: ['xylophone'] })
  const plans = texts.flatMap((sql) =>
    prepare(`explain query plan ${sql}`)
      .all()
      .map((row) => row['detail'] as string),
  )
  expect(plans.filter((detail) => detail.startsWith('SCAN') && !detail.includes('VIRTUAL TABLE'))).toEqual([])
  expect(plans.filter((detail) => detail.includes('TEMP B-TREE'))).toEqual([])
  expect(plans.some((detail) => detail.includes('entries_steps (session=? AND n<?)'))).toBe(true)
})
