import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TestOrder } from '../../../test/hostile/pool-worker.ts'
import { workerPool } from './worker-pool.ts'

const file = join(import.meta.dirname, '../../../test/hostile/pool-worker.ts')

test('W4: a thread that rested is not ended by that while it has an order', async () => {
  const pool = workerPool<TestOrder, string, number>({
    file,
    workersMax: 1,
    queuedMax: 8,
    queuedPerOwnerMax: 6,
    heapMbMax: 32,
    idleMs: 400,
  })
  const { signal } = new AbortController()
  const order = (what: TestOrder, msMax: number) => pool.run({ order: what, owner: 'a', msMax, signal })
  expect(await order('echo', 5000)).toMatchObject({ kind: 'answer' })
  await new Promise((resolve) => setTimeout(resolve, 200))
  const at = performance.now()
  expect(await order('spin', 1000)).toEqual({ kind: 'late' })
  expect(performance.now() - at).toBeGreaterThan(900)
  await pool.close()
})

test('W2: an order that was given up while it waited leaves its place to others', async () => {
  const pool = workerPool<TestOrder, string, number>({
    file,
    workersMax: 1,
    queuedMax: 2,
    queuedPerOwnerMax: 6,
    heapMbMax: 32,
  })
  const order = (what: TestOrder, signal = new AbortController().signal) =>
    pool.run({ order: what, owner: 'a', msMax: 500, signal })
  await order('echo')
  const busy = order('spin')
  for (let n = 0; n < 3; n += 1) {
    const gone = new AbortController()
    const waiting = order('echo', gone.signal)
    gone.abort(new Error('not wanted'))
    await expect(waiting).rejects.toThrow('not wanted')
  }
  expect(await order('echo')).toMatchObject({ kind: 'answer' })
  expect(await busy).toEqual({ kind: 'late' })
  await pool.close()
})

test('W2: what was answered because no thread could be loaded leaves its place to others', async () => {
  const pool = workerPool<TestOrder, string, number>({
    file: join(import.meta.dirname, 'there-is-no-such-worker.ts'),
    workersMax: 1,
    queuedMax: 2,
    queuedPerOwnerMax: 2,
    heapMbMax: 32,
  })
  const { signal } = new AbortController()
  const order = () => pool.run({ order: 'echo' as const, owner: 'a', msMax: 5000, signal })
  for (let n = 0; n < 2; n += 1)
    for (const outcome of await Promise.all([order(), order()]))
      expect(outcome).toMatchObject({ kind: 'broken' })
  await pool.close()
})
