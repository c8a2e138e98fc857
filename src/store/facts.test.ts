/** Facts that only some acts ask for, and pages of the log. */
import { expect, onTestFinished, test } from 'vitest'
import { append, created, flow, grantOf, running, sent, started } from '../../test/kits/store.ts'
import type { SessionId, TurnId } from '../model/id.ts'
import { sqliteStore, type SqliteStore } from './sqlite.ts'

function memory(): SqliteStore {
  const store = sqliteStore({ directory: ':memory:', now: () => 1000 })
  onTestFinished(() => store.close())
  return store
}

test('R11: sessions that were spawned count for their flow, as those do that calls made', async () => {
  const store = memory()
  await append(store, ...running('a'))
  const read = () =>
    store.transact([], async (tx) => tx.open({ call: 'call_x', callerTurn: 'turn_a', target: null }))
  expect((await read())?.descendants).toBe(0)
  await append(store, { ...created('ses_b'), flow }, { ...created('ses_c'), flow: 'flow_other' })
  expect((await read())?.descendants).toBe(1)
})

test('whoever made a session, and those above it on the path of its turn, are no strangers to it', async () => {
  const store = memory()
  await append(store, created('ses_maker'), created('ses_above'), created('ses_stranger'))
  await append(store, { ...created('ses_b'), parent: 'ses_maker' })
  const hop = (session: SessionId) => ({ session, agent: session.slice(4) })
  const grant = grantOf('b', { path: [hop('ses_above'), hop('ses_b')] })
  await append(store, sent('ses_b', 'turn_b', { grant }), started('ses_b', 'turn_b'))
  const isCallback = async (senderTurn: TurnId | null, target: SessionId) =>
    (await store.transact([], async (tx) => tx.send({ senderTurn, flow, target }))).callback
  expect(await isCallback('turn_b', 'ses_maker')).toBe(true)
  expect(await isCallback('turn_b', 'ses_above')).toBe(true)
  expect(await isCallback('turn_b', 'ses_stranger')).toBe(false)
  expect(await isCallback('turn_b', 'ses_b')).toBe(false)
  expect(await isCallback(null, 'ses_maker')).toBe(false)
})

test('a page of the log that is full says that there may be more, and where it goes on', async () => {
  const store = memory()
  for (const session of ['ses_a', 'ses_b', 'ses_c'] as const) await append(store, created(session))
  const page = async (from: number, limit: number) => {
    const { events, more, next } = await store.read(from, {}, limit)
    return [events.map(({ seq }) => seq), more, next]
  }
  expect(await page(0, 2)).toEqual([[1, 2], true, 2])
  expect(await page(2, 2)).toEqual([[3], false, 3])
})
