/**
 * What every engine behind the Store port must do. An engine's test file runs this suite, and says with
 * `durable` how its disk is looked at from outside.
 */
import assert from 'node:assert/strict'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SessionId } from '../model/id.ts'
import type { Hint, Store } from '../runtime/kernel/store-port.ts'
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
  testClock,
  type TestClock,
} from '../../test/kits/store.ts'
import { belowContract } from './store-below-contract.ts'
import { dueContract } from './store-due-contract.ts'
import type { OpenStore } from './sqlite.ts'
import { logContract } from './store-log-contract.ts'
import { rowsContract } from './store-rows-contract.ts'
import { factsContract } from './store-facts-contract.ts'

export type Opened = {
  store: Store & Pick<OpenStore, 'transactions'>
  close: () => Promise<void>
  /** How many events another process would find now; null where there is nothing outside this process. */
  durable: (() => number) | null
}
export type Open = (clock: TestClock) => Promise<Opened>
/** A fresh store that is closed when the test is over. */
export type Fresh = () => Promise<Opened & { clock: TestClock }>

export function storeContract(name: string, open: Open): void {
  const fresh: Fresh = async () => {
    const clock = testClock()
    const one = await open(clock)
    onTestFinished(() => one.close())
    return { ...one, clock }
  }
  describe(`${name} as a store`, () => {
    transactions(fresh)
    closing(fresh)
    durability(fresh)
    keys(fresh)
    hints(fresh)
    rowsContract(fresh)
    logContract(fresh)
    dueContract(fresh)
    factsContract(fresh)
    belowContract(fresh)
  })
}

function transactions(fresh: Fresh): void {
  test('R1: works that share a key run one after another, also when each reads before it writes', async () => {
    const { store } = await fresh()
    await append(store, created('ses_a'))
    const inside: number[] = []
    let alone = 0
    const one = (n: number): Promise<number> =>
      store.transact(['session:ses_a'], async (tx) => {
        alone += 1
        inside.push(alone)
        const { queued } = await tx.session('ses_a')
        await tx.session('ses_a')
        tx.append(sent('ses_a', `turn_${n}`))
        alone -= 1
        return queued
      })
    const seen = await Promise.all(Array.from({ length: 50 }, (_, n) => one(n + 100)))
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n))
    expect(Math.max(...inside)).toBe(1)
  })

  test('R1: a limit that is checked and taken in one work is never exceeded', async () => {
    const { store } = await fresh()
    await append(store, created('ses_a'))
    const take = (n: number): Promise<boolean> =>
      store.transact(['session:ses_a'], async (tx) => {
        if ((await tx.session('ses_a')).queued >= 10) return false
        tx.append(sent('ses_a', `turn_${n}`))
        return true
      })
    const taken = await Promise.all(Array.from({ length: 40 }, (_, n) => take(n)))
    expect(taken.filter(Boolean)).toHaveLength(10)
  })

  test('a work does not read back what it appended', async () => {
    const { store } = await fresh()
    const seen = await store.transact(['session:ses_a'], async (tx) => {
      tx.append(created('ses_a'))
      return (await tx.session('ses_a')).session
    })
    expect(seen).toBeNull()
    expect((await store.session('ses_a'))?.agent).toBe('a')
  })

  test('R1: a work that throws has written nothing, and its neighbours have', async () => {
    const { store } = await fresh()
    const settled = await Promise.allSettled([
      append(store, created('ses_a')),
      store.transact(['session:ses_b'], async (tx) => {
        tx.append(created('ses_b'))
        throw new Error('changed my mind')
      }),
      append(store, created('ses_c')),
    ])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.session('ses_b')).toBeNull()
    expect((await store.read(0, {}, 10)).events.map(({ event }) => event.session)).toEqual(['ses_a', 'ses_c'])
  })
}

function closing(fresh: Fresh): void {
  test('a work that returns a refusal without appending leaves the log as it was', async () => {
    const { store } = await fresh()
    await append(store, created('ses_a'))
    const answer = await store.transact(['session:ses_a'], async (tx) =>
      (await tx.session('ses_a')).session === null ? 'yes' : 'refused',
    )
    expect(answer).toBe('refused')
    expect(store.lastSeq()).toBe(1)
  })

  test('the time of a work is the time that its events carry', async () => {
    const { store, clock } = await fresh()
    clock.set(5_000_000)
    const now = await store.transact(['session:ses_a'], async (tx) => {
      tx.append(created('ses_a'))
      return tx.now
    })
    expect(now).toBe(5_000_000)
    expect((await store.event(1))?.at).toBe(5_000_000)
    expect((await store.session('ses_a'))?.createdAt).toBe(5_000_000)
  })

  test('closing twice is closing once, and also when works are still waiting', async () => {
    const { store } = await fresh()
    const pending = append(store, created('ses_a'))
    const closing = await Promise.allSettled([store.close(), store.close()])
    expect(closing.map((one) => (one.status === 'rejected' ? String(one.reason) : 'closed'))).toEqual([
      'closed',
      'closed',
    ])
    await expect(pending).resolves.toBeUndefined()
    await store.close()
  })

  test('a closed store refuses work and does not hang', async () => {
    const { store } = await fresh()
    await store.close()
    await expect(append(store, created('ses_a'))).rejects.toThrow('closed')
    await expect(store.heartbeat('node_1', 1)).rejects.toThrow('closed')
  })
}

