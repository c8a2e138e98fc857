/**
 * The part of the Store contract that is about facts: what a transaction may decide over, and how the views
 * that hold it change.
 */
import { expect, test } from 'vitest'
import type { OpenFacts } from '../model/facts.ts'
import type { CallId, SessionId, TurnId } from '../model/id.ts'
import type { Key, Store } from '../runtime/kernel/ports.ts'
import {
  append,
  callEnded,
  cancelled,
  created,
  ended,
  keysOf,
  opened,
  rested,
  running,
  sent,
  started,
  stepped,
  waited,
} from '../../test/kits/store.ts'
import type { Fresh } from './store-contract.ts'

export function factsContract(fresh: Fresh): void {
  turns(fresh)
  opening(fresh)
  waiting(fresh)
  below(fresh)
  tokens(fresh)
}

const openFacts = (
  store: Store,
  call: CallId,
  callerTurn: TurnId,
  target: SessionId | null,
): Promise<OpenFacts | null> => store.transact([], async (tx) => tx.open({ call, callerTurn, target }))

/** A running turn `turn_name` of a fresh session, called from `from`. */
const called = (
  from: string,
  name: string,
  more: { tokens?: number; background?: boolean } = {},
): Parameters<typeof append> extends [Store, ...infer Events] ? Events : never => [
  created(`ses_${name}`, 'ephemeral'),
  opened({ from: `ses_${from}`, in: `turn_${from}`, call: `call_${name}`, to: `ses_${name}`, ...more }),
  started(`ses_${name}`, `turn_${name}`),
]

function turns(fresh: Fresh): void {
  test('R6: a session shows its running turn, how many are queued and which of them is next', async () => {
    const { store } = await fresh()
    await append(
      store,
      created('ses_a'),
      sent('ses_a', 'turn_1'),
      sent('ses_a', 'turn_2'),
      sent('ses_a', 'turn_3'),
    )
    const facts = (): ReturnType<Store['sessionFacts']> =>
      store.transact(keysOf('ses_a'), async (tx) => tx.session('ses_a'))
    expect(await facts()).toMatchObject({
      running: null,
      queued: 3,
      next: { id: 'turn_1', state: 'queued' },
      runnerAlive: false,
    })
    await append(store, started('ses_a', 'turn_1', { epoch: 4 }))
    expect(await facts()).toMatchObject({
      running: { id: 'turn_1', state: 'running', epoch: 4, node: 'node_1' },
      queued: 2,
      next: { id: 'turn_2' },
    })
    await append(store, ended('ses_a', 'turn_1'))
    expect(await facts()).toMatchObject({ running: null, queued: 2, next: { id: 'turn_2' } })
  })

  test('an unknown session and an unknown turn are facts too', async () => {
    const { store } = await fresh()
    expect(await store.transact(keysOf('ses_x'), async (tx) => tx.session('ses_x'))).toEqual({
      session: null,
      running: null,
      runnerAlive: false,
      queued: 0,
      next: null,
    })
    expect(
      await store.transact([], async (tx) => [await tx.turn('turn_x'), await tx.below('turn_x')]),
    ).toEqual([null, []])
    expect(await openFacts(store, 'call_x', 'turn_x', null)).toBeNull()
  })

  test('R6: the activation of a turn is the part of it that changes, under the key of its session', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), ...called('a', 'b'), cancelled('ses_b', 'turn_b', 'timed_out'))
    let runs = 0
    const activation = await store.transact([], async (tx) => {
      runs += 1
      return [await tx.activation('turn_b'), await tx.activation('turn_x')]
    })
    expect(activation).toEqual([
      {
        state: 'running',
        node: 'node_1',
        epoch: 1,
        stopping: 'timed_out',
        pending: true,
        outcome: null,
        tokensUsed: 0,
        tokensBelow: 0,
      },
      null,
    ])
    expect(runs).toBe(2)
  })

  test('R6: a takeover shows in the epoch and the node of the turn', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), {
      type: 'session.claimed',
      session: 'ses_a',
      turn: 'turn_a',
      node: 'node_2',
      epoch: 2,
    })
    expect(await store.turn('turn_a')).toMatchObject({ node: 'node_2', epoch: 2, state: 'running' })
  })

  test('R3: a call that ends while its turn runs leaves the turn running until its driver has stopped', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), ...called('a', 'b'))
    await append(
      store,
      callEnded('ses_a', 'turn_a', 'call_b', 'ses_b', 'timed_out'),
      cancelled('ses_b', 'turn_b', 'timed_out'),
    )
    expect(await store.turn('turn_b')).toMatchObject({
      state: 'running',
      stopping: 'timed_out',
      call: { pending: false, outcome: 'timed_out' },
    })
    expect((await store.sessionFacts('ses_b')).running?.id).toBe('turn_b')
    const endedSeq = (await store.turn('turn_b'))?.endedSeq
    await append(store, ended('ses_b', 'turn_b', 3))
    expect(await store.turn('turn_b')).toMatchObject({
      state: 'ended',
      tokensUsed: 3,
      endedSeq,
      call: { pending: false, outcome: 'timed_out' },
    })
  })

  test('R3: a call that ends while its turn is queued ends the turn with it', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      created('ses_b'),
      opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b' }),
    )
    await append(store, callEnded('ses_a', 'turn_a', 'call_b', 'ses_b', 'cancelled'))
    expect(await store.turn('turn_b')).toMatchObject({
      state: 'ended',
      call: { pending: false, outcome: 'cancelled' },
    })
    expect(await store.sessionFacts('ses_b')).toMatchObject({ running: null, queued: 0, next: null })
  })
}

