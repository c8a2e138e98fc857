import { expect, test } from 'vitest'
import { dropOldest } from './drop-oldest.ts'

const fill = (count: number, max: number, isUnused: (n: number) => boolean): number[] => {
  const map = new Map<number, number>()
  for (let n = 0; n < count; n += 1) {
    map.set(n, n)
    dropOldest(map, max, isUnused)
  }
  return [...map.keys()].toSorted((a, b) => a - b)
}

test('of those that nobody uses the newest stay', () => {
  expect(fill(10, 4, () => true)).toEqual([6, 7, 8, 9])
})

test('ten thousand in use are all there, and one that is not goes', () => {
  const kept = fill(10_000, 100, (n) => n === 5000)
  expect([kept.length, kept.includes(5000)]).toEqual([9999, false])
})
