/**
 * The part of the Store contract that is about what turns wait for: the path of waits, the pending calls below
 * a turn, and the tokens that they hold.
 */
import type { Store } from '../runtime/kernel/store-port.ts'
import { expect, test } from 'vitest'
import type { SessionId, TurnId } from '../model/id.ts'
import {
  append,
  callEnded,
  cancelled,
  created,
  ended,
  opened,
  rested,
  running,
  sent,
  started,
  stepped,
  waited,
} from '../../test/kits/store.ts'
import type { Fresh } from './store-contract.ts'
import { called, openFacts } from './store-facts-contract.ts'

export function belowContract(fresh: Fresh): void {
  waiting(fresh)
  below(fresh)
  tokens(fresh)
  returnedTokens(fresh)
}

function waiting(fresh: Fresh): void {
  const path = async (store: Store, from: TurnId, target: SessionId): Promise<string[] | null> =>
    (await openFacts(store, 'call_x', from, target))?.target?.waitPath?.map((hop) => hop.session) ?? null

  test('R5: the wait path leads over calls and waits of several roots back to the caller', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b', 'c', 'd']) await append(store, ...running(name))
    await append(
      store,
      opened({ from: 'ses_b', in: 'turn_b', call: 'call_c2', to: 'ses_c' }),
      waited('ses_c', 'turn_c', 'ses_d'),
    )
    await append(store, opened({ from: 'ses_d', in: 'turn_d', call: 'call_a2', to: 'ses_a' }))
    expect(await path(store, 'turn_a', 'ses_b')).toEqual(['ses_b', 'ses_c', 'ses_d', 'ses_a'])
    expect(await path(store, 'turn_a', 'ses_d')).toEqual(['ses_d', 'ses_a'])
    expect(await path(store, 'turn_b', 'ses_c')).toBeNull()
    expect(await path(store, 'turn_a', 'ses_a')).toEqual(['ses_a'])
  })

  test('R5: the wait path is gone when the call or the wait has ended, or the waiting turn', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b']) await append(store, ...running(name))
    await append(store, opened({ from: 'ses_b', in: 'turn_b', call: 'call_a2', to: 'ses_a' }))
    expect(await path(store, 'turn_a', 'ses_b')).toEqual(['ses_b', 'ses_a'])
    await append(store, callEnded('ses_b', 'turn_b', 'call_a2', 'ses_a', 'cancelled'))
    expect(await path(store, 'turn_a', 'ses_b')).toBeNull()
    await append(store, waited('ses_b', 'turn_b', 'ses_a'))
    expect(await path(store, 'turn_a', 'ses_b')).toEqual(['ses_b', 'ses_a'])
    await append(store, rested('ses_b', 'turn_b', 'ses_a'))
    expect(await path(store, 'turn_a', 'ses_b')).toBeNull()
    await append(store, waited('ses_b', 'turn_b', 'ses_a'), ended('ses_b', 'turn_b'))
    expect(await path(store, 'turn_a', 'ses_b')).toBeNull()
  })

  test('R5: a wait is an edge until its end is recorded, whatever the clock says', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b']) await append(store, ...running(name))
    await append(store, { ...waited('ses_b', 'turn_b', 'ses_a'), until: 1 })
    expect(await path(store, 'turn_a', 'ses_b')).toEqual(['ses_b', 'ses_a'])
    await append(store, rested('ses_b', 'turn_b', 'ses_a'))
    expect(await path(store, 'turn_a', 'ses_b')).toBeNull()
  })

  test('R5: two turns of a session that wait for one have an edge each, and end one by one', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b']) await append(store, ...running(name))
    await append(
      store,
      waited('ses_b', 'turn_b', 'ses_a'),
      waited('ses_b', 'turn_b2', 'ses_a'),
      rested('ses_b', 'turn_b2', 'ses_a'),
    )
    expect(await path(store, 'turn_a', 'ses_b')).toEqual(['ses_b', 'ses_a'])
    await append(store, rested('ses_b', 'turn_b', 'ses_a'))
    expect(await path(store, 'turn_a', 'ses_b')).toBeNull()
  })

  test('R5: a background call is nothing that its caller waits for', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b']) await append(store, ...running(name))
    await append(
      store,
      opened({ from: 'ses_b', in: 'turn_b', call: 'call_a2', to: 'ses_a', background: true }),
    )
    expect(await path(store, 'turn_a', 'ses_b')).toBeNull()
  })

  test('R5: every session that was looked at is a key, also where no path was found', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b', 'c']) await append(store, ...running(name))
    await append(store, waited('ses_b', 'turn_b', 'ses_c'))
    let runs = 0
    await store.transact(['session:ses_a', 'session:ses_b', 'flow:flow_1', 'call:call_x'], async (tx) => {
      runs += 1
      await tx.open({ call: 'call_x', callerTurn: 'turn_a', target: 'ses_b' })
    })
    expect(runs).toBe(2)
  })
}

