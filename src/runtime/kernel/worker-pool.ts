/**
 * Runs work on foreign input in threads of its own, because a thread can be ended from outside and the main
 * one cannot.
 *
 * W1: An order ends: with its answer, at its deadline, when its signal aborts, or with its thread. A thread
 * that was stopped is replaced.
 * W2: Bounded (R11): threads, their memory, and how many orders wait. One too many is answered with `full` at
 * once.
 * W3: Fair: owners take turns, and one owner never has all the threads where there is more than one.
 * W4: Threads start when they are first needed, end when they have been idle for a while, and never keep the
 * process alive.
 */
import { contained } from '../../model/contained.ts'
import { Worker } from 'node:worker_threads'
import { wakeLater } from './system-clock.ts'
import type { FromWorker } from './worker-orders.ts'

export type PoolOptions = {
  /** The thread's module, which calls `serveOrders`. */
  file: string
  workersMax: number
  queuedMax: number
  queuedPerOwnerMax: number
  heapMbMax: number
  idleMs?: number
  /** How long a thread may take to load. */
  startMsMax?: number
}

export type PoolJob<Order, Partial> = {
  order: Order
  /** Whom the work is for: owners take turns. */
  owner: string
  /** From the moment a thread has the order; time in the queue is bounded by `signal`. */
  msMax: number
  signal: AbortSignal
  onPartial?: (partial: Partial) => void
}

export type PoolOutcome<Answer> =
  | { kind: 'answer'; value: Answer }
  | { kind: 'late' }
  | { kind: 'full' }
  | { kind: 'broken'; why: string }

export type WorkerPool<Order, Partial, Answer> = {
  /** Rejects with the signal's reason; every other end is an outcome. */
  run(job: PoolJob<Order, Partial>): Promise<PoolOutcome<Answer>>
  /** For tests and for watching. */
  threads(): number
  close(): Promise<void>
}

type Waiting<Order, Partial, Answer> = PoolJob<Order, Partial> & {
  settle(outcome: PoolOutcome<Answer>): void
  fail(reason: unknown): void
}

type Thread<Order, Partial, Answer> = {
  worker: Worker
  ready: boolean
  job: Waiting<Order, Partial, Answer> | null
  stopTimer: () => void
}

const idleMsDefault = 10_000
const startMsDefault = 10_000

export const workerPool = <Order, Partial, Answer>(
  options: PoolOptions,
): WorkerPool<Order, Partial, Answer> => new Pool(options)

class Pool<Order, Partial, Answer> implements WorkerPool<Order, Partial, Answer> {
  readonly #options: PoolOptions
  /** In the order in which owners have their turn. */
  readonly #queues = new Map<string, Waiting<Order, Partial, Answer>[]>()
  readonly #threads = new Set<Thread<Order, Partial, Answer>>()
  #queued = 0
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  threads(): number {
    return this.#threads.size
  }

