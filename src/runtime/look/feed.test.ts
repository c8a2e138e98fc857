import { expect, test } from 'vitest'
import type { StoredEvent } from '../../model/event.ts'
import { createFeed } from './feed.ts'
import type { Runtime } from './runtime.ts'
import type { Hint } from '../kernel/store-port.ts'
const count = 100

/** A log of a hundred events that notes how it is read. */
function slowLog() {
  const events = Array.from({ length: count }, (_, index): StoredEvent => ({
    seq: index + 1,
    at: 0,
    event: { type: 'session.renamed', session: 'ses_a', turn: null, title: `t${index}` },
  }))
  const seen = { reading: 0, readingMax: 0, sizes: [] as number[], faults: [] as unknown[] }
  let hear: (hints: readonly Hint[]) => void = () => undefined
  let closed = false
  const runtime = {
    store: {
      lastSeq: () => events.length,
      onHint: (listener: typeof hear) => ((hear = listener), () => undefined),
      async read(after: number, _filter: object, limit: number) {
        seen.sizes.push(limit)
        seen.reading += 1
        seen.readingMax = Math.max(seen.readingMax, seen.reading)
        await new Promise((resolve) => setImmediate(resolve))
        seen.reading -= 1
        if (closed) throw new Error('statement has been finalized')
        return { events: events.slice(after, after + limit), next: Math.min(after + limit, events.length) }
      },
    },
    clock: { now: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) },
    deltaListeners: new Set(),
    running: new Map(),
    stopping: new AbortController(),
    report: (fault: unknown) => seen.faults.push(fault),
  } as unknown as Runtime
  const close = (): void => void (closed = true)
  return { feed: createFeed(runtime), seen, close, append: (hint: Hint) => hear([hint]) }
}

test('hundreds who catch up at once read the log a few at a time, and each gets every event', async () => {
  const { feed, seen } = slowLog()
  const got = Array.from({ length: 300 }, (): number[] => [])
  await Promise.all(
    got.map(
      (seqs) =>
        new Promise<void>((resolve) => {
          feed.subscribe(
            0,
            { sessions: null },
            {
              events: (events) => (
                seqs.push(...events.map(({ seq }) => seq)),
                seqs.length >= count && resolve()
              ),
              delta: () => undefined,
            },
          )
        }),
    ),
  )
  const all = Array.from({ length: count }, (_, index) => index + 1)
  for (const seqs of got) expect(seqs).toEqual(all)
  expect(seen.readingMax).toBeLessThanOrEqual(2)
  expect(seen.sizes.filter((size) => size === 4)).toHaveLength(300)
})

test('one who has left while waiting to catch up costs no reading', async () => {
  const { feed, seen } = slowLog()
  const leave = Array.from({ length: 300 }, () =>
    feed.subscribe(0, { sessions: null }, { events: () => undefined, delta: () => undefined }),
  )
  leave.forEach((one) => one())
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(seen.sizes.length).toBeLessThan(10)
})

test('a store that was closed was read on by who caught up, and the fault was shown to everybody', async () => {
  const { feed, seen, close } = slowLog()
  for (let n = 0; n < 20; n += 1)
    feed.subscribe(0, { sessions: null }, { events: () => undefined, delta: () => undefined })
  feed.stop()
  const begun = seen.sizes.length
  close()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([seen.sizes.length - begun, seen.faults]).toEqual([0, []])
})

test('who comes after the end reads nothing, since the store may be closed', async () => {
  const { feed, seen, close } = slowLog()
  feed.stop()
  close()
  const leave = feed.subscribe(0, { sessions: null }, { events: () => undefined, delta: () => undefined })
  await new Promise((resolve) => setTimeout(resolve, 50))
  leave()
  expect([seen.sizes, seen.faults]).toEqual([[], []])
})

test('a log that cannot be read is reported by who catches up', async () => {
  const { feed, seen, close } = slowLog()
  feed.subscribe(0, { sessions: null }, { events: () => undefined, delta: () => undefined })
  close()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(seen.faults).toHaveLength(1)
})

test('a listener that breaks keeps no other from being told', () => {
  const { feed, seen, append } = slowLog()
  const told: number[] = []
  feed.subscribe(
    count,
    { sessions: null },
    {
      events: () => {
        throw new Error('broken')
      },
      delta: () => undefined,
    },
  )
  feed.subscribe(
    count,
    { sessions: null },
    { events: (events) => told.push(...events.map(({ seq }) => seq)), delta: () => undefined },
  )
  append({
    kind: 'appended',
    first: count + 1,
    at: 0,
    events: [{ type: 'session.renamed', session: 'ses_a', turn: null, title: 'new' }],
  })
  expect(told).toEqual([count + 1])
  expect(seen.faults).toHaveLength(1)
})
