import { expect, test } from 'vitest'
import { remembered } from './remembered.ts'

test('what was worked out once is not worked out again, until there is no room for more', () => {
  const asked: number[] = []
  const double = remembered((given: number) => {
    asked.push(given)
    return given * 2
  }, 3)
  expect([0, 1, 0, 2, 1, 0].map(double)).toEqual([0, 2, 0, 4, 2, 0])
  expect(asked).toEqual([0, 1, 2])
  expect([3, 3, 2, 0, 3].map(double)).toEqual([6, 6, 4, 0, 6])
  expect(asked).toEqual([0, 1, 2, 3, 2, 0])
})
