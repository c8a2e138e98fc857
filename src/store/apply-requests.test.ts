/** How a client's request ended is how that ended which it asked for, whenever the views are written. */
import { expect, onTestFinished, test } from 'vitest'
import {
  append,
  callEnded,
  created,
  ended,
  opened,
  refused,
  sent,
  started,
  testClock,
} from '../../test/kits/store.ts'
import type { Event, Outcome } from '../model/event.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

const client = [created('ses_client', 'external'), created('ses_coder')]
const asks = [sent('ses_client', 'turn_1'), started('ses_client', 'turn_1')]
const call = opened({ from: 'ses_client', in: 'turn_1', call: 'call_2', to: 'ses_coder', background: true })
const begun = started('ses_coder', 'turn_2')
const callOver = (outcome: Outcome): Event =>
  callEnded('ses_client', 'turn_1', 'call_2', 'ses_coder', outcome)
const over: Event = { ...ended('ses_client', 'turn_1') }

function memory(): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now: testClock().now })
  onTestFinished(() => store.close())
  return store
}

const look = (store: SqliteStore) => store.db.prepare('select ended, failed, unseen from requests').get()

const notYet = { ended: 1, failed: 0, unseen: 0 }

test.each([
  ['with its turn', [[callOver('failed'), ended('ses_coder', 'turn_2')]]],
  ['before its turn', [[callOver('timed_out')], [ended('ses_coder', 'turn_2')]]],
])('what a client left in the background fails for it, %s', async (_when, rows) => {
  for (const isLookedAt of [true, false]) {
    const store = memory()
    for (const events of [client, asks, [call], [begun], [over]]) await append(store, ...events)
    const between = isLookedAt ? look(store) : notYet
    expect(between).toEqual(notYet)
    for (const events of rows) await append(store, ...events)
    expect(look(store)).toEqual({ ended: 1, failed: 1, unseen: 1 })
    expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
    await append(store, { type: 'flow.seen', session: 'ses_client', turn: null, flow: 'flow_1' })
    expect(look(store)).toEqual({ ended: 1, failed: 1, unseen: 0 })
  }
})

test('a client that was refused has failed, and one that was cancelled has not, whatever it had called', async () => {
  const store = memory()
  for (const events of [client, asks, [refused('ses_client', 'turn_1', 'call_2')], [over]])
    await append(store, ...events)
  expect(look(store)).toEqual({ ended: 1, failed: 1, unseen: 1 })
  const other = memory()
  const cancelled: Event = { ...ended('ses_client', 'turn_1'), outcome: 'cancelled' }
  for (const events of [client, asks, [call], [begun], [cancelled]]) await append(other, ...events)
  expect(look(other)).toEqual({ ended: 1, failed: 0, unseen: 0 })
  await append(other, callOver('failed'))
  expect(look(other)).toEqual({ ended: 1, failed: 0, unseen: 0 })
})
