import { expect, test } from 'vitest'
import { boundedNames, histogram } from './prometheus-text.ts'

test('a value at the bound of a bucket is in it, and buckets add up', () => {
  const seconds = histogram('seconds', 'how long', [1, 5])
  for (const value of [0.5, 1, 5, 6]) seconds.observe({ route: '/x' }, value)
  const lines = seconds
    .text()
    .split('\n')
    .filter((line) => line.startsWith('seconds'))
  expect(lines).toEqual([
    'seconds_bucket{route="/x",le="1"} 2',
    'seconds_bucket{route="/x",le="5"} 3',
    'seconds_bucket{route="/x",le="+Inf"} 4',
    'seconds_sum{route="/x"} 12.5',
    'seconds_count{route="/x"} 4',
  ])
})

test('so many names are kept apart, and those that came first stay so', () => {
  const bound = boundedNames(2)
  expect(['a', 'b', 'c', 'a', 'd', 'b'].map(bound)).toEqual(['a', 'b', 'other', 'a', 'other', 'b'])
})
