/**
 * Virtual time. Events run in order of their moment; those of one moment in an order drawn from the seed,
 * which is where interleavings come from.
 * After each event everything is let settle that can happen without time passing.
 */
import { mix } from './random.ts'

type Scheduled = { at: number; tie: number; run: () => void }

export const startAt = 1_800_000_000_000

export class Scheduler {
  now = startAt
  /** Transactions inside the real store: it commits in a macrotask of its own. */
  inflight = 0
  events = 0
  /** How far the clocks on the wall are ahead of elapsed time. */
  skewMs = 0
  readonly #seed: number
  readonly #heap: Scheduled[] = []
  readonly #counts = new Map<string, number>()
  #serial = 0

  get wall(): number {
    return this.now + this.skewMs
  }

  constructor(seed: number) {
    this.#seed = seed
  }

  /**
   * Runs `run` at `at`; `what` names it, so that its place among its neighbours does not depend on others.
   */
  at(at: number, what: string, run: () => void): () => void {
    const nth = (this.#counts.get(what) ?? 0) + 1
    this.#counts.set(what, nth)
    this.#serial += 1
    const scheduled: Scheduled = {
      at: Math.max(at, this.now),
      tie: (mix(this.#seed, what, nth) & 0xfffff) * 2 ** 30 + this.#serial,
      run,
    }
    push(this.#heap, scheduled)
    return () => {
      scheduled.run = nothing
    }
  }

  after(ms: number, what: string, run: () => void): () => void {
    return this.at(this.now + ms, what, run)
  }

  /** Runs the next event and lets it settle; false if there is none. */
  async step(): Promise<boolean> {
    const next = pop(this.#heap)
    if (next === undefined) return false
    if (next.run === nothing) return true
    this.now = next.at
    this.events += 1
    next.run()
    await this.settle()
    return true
  }

  async settle(): Promise<void> {
    do await hop()
    while (this.inflight > 0)
  }
}

const nothing = (): void => undefined

/** Every promise job that is ready has run when this resolves. */
// oxlint-disable-next-line no-restricted-globals -- No time passes: the engine runs its jobs.
export const hop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const before = (a: Scheduled, b: Scheduled): boolean => a.at < b.at || (a.at === b.at && a.tie < b.tie)

function push(heap: Scheduled[], one: Scheduled): void {
  let index = heap.push(one) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    const above = heap[parent] as Scheduled
    if (!before(one, above)) break
    heap[index] = above
    index = parent
  }
  heap[index] = one
}

function pop(heap: Scheduled[]): Scheduled | undefined {
  const top = heap[0]
  const last = heap.pop()
  if (top === undefined || last === undefined || heap.length === 0) return top
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && before(heap[child + 1] as Scheduled, heap[child] as Scheduled)) child += 1
    if (!before(heap[child] as Scheduled, last)) break
    heap[index] = heap[child] as Scheduled
    index = child
  }
  heap[index] = last
  return top
}
