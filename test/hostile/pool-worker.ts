/** A thread for tests of the pool: it answers, throws, spins for ever, fills its memory or goes away. */
import { threadId } from 'node:worker_threads'
import { serveOrders } from '../../src/runtime/kernel/worker-orders.ts'

export type TestOrder = 'echo' | 'throw' | 'spin' | 'fill' | 'exit'

serveOrders<TestOrder, string, number>((order, tell) => {
  tell(order)
  if (order === 'throw') throw new Error('it broke')
  if (order === 'exit') process.exit(3)
  const kept: unknown[] = []
  // Bounded by the pool, which ends the thread.
  while (order === 'spin' || order === 'fill')
    if (order === 'fill') kept.push(Array.from({ length: 10_000 }, () => ({})))
  return threadId
})
