import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Role } from '../model/context.ts'
import type { EntrySelect } from '../runtime/kernel/store-port.ts'
import { selectEntries } from './entries.ts'
import {
  append,
  countDropped,
  fresh,
  makeHistory,
  many,
  numbers,
  select,
  type Said,
} from '../../test/kits/entries.ts'

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
    makeHistory(said),
    { max_age_seconds: 6, roles: ['user'], keywords: ['deploy'] },
    { now: 9000 },
  )
  expect(numbers(page)).toEqual([5, 7])
  expect(countDropped(page)).toEqual({ age: 2, roles: 3, keywords: 1 })
  expect(page.total).toBe(8)
})

test('the last messages are the last that passed the other filters; all older ones count as dropped', () => {
  const page = select(makeHistory(said), { roles: ['user'], keywords: ['deploy'], last_messages: 2 })
  expect(numbers(page)).toEqual([5, 7])
  expect(countDropped(page)).toEqual({ roles: 2, last: 4 })
})

test('E2: the first that does not fit ends the selection, though an older one would fit', () => {
  const page = select(
    makeHistory([
      { text: 'small', tokens: 1 },
      { text: 'large', tokens: 50 },
      { text: 'c', tokens: 5 },
      { text: 'd', tokens: 5 },
    ]),
    {},
    { tokensMax: 20 },
  )
  expect(numbers(page)).toEqual([3, 4])
  expect(countDropped(page)).toEqual({ budget: 2 })
})

test('what fits exactly passes', () => {
  expect(
    numbers(
      select(
        makeHistory([
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
    const page = select(makeHistory(said), filter, more)
    expect(page.entries).toEqual([])
    expect(countDropped(page)).toEqual({ [reason]: 8 })
  },
)

test('an age of zero still passes what was said this very millisecond', () => {
  expect(numbers(select(makeHistory(said), { max_age_seconds: 0 }, { now: 8000 }))).toEqual([8])
})

test('the role system matches nothing', () => {
  expect(countDropped(select(makeHistory(said), { roles: ['system'] }))).toEqual({ roles: 8 })
})

test('with the role tool alone entries that have steps pass without their text', () => {
  const page = select(makeHistory(said), { roles: ['tool'] })
  expect(page.entries.map(({ n, text, tokens, hasSteps }) => ({ n, text, tokens, hasSteps }))).toEqual([
    { n: 4, text: '', tokens: 0, hasSteps: true },
    { n: 6, text: '', tokens: 0, hasSteps: true },
  ])
  expect(countDropped(page)).toEqual({ roles: 6 })
})

test('with the roles user and tool a question keeps its text and an answer with steps leaves it behind', () => {
  expect(
    select(makeHistory(said), { roles: ['user', 'tool'], last_messages: 3 }).entries.map(({ n, text }) => [
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
    makeHistory(many(600).map((one, index) => ({ ...one, steps: index % 2 === 1 }))),
    { roles: ['tool'] },
    { tokensMax: 40 },
  )
  expect(page.entries).toHaveLength(10)
  expect(countDropped(page)).toEqual({ roles: 9, budget: 581 })
})

test('an unknown session is empty', () => {
  expect(
    selectEntries(fresh(), 'ses_none', { filter: { keywords: ['a'] }, now: 0, tokensMax: 10 }),
  ).toMatchObject({ entries: [], total: 0 })
})

const word = fc.constantFrom('red', 'Green', 'blue', 'deploy', 'DEPLOYED', 'a', 'İx', '🚀', 'redgreen', '->')
const saidEntry = fc.record({
  text: fc.array(word, { maxLength: 4 }).map((words) => words.join(' ')),
  tokens: fc.nat(9),
  gap: fc.nat(3),
  steps: fc.boolean(),
})
const anyFilter = fc.record(
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
        anyFilter,
        fc.nat(60),
        (entries, filter, tokensMax) => {
          const said = aged(entries)
          const request: EntrySelect = { filter, now: (said.at(-1)?.at ?? 0) + 100, tokensMax }
          const page = selectEntries(makeHistory(said), 'ses_a', request)
          const expected = reference(said, request)
          expect(numbers(page)).toEqual(expected.passed)
          // Where a list lets nothing pass nothing is read, so that all count under it.
          const isRead =
            filter.keywords?.length !== 0 && filter.roles?.some((role) => role !== 'system') !== false
          expect(isRead ? countDropped(page) : null).toEqual(isRead ? expected.dropped : null)
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
    const db = makeHistory(said)
    fc.assert(
      fc.property(anyFilter, fc.nat(3000), (filter, tokensMax) => {
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
