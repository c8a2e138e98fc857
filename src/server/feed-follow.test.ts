import { expect, test } from 'vitest'
import type { Delta } from '../wire/log.ts'
import { notice, createLog, ticks, numbers, following } from '../../test/kits/followers.ts'

test.each(['at once', 'later'] as const)(
  'F1: every event after the cursor comes once and in order, when the log is told %s',
  async (paging) => {
    const log = createLog(
      numbers(1, 10).map((seq) => notice(seq)),
      paging,
    )
    const { outlet, follower } = following(log)
    follower.start(3, null)
    await ticks()
    log.append(notice(11), notice(12))
    log.append(notice(12))
    log.append(notice(13))
    expect(outlet.seqs()).toEqual(numbers(4, 13))
    follower.stop()
    log.append(notice(14))
    expect(outlet.seqs()).toEqual(numbers(4, 13))
    expect(log.listeners()).toBe(0)
  },
)

test('a new start takes the place of the old one', async () => {
  const log = createLog(numbers(1, 6).map((seq) => notice(seq)))
  const { outlet, follower } = following(log)
  follower.start(0, null)
  follower.start(4, null)
  await ticks()
  expect(outlet.seqs()).toEqual([5, 6])
  expect(log.listeners()).toBe(1)
})

test('whoever follows no session subscribes to nothing', () => {
  const log = createLog([notice(1)], 'at once')
  const { outlet, follower } = following(log)
  follower.start(0, [])
  expect([outlet.seqs(), log.listeners()]).toEqual([[], 0])
})

test.each(['at once', 'later'] as const)(
  'F2: while it catches up it holds about as much as it takes, when the log is told %s',
  async (paging) => {
    const log = createLog(
      numbers(1, 40).map((seq) => notice(seq, 'ses_1', 100_000)),
      paging,
    )
    const { outlet, follower } = following(log, { bufferedBytesMax: 1 })
    follower.start(0, null)
    let subscribedWhileFull = 0
    for (let n = 0; n < 40 && outlet.seqs().length < 40; n += 1) {
      await ticks()
      subscribedWhileFull += outlet.waiting.length > 0 ? log.listeners() : 0
      outlet.drain()
    }
    await ticks()
    expect(outlet.seqs()).toEqual(numbers(1, 40))
    expect(subscribedWhileFull).toBe(0)
    expect(outlet.bytesMost).toBeLessThan(500_000)
    expect(outlet.dropped).toBeNull()
  },
)

test('F3: up to date, it is dropped when it falls behind, with the last number that was sent', async () => {
  const log = createLog([notice(1)])
  const { outlet, follower } = following(log, { bufferedBytesMax: 250_000 })
  follower.start(0, null)
  await ticks()
  for (const seq of numbers(2, 10)) log.append(notice(seq, 'ses_1', 100_000))
  expect(outlet.seqs()).toEqual(numbers(1, 4))
  expect(outlet.dropped).toBe(4)
  expect(log.listeners()).toBe(0)
})

test('F3: one event larger than the bound does not make a quick listener slow', async () => {
  const log = createLog([notice(1)], 'at once')
  const { outlet, follower } = following(log, { bufferedBytesMax: 1000 })
  follower.start(1, null)
  log.append(notice(2, 'ses_1', 5000))
  outlet.drain()
  log.append(notice(3))
  expect([outlet.seqs(), outlet.dropped]).toEqual([[2, 3], null])
})

test('deltas are left out for whoever cannot take them now', () => {
  const log = createLog([])
  const { outlet, follower } = following(log)
  follower.start(0, null)
  const delta: Delta = { session: 'ses_1', turn: 'turn_1', epoch: 1, step: 1, offset: 0, text: 'x' }
  log.delta(delta)
  outlet.bytes = 300_000
  log.delta(delta)
  expect(outlet.sent).toHaveLength(1)
  expect(outlet.dropped).toBeNull()
})

test('a listener that breaks is stopped and told about, and disturbs nobody', async () => {
  const log = createLog([notice(1)])
  const { follower, faults } = following(log, {
    outlet: {
      send: () => {
        throw new Error('broken')
      },
      buffered: () => 0,
      drop: () => undefined,
    },
  })
  follower.start(0, null)
  await ticks()
  expect(faults).toHaveLength(1)
  expect(() => log.append(notice(2))).not.toThrow()
  expect(log.listeners()).toBe(0)
})
