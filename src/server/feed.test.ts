import { expect, onTestFinished, test } from 'vitest'
import { testClock } from '../../test/kits/turns.ts'
import type { Desks } from '../runtime/desk/desk.ts'
import { createListeners, type Feed, type Listener } from './feed.ts'

function feedOf(limits: { listenersMax?: number; bufferedBytesTotalMax?: number } = {}): {
  feed: Feed
  warned: unknown[]
} {
  const closing = new AbortController()
  onTestFinished(() => closing.abort())
  const warned: unknown[] = []
  const feed = createListeners({
    desks: { as: () => ({ log: { lastSeq: () => 100 } }) } as unknown as Desks,
    clock: testClock(),
    log: (_level, _message, fields) => warned.push(fields),
    listenersMax: 10,
    bufferedBytesMax: 1000,
    bufferedBytesTotalMax: 1000,
    beatMs: 1000,
    closing: closing.signal,
    ...limits,
  })
  return { feed, warned }
}

/** One that holds so much, and what became of it. */
function listener(bytes = 0): Listener & { fate: string[] } {
  const fate: string[] = []
  return {
    fate,
    beat: () => void fate.push('beat'),
    end: () => void fate.push('end'),
    shed: () => void fate.push('shed'),
    held: () => bytes,
  }
}

test('so many may listen, and one more when one has left', () => {
  const { feed } = feedOf({ listenersMax: 2 })
  const [leave, second] = [feed.join(listener()), feed.join(listener())]
  expect([leave, second, feed.join(listener())]).toEqual([expect.anything(), expect.anything(), null])
  leave?.()
  expect(feed.join(listener())).not.toBeNull()
  expect(feed.join(listener())).toBeNull()
})

test('where all together hold too much, those that hold most go until the rest fits, and no others', () => {
  const { feed, warned } = feedOf({ bufferedBytesTotalMax: 160 })
  const all = [10, 100, 50, 90].map(listener)
  for (const one of all.slice(0, 3)) feed.join(one)
  expect(all.map(({ fate }) => fate)).toEqual([[], [], [], []])
  feed.join(all[3] as Listener)
  feed.join(listener())
  expect(all.map(({ fate }) => fate)).toEqual([[], ['shed'], [], []])
  expect(warned).toEqual([{ buffered: 100 }])
  feed.end()
  expect(all.map(({ fate }) => fate.at(-1))).toEqual(['end', 'shed', 'end', 'end'])
})

test('nobody is dropped where all together hold exactly what they may', () => {
  const { feed, warned } = feedOf({ bufferedBytesTotalMax: 150 })
  const all = [100, 50].map(listener)
  for (const one of all) feed.join(one)
  feed.join(listener())
  expect([all.map(({ fate }) => fate), warned]).toEqual([[[], []], []])
})

test.each([
  [null, 100],
  [0, 0],
  ['7', 7],
  [100, 100],
  ['101', 100],
  [1e9, 100],
])('a cursor %j begins at %j', (after, start) => expect(feedOf().feed.resolveStart(after)).toBe(start))

test.each([-1, 1.5, '-1', '', 'x', '1e3', ' 1', '1'.repeat(16), Number.NaN])('%j is no cursor', (after) =>
  expect(feedOf().feed.resolveStart(after)).toMatchObject({ code: 'bad_input', field: 'after' }),
)
