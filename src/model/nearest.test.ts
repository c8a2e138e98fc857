import { expect, test } from 'vitest'
import { distance, findNearest } from './nearest.ts'

test('the edit distance counts insertions, deletions and substitutions', () => {
  expect([
    distance('', ''),
    distance('abc', ''),
    distance('port', 'prot'),
    distance('tool', 'tools'),
    distance('kitten', 'sitting'),
  ]).toEqual([0, 3, 2, 1, 3])
})

test('letters in another order are one slip, also in a short name', () => {
  expect(findNearest('rnu', ['call', 'run', 'up'])).toBe('the nearest known one is "run"')
  expect(findNearest('xyz', ['call', 'run', 'up'])).toBe('known are call, run, up')
  expect(findNearest('May-Call', ['run', 'mayCall'])).toBe('the nearest known one is "mayCall"')
})
