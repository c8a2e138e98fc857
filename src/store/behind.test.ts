/** Views that are behind the log: what is read then, and what becomes of it where a group fails. */
import { expect, onTestFinished, test } from 'vitest'
import { append, created, ended, keysOf, said, sent, started, testClock } from '../../test/kits/store.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'
import { foldedUpTo } from './tail.ts'

function memory(): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  onTestFinished(() => store.close())
  return store
}

/** A turn that memory has all of, so that the views follow later. */
const begun = [sent('ses_a', 'turn_1', { flow: 'flow_1' }), started('ses_a', 'turn_1')] as const

test('a fact that memory does not have is read from views that have everything', async () => {
  const store = memory()
  await append(store, created('ses_a'))
  await append(store, ...begun)
  await append(store, ended('ses_a', 'turn_1', 7, said(1, 'q', 'a')))
  expect(foldedUpTo(store.logDb)).not.toBeNull()
  const read = await store.transact(keysOf('ses_a'), async (tx) => [
    await tx.turn('turn_1'),
    await tx.session('ses_a'),
  ])
  expect(read).toMatchObject([
    { turn: { id: 'turn_1', state: 'ended', tokensUsed: 7 } },
    { session: { id: 'ses_a', entries: 2 }, running: null },
  ])
})

test('how far the views are stands in the log, until they have everything', async () => {
  const store = memory()
  await append(store, created('ses_a'))
  const before = foldedUpTo(store.logDb)
  await append(store, ...begun)
  expect([before, foldedUpTo(store.logDb)]).toEqual([0, 0])
  expect(store.db.prepare('select state from turns').all()).toEqual([{ state: 'running' }])
  expect(foldedUpTo(store.logDb)).toBeNull()
  await append(store, ended('ses_a', 'turn_1'))
  expect(foldedUpTo(store.logDb)).toBe(3)
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('a turn that was told to stop, and ends, needs no view before its end is committed', async () => {
  const store = memory()
  await append(store, created('ses_a'))
  await append(store, ...begun)
  const stop = {
    type: 'turn.cancelled',
    session: 'ses_a',
    turn: 'turn_1',
    outcome: 'cancelled',
    cause: 'x',
  } as const
  const below = await store.transact(keysOf('ses_a'), async (tx) => {
    tx.append(stop)
    return tx.below('turn_1')
  })
  expect([below, (await store.turn('turn_1'))?.stopping]).toEqual([[], 'cancelled'])
  await append(store, ended('ses_a', 'turn_1'))
  expect(foldedUpTo(store.logDb)).toBe(0)
  expect(store.db.prepare('select state, stopping from turns').all()).toEqual([
    { state: 'ended', stopping: 'cancelled' },
  ])
  expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
})

test('what a group had decided that failed is in nobody’s memory', async () => {
  const store = memory()
  await append(store, created('ses_a'))
  const { page_count: pages } = store.db.prepare('pragma page_count').get() as { page_count: number }
  store.db.exec(`pragma max_page_count = ${pages + 2}`)
  const large = sent('ses_a', 'turn_2', { flow: 'flow_2', text: 'x'.repeat(2_000_000) })
  for (const work of await Promise.allSettled([
    append(store, created('ses_b'), sent('ses_b', 'turn_1', { flow: 'flow_1' })),
    append(store, large),
  ]))
    expect(work).toMatchObject({ status: 'rejected' })
  expect([await store.turn('turn_1'), await store.session('ses_b')]).toEqual([null, null])
  expect([await store.turn('turn_2'), (await store.session('ses_a'))?.id]).toEqual([null, 'ses_a'])
})