function below(fresh: Fresh): void {
  const ids = async (store: Store, turn: TurnId): Promise<string[]> =>
    (await store.transact([], async (tx) => tx.below(turn))).map((row) => row.turn.id).toSorted()

  test("R3: below a turn are its pending calls on all levels, and nobody else's", async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...running('z'),
      ...called('a', 'b'),
      ...called('b', 'c'),
      ...called('c', 'd'),
      ...called('a', 'e', { background: true }),
      ...called('z', 'y'),
    )
    expect(await ids(store, 'turn_a')).toEqual(['turn_b', 'turn_c', 'turn_d', 'turn_e'])
    expect(await ids(store, 'turn_c')).toEqual(['turn_d'])
    expect(await ids(store, 'turn_d')).toEqual([])
    await append(store, ended('ses_d', 'turn_d'), callEnded('ses_c', 'turn_c', 'call_d', 'ses_d'))
    expect(await ids(store, 'turn_a')).toEqual(['turn_b', 'turn_c', 'turn_e'])
  })

  test('R3: calls of another turn of the same session are not below this one', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...called('a', 'b'),
      ended('ses_a', 'turn_a'),
      sent('ses_a', 'turn_a2'),
      started('ses_a', 'turn_a2'),
    )
    await append(
      store,
      created('ses_c'),
      opened({ from: 'ses_a', in: 'turn_a2', call: 'call_c', to: 'ses_c' }),
    )
    expect(await ids(store, 'turn_a2')).toEqual(['turn_c'])
    expect(await ids(store, 'turn_a')).toEqual(['turn_b'])
  })

  test("R3: a called session's calls for others are not below the caller that waits in its queue", async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...running('p'),
      ...called('p', 'c'),
      opened({ from: 'ses_a', in: 'turn_a', call: 'call_p2', to: 'ses_p' }),
    )
    expect(await ids(store, 'turn_a')).toEqual(['turn_p2'])
    expect(await ids(store, 'turn_p')).toEqual(['turn_c'])
  })

  test('R1: everything below is a key', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), ...called('a', 'b'), ...called('b', 'c'))
    let runs = 0
    const rows = await store.transact(['session:ses_a', 'session:ses_b'], async (tx) => {
      runs += 1
      return tx.below('turn_a')
    })
    expect([runs, rows.length]).toEqual([2, 2])
    expect(rows.map(({ sessionKind }) => sessionKind)).toEqual(['ephemeral', 'ephemeral'])
  })
}

const held = async (store: Store, turn: TurnId): Promise<number | undefined> =>
  (await store.turn(turn))?.tokensBelow

function tokens(fresh: Fresh): void {
  test('R7: a call holds its tokens until its turn has stopped; then what it and those below used stays', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...called('a', 'b', { tokens: 100 }),
      ...called('b', 'c', { tokens: 40 }),
    )
    expect([await held(store, 'turn_a'), await held(store, 'turn_b')]).toEqual([100, 40])
    await append(
      store,
      callEnded('ses_b', 'turn_b', 'call_c', 'ses_c', 'timed_out'),
      cancelled('ses_c', 'turn_c', 'timed_out'),
    )
    expect(await held(store, 'turn_b')).toBe(40)
    await append(store, ended('ses_c', 'turn_c', 12))
    expect([await held(store, 'turn_a'), await held(store, 'turn_b')]).toEqual([100, 12])
    await append(store, ended('ses_b', 'turn_b', 30), callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'))
    expect(await held(store, 'turn_a')).toBe(42)
  })

  test('R7: a caller that ended before its callee passes the correction on to its own caller', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...called('a', 'b', { tokens: 100 }),
      ...called('b', 'c', { tokens: 40 }),
    )
    await append(
      store,
      callEnded('ses_b', 'turn_b', 'call_c', 'ses_c', 'cancelled'),
      cancelled('ses_c', 'turn_c'),
      ended('ses_b', 'turn_b', 10),
      callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'),
    )
    expect(await held(store, 'turn_a')).toBe(50)
    await append(store, ended('ses_c', 'turn_c', 1))
    expect(await held(store, 'turn_a')).toBe(11)
  })
}

function returnedTokens(fresh: Fresh): void {
  test('R7: a call that never started gives back all at once', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      created('ses_b'),
      opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b', tokens: 70 }),
    )
    expect(await held(store, 'turn_a')).toBe(70)
    await append(store, callEnded('ses_a', 'turn_a', 'call_b', 'ses_b', 'cancelled'))
    expect(await held(store, 'turn_a')).toBe(0)
  })

  test('R7: what a never started call held is given back on all levels when its caller ends with it', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...called('a', 'b', { tokens: 100 }),
      created('ses_p'),
      opened({ from: 'ses_b', in: 'turn_b', call: 'call_p', to: 'ses_p', tokens: 40 }),
    )
    await append(
      store,
      callEnded('ses_b', 'turn_b', 'call_p', 'ses_p', 'cancelled'),
      ended('ses_b', 'turn_b', 7),
      callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'),
    )
    expect([await held(store, 'turn_a'), await held(store, 'turn_b')]).toEqual([7, 0])
  })

  test('tokens of steps in the transaction that ends the turn are counted once', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      stepped('ses_a', 'turn_a', { input: 1, output: 2, estimated: false }),
    )
    await append(
      store,
      stepped('ses_a', 'turn_a', { input: 10, output: 0, estimated: true }),
      ended('ses_a', 'turn_a', 13),
    )
    expect((await store.turn('turn_a'))?.tokensUsed).toBe(13)
  })
}