function opening(fresh: Fresh): void {
  test('R11: open calls are counted per caller, pending ones only', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...running('other'),
      ...called('a', 'b'),
      ...called('a', 'c'),
      ...called('other', 'd'),
    )
    expect((await openFacts(store, 'call_x', 'turn_a', null))?.openCalls).toBe(2)
    await append(store, ended('ses_b', 'turn_b'), callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'))
    expect((await openFacts(store, 'call_x', 'turn_a', null))?.openCalls).toBe(1)
  })

  test('R11: calls in the background are not among those that a caller waits for', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), ...called('a', 'b'), ...called('a', 'c', { background: true }))
    expect((await openFacts(store, 'call_x', 'turn_a', null))?.openCalls).toBe(1)
  })

  test('R11: descendants are the sessions that calls of the flow made, ever, on all levels', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      created('ses_p'),
      ...called('a', 'b'),
      ...called('b', 'c'),
      opened({ from: 'ses_a', in: 'turn_a', call: 'call_p', to: 'ses_p' }),
    )
    await append(store, ended('ses_c', 'turn_c'), callEnded('ses_b', 'turn_b', 'call_c', 'ses_c'))
    await append(store, ...running('z', { flow: 'flow_2' }))
    expect((await openFacts(store, 'call_x', 'turn_a', null))?.descendants).toBe(2)
    expect((await openFacts(store, 'call_x', 'turn_b', null))?.descendants).toBe(2)
    expect((await openFacts(store, 'call_x', 'turn_z', null))?.descendants).toBe(0)
  })

  test('R11: calls of the last minute are counted over the flow, whoever asks, and leave the count when they are a minute old', async () => {
    const { store, clock } = await fresh()
    const start = clock.now()
    await append(store, ...running('a'), ...called('a', 'b'))
    clock.set(start + 30_000)
    await append(store, ...called('b', 'c'))
    expect(await openFacts(store, 'call_x', 'turn_a', null)).toMatchObject({
      callsLastMinute: 2,
      oldestCallAt: start,
    })
    expect(await openFacts(store, 'call_x', 'turn_b', null)).toMatchObject({
      callsLastMinute: 2,
      oldestCallAt: start,
    })
    clock.set(start + 60_000)
    expect(await openFacts(store, 'call_x', 'turn_a', null)).toMatchObject({
      callsLastMinute: 1,
      oldestCallAt: start + 30_000,
    })
    clock.set(start + 90_000)
    expect(await openFacts(store, 'call_x', 'turn_a', null)).toMatchObject({
      callsLastMinute: 0,
      oldestCallAt: null,
    })
  })

  test('R11: the target shows how many inputs wait for it', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), ...running('b'), sent('ses_b', 'turn_b2'), sent('ses_b', 'turn_b3'))
    expect((await openFacts(store, 'call_x', 'turn_a', 'ses_b'))?.target).toMatchObject({
      queued: 2,
      session: { id: 'ses_b' },
      waitPath: null,
    })
    expect((await openFacts(store, 'call_x', 'turn_a', 'ses_none'))?.target).toEqual({
      session: null,
      queued: 0,
      waitPath: null,
    })
  })

  test('R1: opening needs the keys of the caller, the flow, the call and the target', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'), ...running('b'))
    const all: Key[] = ['session:ses_a', 'session:ses_b', 'flow:flow_1', 'call:call_x']
    for (const left of [null, ...all]) {
      let runs = 0
      await store.transact(
        all.filter((key) => key !== left),
        async (tx) => {
          runs += 1
          await tx.open({ call: 'call_x', callerTurn: 'turn_a', target: 'ses_b' })
        },
      )
      expect([left, runs]).toEqual([left, left === null ? 1 : 2])
    }
  })
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

  test('R5: where two turns of a session wait for one, each has its own edge, and the end of one leaves the other', async () => {
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

function tokens(fresh: Fresh): void {
  const held = async (store: Store, turn: TurnId): Promise<number | undefined> =>
    (await store.turn(turn))?.tokensBelow

  test('R7: a call holds its tokens until its turn has stopped, then what it used stays, with all below it', async () => {
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

  test('R7: what a never started call held is given back on all levels when its caller ends in the same transaction', async () => {
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
