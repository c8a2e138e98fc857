/**
 * The thread's side of a worker pool: one order at a time, any number of partial results, then one answer.
 */
import { parentPort } from 'node:worker_threads'
import { contained } from '../../model/contained.ts'

/**
 * What a thread tells its pool. `ready` comes once, when everything is loaded: only then does the time of an
 * order begin.
 */
export type FromWorker<Partial, Answer> =
  | { kind: 'ready' }
  | { kind: 'partial'; value: Partial }
  | { kind: 'answer'; value: Answer }
  | { kind: 'fault'; message: string }

/** Call it at the end of a worker's module. Nothing happens where the module is imported outside a worker. */
export function serveOrders<Order, Partial, Answer>(
  work: (order: Order, tell: (partial: Partial) => void) => Answer,
): void {
  const port = parentPort
  if (port === null) return
  const post = (message: FromWorker<Partial, Answer>): void => port.postMessage(message)
  const broke = (fault: unknown): void =>
    post({ kind: 'fault', message: fault instanceof Error ? fault.message : String(fault) })
  port.on(
    'message',
    contained(broke, (order: Order) =>
      post({ kind: 'answer', value: work(order, (value) => post({ kind: 'partial', value })) }),
    ),
  )
  post({ kind: 'ready' })
}
