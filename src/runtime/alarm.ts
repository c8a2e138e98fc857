/** Many deadlines, one sleep: a heap of moments, and the clock is asked only for the nearest. */
import type { Millis } from '../model/id.ts'
import type { Clock } from './ports.ts'

type Entry = { at: Millis; ring: (() => void) | null }

export type Alarm = {
  /** Calls `ring` at `at` or as soon after as the clock lets it, unless the returned function was called before. */
  set(at: Millis, ring: () => void): () => void
  stop(): void
}

export function alarmOf(clock: Clock): Alarm {
  const heap: Entry[] = []
  let armed: { at: Millis; abort: AbortController } | null = null
  let stopped = false
  let cancelled = 0

  /** Most deadlines never come: without this a long deadline would keep its entry long after its call ended. */
  const compact = (): void => {
    if (cancelled < 256 || cancelled * 2 < heap.length) return
    const live = heap.filter((entry) => entry.ring !== null).sort((a, b) => a.at - b.at)
    heap.length = 0
    for (const entry of live) heap.push(entry)
    cancelled = 0
  }

  /** Nobody waits any more: the clock need not hold the process open. */
  const clear = (): void => {
    heap.length = 0
    cancelled = 0
    armed?.abort.abort()
    armed = null
  }

  const ringDue = (): void => {
    for (let first = heap[0]; first !== undefined && (first.ring === null || first.at <= clock.now()); first = heap[0]) {
      pop(heap)
      const { ring } = first
      if (ring === null) cancelled -= 1
      first.ring = null
      ring?.()
    }
    arm()
  }

  const arm = (): void => {
    while (heap[0] !== undefined && heap[0].ring === null) {
      cancelled -= 1
      pop(heap)
    }
    const first = heap[0]
    if (stopped || first === undefined || (armed !== null && armed.at <= first.at)) return
    armed?.abort.abort()
    const mine = { at: first.at, abort: new AbortController() }
    armed = mine
    const done = (): void => {
      if (armed !== mine) return
      armed = null
      if (!stopped) ringDue()
    }
    // An aborted sleep was replaced by an earlier one, or the alarm has stopped: either way nobody waits for it.
    clock.sleep(Math.max(0, first.at - clock.now()), mine.abort.signal).then(done, () => undefined)
  }

  return {
    set(at, ring) {
      const entry: Entry = { at, ring }
      push(heap, entry)
      arm()
      return () => {
        if (entry.ring === null) return
        entry.ring = null
        cancelled += 1
        if (cancelled === heap.length) clear()
        else compact()
      }
    },
    stop() {
      stopped = true
      armed?.abort.abort()
      heap.length = 0
    },
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