function durability(fresh: Fresh): void {
  test('R2: a yes, a refusal and a throw all settle when what they rest on is durable', async () => {
    const { store, durable } = await fresh()
    const seen: Record<string, number> = {}
    const look = (who: string): void => void (seen[who] = durable?.() ?? store.lastSeq())
    const yes = append(store, created('ses_a')).then(() => look('yes'))
    const refusal = store
      .transact(['session:ses_a'], async (tx) =>
        assert((await tx.session('ses_a')).session !== null, 'rests on its neighbour'),
      )
      .then(() => look('refusal'))
    const thrown = store
      .transact(['session:ses_a'], async (tx) => {
        if ((await tx.session('ses_a')).session !== null) throw new Error('known')
      })
      .catch(() => look('thrown'))
    await Promise.all([yes, refusal, thrown])
    expect(seen).toEqual({ yes: 1, refusal: 1, thrown: 1 })
  })

  test('R2: a hint comes when what it speaks of is durable', async () => {
    const { store, durable } = await fresh()
    const seen: number[] = []
    store.onHint(() => seen.push(durable?.() ?? store.lastSeq()))
    await append(store, created('ses_a'), sent('ses_a', 'turn_a'))
    expect(seen).toEqual([2])
  })

  test('R2: a heartbeat is told to be taken when it is', async () => {
    const { store, clock } = await fresh()
    await append(store, ...running('a'))
    await store.heartbeat('node_1', 1000)
    expect((await store.sessionFacts('ses_a')).runnerAlive).toBe(true)
    clock.set(clock.now() + 1000)
    expect((await store.sessionFacts('ses_a')).runnerAlive).toBe(false)
  })
}

function keys(fresh: Fresh): void {
  const many = Array.from({ length: 12 }, (_, n): SessionId => `ses_${n}`)

  test('R1: facts outside the named keys run the work again with them', async () => {
    const { store } = await fresh()
    await append(store, ...running('a'))
    let runs = 0
    const agent = await store.transact([], async (tx) => {
      runs += 1
      return (await tx.turn('turn_a'))?.session.agent
    })
    expect([agent, runs]).toEqual(['a', 2])
  })

  test('R1: a work with all its keys runs once', async () => {
    const { store } = await fresh()
    let runs = 0
    await store.transact(keysOf(...many), async (tx) => {
      runs += 1
      for (const session of many) await tx.session(session)
    })
    expect(runs).toBe(1)
  })

  test('R1: events of a session that is not named run the work again too, and are written once', async () => {
    const { store } = await fresh()
    let runs = 0
    await store.transact([], async (tx) => {
      runs += 1
      tx.append(created('ses_a'), created('ses_b'))
    })
    expect(runs).toBe(2)
    expect(store.lastSeq()).toBe(2)
  })

  test('R11: a work that finds a new key in each run ends after five reruns, with the global key', async () => {
    const { store } = await fresh()
    let runs = 0
    await store.transact([], async (tx) => {
      runs += 1
      for (const session of many) await tx.session(session)
      tx.append(created('ses_0'))
    })
    expect(runs).toBe(7)
    expect(store.lastSeq()).toBe(1)
  })

  test('R1: what a run appended before it was found to lack keys is forgotten', async () => {
    const { store } = await fresh()
    await append(store, created('ses_b'))
    await store.transact(['session:ses_a'], async (tx) => {
      tx.append(created('ses_a'))
      await tx.session('ses_b')
    })
    expect(store.lastSeq()).toBe(2)
  })
}

function hints(fresh: Fresh): void {
  test('hints say what ended, what was queued and what was told to stop', async () => {
    const { store } = await fresh()
    const heard: Hint[] = []
    store.onHint((some) => heard.push(...some))
    await append(
      store,
      ...running('a'),
      created('ses_b', 'ephemeral'),
      opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b' }),
    )
    await append(store, started('ses_b', 'turn_b'))
    await append(store, callEnded('ses_a', 'turn_a', 'call_b', 'ses_b'), cancelled('ses_b', 'turn_b'))
    await append(store, ended('ses_b', 'turn_b'))
    expect(heard.filter(({ kind }) => kind !== 'appended')).toMatchObject([
      { kind: 'turn.queued', session: 'ses_b' },
      { kind: 'call.ended', call: 'call_b' },
      { kind: 'turn.cancelled', turn: 'turn_b', outcome: 'cancelled' },
      { kind: 'turn.ended', turn: 'turn_b', session: 'ses_b' },
    ])
    expect(heard.filter(({ kind }) => kind === 'appended').length).toBeGreaterThan(0)
  })

  test('nobody is hinted at by a work that threw or wrote nothing, nor after listening has ended', async () => {
    const { store } = await fresh()
    const heard: Hint[] = []
    const deaf = store.onHint((some) => heard.push(...some))
    await store
      .transact(['session:ses_a'], async (tx) => {
        tx.append(...running('a'))
        throw new Error('no')
      })
      .catch(() => undefined)
    await store.transact(['session:ses_a'], async (tx) => tx.session('ses_a'))
    expect(heard).toEqual([])
    deaf()
    await append(store, created('ses_a'))
    expect(heard).toEqual([])
  })
}
