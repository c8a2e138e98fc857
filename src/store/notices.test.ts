/** What a session was told and no turn was given: the newest are kept, and an opening takes them away. */
import { expect, test } from 'vitest'
import { append, created, sent } from '../../test/kits/store.ts'
import { noticePointsMax, noticesKeptMax, noticesShownMax } from '../model/limits.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore } from './sqlite.ts'

test('R11: only the newest are kept, cut, and one turn is given only so many; what it was given is gone', async () => {
  const store = sqliteStore({ directory: ':memory:', now: () => 0 })
  await append(store, created('ses_a'), created('ses_b'))
  for (let n = 0; n < noticesKeptMax + 20; n += 1)
    await append(store, {
      type: 'notice.raised',
      session: 'ses_a',
      turn: null,
      about: `ses_${n}`,
      text: `${n} ${'\u{1f600}'.repeat(noticePointsMax)}`,
    })
  await append(store, { type: 'notice.raised', session: 'ses_b', turn: null, about: 'x', text: 'another' })
  expect(await store.lists.notices('ses_a', 1000)).toHaveLength(noticesKeptMax)
  const told = await store.transact(['session:ses_a'], async (tx) => tx.notices('ses_a'))
  expect(told?.texts.map(({ about }) => about)).toEqual(
    Array.from({ length: noticesShownMax }, (_, n) => `ses_${noticesKeptMax + 20 - noticesShownMax + n}`),
  )
  expect(Array.from(told?.texts[0]?.text ?? '')).toHaveLength(noticePointsMax)
  await append(store, { ...sent('ses_a', 'turn_a'), ...(told === null ? {} : { notices: told }) })
  expect([await store.lists.notices('ses_a', 10), (await store.lists.notices('ses_b', 10)).length]).toEqual([
    [],
    1,
  ])
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('R11: what turns were given is listed too, but not from any distance; what none was given always is', async () => {
  const store = sqliteStore({ directory: ':memory:', now: () => 0 })
  await append(store, created('ses_a'))
  const raise = (about: string) =>
    append(store, { type: 'notice.raised', session: 'ses_a', turn: null, about, text: 'x'.repeat(3000) })
  const list = async (limit = 100) =>
    (await store.lists.raisedNotices('ses_a', limit)).map(({ seq, about, text }) => [seq, about, text.length])
  let turns = 0
  const talk = (count: number) =>
    Promise.all(Array.from({ length: count }, () => append(store, sent('ses_a', `turn_${(turns += 1)}`))))
  await raise('given')
  const told = await store.transact(['session:ses_a'], async (tx) => tx.notices('ses_a'))
  await append(store, { ...sent('ses_a', 'turn_told'), ...(told === null ? {} : { notices: told }) })
  await talk(1990)
  await raise('waiting')
  expect(await list()).toEqual([
    [2, 'given', 3000],
    [1994, 'waiting', 3000],
  ])
  expect(await list(1)).toEqual([[1994, 'waiting', 3000]])
  await talk(2100)
  expect(await list()).toEqual([[1994, 'waiting', 3000]])
})

test('of notices that were raised together the newest are listed', async () => {
  const store = sqliteStore({ directory: ':memory:', now: () => 0 })
  await append(store, created('ses_a'))
  const raised = ['one', 'two', 'three'].map(
    (about) => ({ type: 'notice.raised', session: 'ses_a', turn: null, about, text: about }) as const,
  )
  await append(store, ...raised)
  const told = await store.transact(['session:ses_a'], async (tx) => tx.notices('ses_a'))
  await append(store, { ...sent('ses_a', 'turn_told'), ...(told === null ? {} : { notices: told }) })
  expect((await store.lists.raisedNotices('ses_a', 2)).map(({ about }) => about)).toEqual(['two', 'three'])
})
