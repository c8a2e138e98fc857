import { expect, test } from 'vitest'
import { formatAgo } from './amounts.ts'

test('how long ago, in one short word', () => {
  expect([-5, 0, 59_999, 60_000, 3_599_999, 7_200_000, 90_000_000].map(formatAgo)).toEqual([
    '0s ago',
    '0s ago',
    '59s ago',
    '1m ago',
    '59m ago',
    '2h ago',
    '1d ago',
  ])
})
