/** Many deadlines, one sleep: a heap of moments, and the clock is asked only for the nearest. */
import { contained, faultText } from '../../model/contained.ts'
import type { Millis } from '../../model/id.ts'
import type { Clock } from './ports.ts'

type Entry = { at: Millis; ring: (() => void) | null }

export type Alarm = {
  /**
   * Calls `ring` when `ms` have passed, or as soon after as the clock lets it, unless the returned function
   * was called before. The wall clock does not matter. Once it was stopped it rings no more.
   */
  after(ms: Millis, ring: () => void): () => void
  stop(): void
}

/** `kept`: whoever made it stops it, so it need not give the clock back each time that nobody waits. */
export const createAlarm = (
  clock: Clock,
  kept = false,
  report: (fault: unknown) => void = warnAbout,
): Alarm => new HeapAlarm(clock, kept, report)

const warnAbout = (fault: unknown): void => process.emitWarning(faultText(fault))

/** Made once: an abort without a reason makes an exception with a stack each time. */
const disarmed = new Error('nobody waits for this moment')

class HeapAlarm implements Alarm {
  readonly #clock: Clock
  readonly #kept: boolean
  readonly #report: (fault: unknown) => void
  readonly #heap: Entry[] = []
  #armed: { at: Millis; abort: AbortController } | null = null
  #stopped = false
  /** Entries in the heap that nobody waits for any more. */
  #cancelled = 0

  constructor(clock: Clock, kept: boolean, report: (fault: unknown) => void) {
    this.#clock = clock
    this.#kept = kept
    this.#report = report
  }

  after(ms: Millis, ring: () => void): () => void {
    const entry: Entry = { at: this.#clock.elapsed() + ms, ring }
    push(this.#heap, entry)
    this.#arm()
    return () => {
      if (entry.ring === null) return
      entry.ring = null
      this.#cancelled += 1
      this.#compact()
    }
  }

  stop(): void {
    this.#stopped = true
    this.#disarm()
    this.#heap.length = 0
  }

  /**
   * Most deadlines never come: without this a long deadline would keep its entry, and the clock the process,
   * long after its call ended.
   */
  #compact(): void {
    const heap = this.#heap
    if (this.#cancelled === heap.length && !this.#kept) this.#disarm()
    else if (this.#cancelled < 256 || this.#cancelled * 2 < heap.length) return
    const live = heap.filter((entry) => entry.ring !== null).sort((a, b) => a.at - b.at)
    heap.length = 0
    for (const entry of live) heap.push(entry)
    this.#cancelled = 0
  }

  #disarm(): void {
    this.#armed?.abort.abort(disarmed)
    this.#armed = null
  }

  #ringDue(): void {
    for (
      let first = this.#heap[0];
      first !== undefined && (first.ring === null || first.at <= this.#clock.elapsed());
      first = this.#heap[0]
    ) {
      pop(this.#heap)
      const { ring } = first
      if (ring === null) this.#cancelled -= 1
      first.ring = null
      // One that breaks must not keep the others from ringing, now or ever after.
      if (ring !== null) contained(this.#report, ring)()
    }
    this.#arm()
  }

  #arm(): void {
    while (this.#heap[0] !== undefined && this.#heap[0].ring === null) {
      this.#cancelled -= 1
      pop(this.#heap)
    }
    const first = this.#heap[0]
    if (this.#stopped || first === undefined || (this.#armed !== null && this.#armed.at <= first.at)) return
    this.#disarm()
    const mine = { at: first.at, abort: new AbortController() }
    this.#armed = mine
    const done = (): void => {
      if (this.#armed !== mine) return
      this.#armed = null
      this.#ringDue()
    }
    // An aborted sleep was replaced by an earlier one, or the alarm has stopped: either way nobody waits for
    // it.
    this.#clock
      .sleep(Math.max(0, first.at - this.#clock.elapsed()), mine.abort.signal)
      .then(done, () => undefined)
  }
}

function push(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    const above = heap[parent] as Entry
    if (above.at <= entry.at) break
    heap[index] = above
    index = parent
  }
  heap[index] = entry
}

function pop(heap: Entry[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && (heap[child + 1] as Entry).at < (heap[child] as Entry).at) child += 1
    const below = heap[child] as Entry
    if (below.at >= last.at) break
    heap[index] = below
    index = child
  }
  heap[index] = last
}
