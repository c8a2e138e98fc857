import { expect, test } from 'vitest'
import { distance } from './nearest.ts'

test('the edit distance counts insertions, deletions and substitutions', () => {
  expect([
    distance('', ''),
    distance('abc', ''),
    distance('port', 'prot'),
    distance('tool', 'tools'),
    distance('kitten', 'sitting'),
  ]).toEqual([0, 3, 2, 1, 3])
})
