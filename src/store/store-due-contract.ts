/** The part of the Store contract that is about what is due, found by looking. */
import { expect, test } from 'vitest'
import type { SessionId } from '../model/id.ts'
import {
  append,
  callEnded,
  cancelled,
  created,
  ended,
  farAway,
  opened,
  running,
  sent,
  started,
  waited,
} from '../../test/kits/store.ts'
import type { Fresh } from './store-contract.ts'

export function dueContract(fresh: Fresh): void {
  due(fresh)
  dueTurns(fresh)
}

function due(fresh: Fresh): void {
  test('R11: a time that is not a whole millisecond does not break the store', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'))
    await expect(
      append(store, { ...waited('ses_a', 'turn_a', 'ses_b'), until: 1000.5 }),
    ).resolves.toBeUndefined()
  })

  const call = (name: string, deadline: number, kind: 'ephemeral' | 'persistent' = 'ephemeral') =>
    [
      created(`ses_${name}`, kind),
      opened({ from: 'ses_a', in: 'turn_a', call: `call_${name}`, to: `ses_${name}`, deadline }),
    ] as const

  test('R4: a pending call is due from its deadline on, the oldest first, until it has ended', async () => {
    const { store } = await fresh()
    await append(
      store,
      ...running('a'),
      ...call('late', 2000),
      ...call('early', 1000),
      ...call('ended', 500),
      callEnded('ses_a', 'turn_a', 'call_ended', 'ses_ended'),
    )
    expect((await store.due(999, 10)).calls).toEqual([])
    expect((await store.due(1000, 10)).calls).toEqual(['call_early'])
    expect((await store.due(2000, 10)).calls).toEqual(['call_early', 'call_late'])
    expect((await store.due(2000, 1)).calls).toEqual(['call_early'])
  })

  test('R9: a session with something queued is due while nothing of it runs', async () => {
    const { store } = await fresh()
    await store.heartbeat('node_1', farAway)
    await append(store, created('ses_a'), sent('ses_a', 'turn_1'), sent('ses_a', 'turn_2'))
    expect((await store.due(0, 10)).sessions).toEqual(['ses_a'])
    await append(store, started('ses_a', 'turn_1'))
    expect((await store.due(0, 10)).sessions).toEqual([])
    await append(store, ended('ses_a', 'turn_1'))
    expect((await store.due(0, 10)).sessions).toEqual(['ses_a'])
    await append(store, started('ses_a', 'turn_2'), ended('ses_a', 'turn_2'))
    expect((await store.due(0, 10)).sessions).toEqual([])
  })

  test('R11: sessions that are due come in pages, each once, those with lost runners among them', async () => {
    const { store } = await fresh()
    for (const name of ['a', 'b', 'c', 'd', 'e'] as const)
      await append(
        store,
        created(`ses_${name}`),
        sent(`ses_${name}`, `turn_${name}`),
        ...(name === 'b' ? [started('ses_b', 'turn_b', { node: 'node_unheard' })] : []),
      )
    const pages = []
    for (let after: SessionId | null = null; ;) {
      const { sessions, next } = await store.due(0, 2, after)
      pages.push(sessions)
      if (next === null) break
      after = next
    }
    expect(pages.flat()).toEqual(['ses_a', 'ses_b', 'ses_c', 'ses_d', 'ses_e'])
    expect(pages.every((page) => page.length <= 2)).toBe(true)
  })
}

function dueTurns(fresh: Fresh): void {
  test('R4: the session of a turn whose node has lost its lease is due', async () => {
    const { store, clock } = await fresh()
    await store.heartbeat('node_1', 1000)
    await append(store, ...running('a'))
    const expired = clock.now() + 1000
    expect((await store.due(expired - 1, 10)).sessions).toEqual([])
    expect((await store.due(expired, 10)).sessions).toEqual(['ses_a'])
    await store.heartbeat('node_1', 5000)
    expect((await store.due(expired, 10)).sessions).toEqual([])
  })

  test('R4: the session of a turn whose node never had a lease is due, as its runner is not alive', async () => {
    const { store } = await fresh()
    await append(
      store,
      created('ses_a'),
      sent('ses_a', 'turn_a'),
      started('ses_a', 'turn_a', { node: 'node_unheard' }),
    )
    expect((await store.sessionFacts('ses_a')).runnerAlive).toBe(false)
    expect((await store.due(0, 10)).sessions).toEqual(['ses_a'])
  })

  test('R4: a running turn is due from its own deadline on, cancelled or not, until it has ended', async () => {
    const { store } = await fresh()
    const sessions: SessionId[] = ['ses_a', 'ses_b']
    for (const session of sessions)
      await append(
        store,
        created(session),
        sent(session, `turn_${session}`),
        started(session, `turn_${session}`, { deadline: 3000 }),
      )
    expect((await store.due(2999, 10)).turns).toEqual([])
    await append(store, cancelled('ses_a', 'turn_ses_a'))
    expect((await store.due(3000, 10)).turns.toSorted()).toEqual(['turn_ses_a', 'turn_ses_b'])
    await append(store, ended('ses_a', 'turn_ses_a'))
    expect((await store.due(3000, 10)).turns).toEqual(['turn_ses_b'])
  })
}
