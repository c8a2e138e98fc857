import { expect, test } from 'vitest'
import { rateLimit } from './rate-limit.ts'

test('a client may come as often as it is allowed to in a minute, then evenly', () => {
  let now = 0
  const limit = rateLimit(60, () => now)
  for (let n = 0; n < 60; n += 1) expect(limit.take('a')).toBeNull()
  expect(limit.take('a')).toBe(1000)
  now += 400
  expect(limit.take('a')).toBe(600)
  now += 600
  expect(limit.take('a')).toBeNull()
  expect(limit.take('a')).toBe(1000)
  now += 3_600_000
  for (let n = 0; n < 60; n += 1) expect(limit.take('a')).toBeNull()
  expect(limit.take('a')).not.toBeNull()
})

test('clients do not take from each other', () => {
  const limit = rateLimit(1, () => 0)
  expect(limit.take('a')).toBeNull()
  expect(limit.take('a')).not.toBeNull()
  expect(limit.take('b')).toBeNull()
})

test('a clock that goes back takes nothing away', () => {
  let now = 1000
  const limit = rateLimit(60, () => now)
  limit.take('a')
  now = 0
  expect(limit.take('a')).toBeNull()
  now = -3_600_000
  expect(limit.take('a')).toBeNull()
})

test('whoever comes, what is remembered stays bounded, and whoever used up theirs is forgotten last', () => {
  let now = 0
  const limit = rateLimit(2, () => now)
  limit.take('greedy')
  limit.take('greedy')
  for (let n = 0; n < 9_999; n += 1) limit.take(`client ${n}`)
  now += 30_000
  // All others are full again by now, and are forgotten for the next one that comes.
  limit.take('greedy')
  for (let n = 0; n < 9_999; n += 1) limit.take(`other ${n}`)
  expect(limit.take('greedy')).not.toBeNull()
})

test('where all that are remembered have used up theirs, the oldest is forgotten', () => {
  const limit = rateLimit(1, () => 0)
  limit.take('oldest')
  for (let n = 0; n < 9_999; n += 1) limit.take(`client ${n}`)
  expect([limit.take('oldest'), limit.take('client 9998')]).not.toContain(null)
  limit.take('one more')
  expect(limit.take('client 9998')).not.toBeNull()
  expect(limit.take('oldest')).toBeNull()
})
