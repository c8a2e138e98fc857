/** The age of entries when the wall clock was set. */
import { expect, test } from 'vitest'
import { append, created, ended, said, sent, started, testClock } from '../../test/kits/store.ts'
import { sqliteStore } from './sqlite.ts'

test('max_age_seconds: after the wall clock was set back, what lies too far ahead does not count as new', async () => {
  const clock = testClock(100_000_000)
  const store = sqliteStore({ directory: ':memory:', now: clock.now })
  await append(store, created('ses_a'))
  const say = async (n: number): Promise<void> => {
    await append(store, sent('ses_a', `turn_${n}`), started('ses_a', `turn_${n}`))
    await append(store, {
      ...ended('ses_a', `turn_${n}`),
      entry: said(n, `asked ${n}`, `answered ${n}`, { startedAt: clock.now() }),
    })
  }
  await say(1)
  clock.set(clock.now() - 3_600_000)
  await say(3)
  const page = await store.entries('ses_a', {
    filter: { max_age_seconds: 60 },
    now: clock.now(),
    tokensMax: 1000,
  })
  expect([page.entries.map(({ text }) => text), page.dropped['age']]).toEqual([['asked 3', 'answered 3'], 2])
  clock.set(clock.now() - 1000)
  expect(
    (await store.entries('ses_a', { filter: { max_age_seconds: 60 }, now: clock.now(), tokensMax: 1000 }))
      .entries.length,
  ).toBe(2)
})
