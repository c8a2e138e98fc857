import { join } from 'node:path'
import { expect, test } from 'vitest'
import { longestStall } from '../../../test/kits/linear.ts'
import type { TestOrder } from '../../../test/hostile/pool-worker.ts'
import { systemClock } from './system-clock.ts'
import { workerPool, type PoolOptions, type PoolOutcome } from './worker-pool.ts'

const file = join(import.meta.dirname, '../../../test/hostile/pool-worker.ts')

function makePool(options: Partial<PoolOptions> = {}) {
  const pool = workerPool<TestOrder, string, number>({
    file,
    workersMax: 2,
    queuedMax: 8,
    queuedPerOwnerMax: 6,
    heapMbMax: 32,
    ...options,
  })
  const run = (
    order: TestOrder,
    owner = 'a',
    msMax = 5000,
    signal = new AbortController().signal,
    onPartial?: (text: string) => void,
  ): Promise<PoolOutcome<number>> =>
    pool.run({ order, owner, msMax, signal, ...(onPartial === undefined ? {} : { onPartial }) })
  return { ...pool, run, threads: () => pool.threads(), close: () => pool.close() }
}

test('W1: an order that never ends is stopped at its deadline, and the next one is answered', async () => {
  const pool = makePool()
  expect(await pool.run('echo')).toMatchObject({ kind: 'answer' })
  const stall = await longestStall(async () =>
    expect(await pool.run('spin', 'a', 300)).toEqual({ kind: 'late' }),
  )
  expect(stall).toBeLessThan(150)
  expect(await pool.run('echo')).toMatchObject({ kind: 'answer' })
  await pool.close()
})

test('W1: a fault, a thread that exits and one that fills its memory are outcomes', async () => {
  const pool = makePool()
  expect(await pool.run('throw')).toEqual({ kind: 'broken', why: 'it broke' })
  expect(await pool.run('exit')).toEqual({ kind: 'broken', why: 'its thread ended' })
  expect(await pool.run('fill', 'a', 20_000)).toMatchObject({
    kind: 'broken',
    why: expect.stringContaining('memory'),
  })
  const partial: string[] = []
  expect(
    await pool.run('echo', 'a', 5000, new AbortController().signal, (text) => partial.push(text)),
  ).toMatchObject({ kind: 'answer' })
  expect(partial).toEqual(['echo'])
  await pool.close()
})

test('W1: a signal ends the order that runs, and the one that waits', async () => {
  const pool = makePool({ workersMax: 1 })
  const [first, second] = [new AbortController(), new AbortController()]
  const running = pool.run('spin', 'a', 60_000, first.signal)
  const waiting = pool.run('echo', 'a', 60_000, second.signal)
  const last = pool.run('echo')
  second.abort(new Error('not wanted'))
  await expect(waiting).rejects.toThrow('not wanted')
  first.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
  expect(await last).toMatchObject({ kind: 'answer' })
  await expect(pool.run('echo', 'a', 1, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  await pool.close()
})

test('W2: no more threads than allowed, and one order too many is answered at once', async () => {
  const pool = makePool()
  const all = Array.from({ length: 12 }, (_, index) => pool.run('echo', index < 10 ? 'greedy' : 'other'))
  expect(pool.threads()).toBeLessThanOrEqual(2)
  const kinds = (await Promise.all(all)).map(({ kind }) => kind)
  expect(kinds.slice(6, 10)).toEqual(['full', 'full', 'full', 'full'])
  expect(kinds.filter((kind) => kind === 'answer')).toHaveLength(8)
  expect(pool.threads()).toBeLessThanOrEqual(2)
  await pool.close()
})

test('W3: an owner whose orders never end keeps no other owner waiting', async () => {
  const pool = makePool()
  // Both threads are there and free.
  await Promise.all([pool.run('echo', 'greedy'), pool.run('echo', 'other')])
  expect(pool.threads()).toBe(2)
  const stop = new AbortController()
  const greedy = Array.from({ length: 6 }, () =>
    pool.run('spin', 'greedy', 60_000, stop.signal).catch(() => null),
  )
  expect(await pool.run('echo', 'other')).toMatchObject({ kind: 'answer' })
  stop.abort()
  expect(await Promise.all(greedy)).toEqual([null, null, null, null, null, null])
  await pool.close()
})

test('W4: idle threads end; a closed pool has none and takes nothing', async () => {
  const pool = makePool({ idleMs: 30 })
  await pool.run('echo')
  expect(pool.threads()).toBe(1)
  for (let looks = 0; looks < 100 && pool.threads() > 0; looks += 1) await systemClock.sleep(20)
  expect(pool.threads()).toBe(0)
  const last = pool.run('spin', 'a', 60_000)
  await pool.close()
  expect((await last).kind).not.toBe('answer')
  expect(await pool.run('echo')).toEqual({ kind: 'full' })
})

test('a thread that cannot be loaded answers what waits, and is not started for ever', async () => {
  const pool = makePool({ file: join(import.meta.dirname, 'there-is-no-such-worker.ts') })
  expect(await pool.run('echo')).toMatchObject({ kind: 'broken' })
  await pool.close()
})
