/**
 * The part of the Store contract that is about facts: what a transaction may decide over, and how the views
 * that hold it change.
 */
import { expect, test } from 'vitest'
import type { OpenFacts } from '../model/facts.ts'
import type { CallId, SessionId, TurnId } from '../model/id.ts'
import type { Key, Store } from '../runtime/kernel/store-port.ts'
import {
  append,
  callEnded,
  cancelled,
  created,
  ended,
  keysOf,
  opened,
  running,
  sent,
  started,
} from '../../test/kits/store.ts'
import type { Fresh } from './store-contract.ts'

export function factsContract(fresh: Fresh): void {
  turns(fresh)
  endings(fresh)
  opening(fresh)
  openingKeys(fresh)
}

export const openFacts = (
  store: Store,
  call: CallId,
  callerTurn: TurnId,
  target: SessionId | null,
): Promise<OpenFacts | null> => store.transact([], async (tx) => tx.open({ call, callerTurn, target }))

/** A running turn `turn_name` of a fresh session, called from `from`. */
export const called = (
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
        nanoUsdBelow: 0,
      },
      null,
    ])
    expect(runs).toBe(2)
  })
}

function endings(fresh: Fresh): void {
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
}

function openingKeys(fresh: Fresh): void {
  test('R11: calls of the last minute are counted over the whole flow, until they are a minute old', async () => {
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
