import { expect, test } from 'vitest'
import { gatherWrites } from './gather-writes.ts'

/** A stream that takes everything as soon as it is let go. */
function streamOf() {
  const stream = {
    corks: 0,
    waiting: 0,
    flushes: 0,
    cork: () => void (stream.corks += 1),
    uncork() {
      stream.corks -= 1
      stream.waiting = 0
      stream.flushes += 1
    },
  }
  return stream
}

test('what is written to many streams in one turn of the loop goes out once for each, at its end', async () => {
  const writes = gatherWrites()
  const streams = [streamOf(), streamOf()]
  for (let n = 0; n < 5; n += 1) for (const stream of streams) writes.hold(stream)
  expect(streams.map(({ corks, flushes }) => [corks, flushes])).toEqual([
    [1, 0],
    [1, 0],
  ])
  await new Promise((resolve) => setImmediate(resolve))
  expect(streams.map(({ corks, flushes }) => [corks, flushes])).toEqual([
    [0, 1],
    [0, 1],
  ])
  writes.hold(streams[0] as (typeof streams)[0])
  await new Promise((resolve) => setImmediate(resolve))
  expect(streams.map(({ corks, flushes }) => [corks, flushes])).toEqual([
    [0, 2],
    [0, 1],
  ])
})

test('what is only held back does not make a stream slow', async () => {
  const writes = gatherWrites()
  const stream = streamOf()
  writes.hold(stream)
  stream.waiting = 10
  expect(writes.buffered(stream, () => stream.waiting)).toBe(10)
  stream.waiting = 1_000_000
  expect(writes.buffered(stream, () => stream.waiting)).toBe(0)
  await new Promise((resolve) => setImmediate(resolve))
  expect([stream.corks, stream.flushes]).toEqual([0, 1])
})

test('a thousand listeners are written to a few at a time, and others run in between', async () => {
  const writes = gatherWrites()
  const streams = Array.from({ length: 1000 }, streamOf)
  for (const stream of streams) writes.hold(stream)
  const seen: number[] = []
  while (streams.some(({ corks }) => corks > 0)) {
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(streams.filter(({ flushes }) => flushes > 0).length)
    // One that is written to again while it waits still goes out once.
    if (seen.length < 5) writes.hold(streams[999] as (typeof streams)[0])
  }
  const steps = seen.map((flushed, index) => flushed - (seen[index - 1] ?? 0))
  expect(Math.max(...steps)).toBeLessThanOrEqual(64)
  expect(streams.every(({ corks, flushes }) => corks === 0 && flushes === 1)).toBe(true)
})
