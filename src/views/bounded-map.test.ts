import { expect, test } from 'vitest'
import { boundedMap } from './bounded-map.ts'

test('a full map drops its oldest entry for a new one, and none for one that it has', () => {
  const map = boundedMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('b', 3)
  expect([map.get('a'), map.get('b'), map.size()]).toEqual([1, 3, 2])
  map.set('c', 4)
  expect([map.get('a'), map.get('b'), map.get('c'), map.size()]).toEqual([undefined, 3, 4, 2])
  expect([map.take('b'), map.get('b'), map.size()]).toEqual([3, undefined, 1])
})