  run(job: PoolJob<Order, Partial>): Promise<PoolOutcome<Answer>> {
    if (job.signal.aborted) return Promise.reject(job.signal.reason as Error)
    const queue = this.#queues.get(job.owner) ?? []
    const { queuedMax, queuedPerOwnerMax } = this.#options
    const full = this.#queued >= queuedMax || queue.length >= queuedPerOwnerMax
    if (this.#closed || full) return Promise.resolve({ kind: 'full' }) // W2
    return new Promise((resolve, reject) => {
      const done = new AbortController()
      const waiting: Waiting<Order, Partial, Answer> = {
        ...job,
        settle: (outcome) => {
          done.abort()
          resolve(outcome)
        },
        fail: (reason) => {
          done.abort()
          reject(reason as Error)
        },
      }
      job.signal.addEventListener('abort', () => this.#cancel(waiting), { once: true, signal: done.signal })
      queue.push(waiting)
      this.#queues.set(job.owner, queue)
      this.#queued += 1
      this.#pump()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const queue of this.#queues.values()) for (const job of queue) job.settle({ kind: 'full' })
    this.#queues.clear()
    this.#queued = 0
    await Promise.all(
      [...this.#threads].map((thread) => this.#end(thread, { kind: 'broken', why: 'the pool was closed' })),
    )
  }

  /** Gives what waits to threads that are free, and starts more threads where some may still be started. */
  #pump(): void {
    for (const thread of this.#threads) {
      if (!thread.ready || thread.job !== null) continue
      const job = this.#next()
      if (job === undefined) break
      this.#assign(thread, job)
    }
    const starting = [...this.#threads].filter((thread) => !thread.ready).length
    for (
      let more = Math.min(this.#runnable() - starting, this.#options.workersMax - this.#threads.size);
      more > 0;
      more -= 1
    )
      this.#start()
  }

  /** W3: the first owner that may have one more thread; it then goes behind the others. */
  #next(): Waiting<Order, Partial, Answer> | undefined {
    for (const [owner, queue] of this.#queues) {
      if (this.#share(owner) === 0) continue
      const job = queue.shift()
      this.#queues.delete(owner)
      if (queue.length > 0) this.#queues.set(owner, queue)
      if (job !== undefined) this.#queued -= 1
      return job
    }
    return undefined
  }

  /** How many more threads an owner may have now. */
  #share(owner: string): number {
    let held = 0
    for (const { job } of this.#threads) if (job?.owner === owner) held += 1
    return Math.max(0, Math.max(1, this.#options.workersMax - 1) - held)
  }

  /** How many of those that wait could run at once if there were threads for them. */
  #runnable(): number {
    let count = 0
    for (const [owner, queue] of this.#queues) count += Math.min(queue.length, this.#share(owner))
    return count
  }

  #start(): void {
    const { file, heapMbMax, startMsMax = startMsDefault } = this.#options
    const worker = new Worker(file, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    })
    const thread: Thread<Order, Partial, Answer> = {
      worker,
      ready: false,
      job: null,
      stopTimer: () => undefined,
    }
    const slow = { kind: 'broken', why: `its thread did not start within ${startMsMax} ms` } as const
    thread.stopTimer = wakeLater(startMsMax, () => void this.#end(thread, slow))
    this.#threads.add(thread)
    const end = (fault: unknown): void => {
      void this.#end(thread, { kind: 'broken', why: fault instanceof Error ? fault.message : String(fault) })
    }
    worker.on(
      'message',
      contained(end, (message: FromWorker<Partial, Answer>) => this.#handle(thread, message)),
    )
    worker.on('error', contained(end, end))
    worker.on(
      'exit',
      contained(end, () => end('its thread ended')),
    )
  }

  #handle(thread: Thread<Order, Partial, Answer>, message: FromWorker<Partial, Answer>): void {
    // A thread that was given up may still say something.
    if (!this.#threads.has(thread)) return
    const { job } = thread
    if (message.kind === 'partial') return job?.onPartial?.(message.value)
    thread.ready = true
    thread.job = null
    this.#rest(thread)
    if (message.kind === 'answer') job?.settle({ kind: 'answer', value: message.value })
    if (message.kind === 'fault') job?.settle({ kind: 'broken', why: message.message })
    this.#pump()
  }

  #assign(thread: Thread<Order, Partial, Answer>, job: Waiting<Order, Partial, Answer>): void {
    thread.stopTimer()
    thread.job = job
    thread.worker.ref()
    // A thread computes in real time, whatever clock the runtime has.
    thread.stopTimer = wakeLater(job.msMax, () => void this.#end(thread, { kind: 'late' })) // W1
    thread.worker.postMessage(job.order)
  }

  /** W4: a thread with nothing to do keeps no process alive, and goes after a while. */
  #rest(thread: Thread<Order, Partial, Answer>): void {
    thread.stopTimer()
    thread.worker.unref()
    thread.stopTimer = wakeLater(
      this.#options.idleMs ?? idleMsDefault,
      () => void this.#end(thread, { kind: 'late' }),
    )
  }

  #cancel(job: Waiting<Order, Partial, Answer>): void {
    const queue = this.#queues.get(job.owner)
    const at = queue?.indexOf(job) ?? -1
    if (queue !== undefined && at >= 0) {
      queue.splice(at, 1)
      this.#queued -= 1
      if (queue.length === 0) this.#queues.delete(job.owner)
    }
    const thread = [...this.#threads].find((one) => one.job === job)
    job.fail(job.signal.reason)
    if (thread !== undefined) void this.#end(thread, { kind: 'late' })
  }

  /**
   * W1: stops the thread wherever it is. What waited for it gets the outcome, and the next one a new thread.
   */
  async #end(thread: Thread<Order, Partial, Answer>, outcome: PoolOutcome<Answer>): Promise<void> {
    if (!this.#threads.delete(thread)) return
    thread.stopTimer()
    thread.job?.settle(outcome)
    const stopped = thread.worker.terminate()
    if (!thread.ready && outcome.kind === 'broken') this.#giveUp(outcome)
    else if (!this.#closed) this.#pump()
    await stopped
  }

  /** A thread that cannot even load would be started over and over: whatever waits is answered instead. */
  #giveUp(outcome: PoolOutcome<Answer>): void {
    for (const queue of this.#queues.values()) for (const job of queue) job.settle(outcome)
    this.#queues.clear()
    this.#queued = 0
  }
}
