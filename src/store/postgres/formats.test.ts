import { expect, test } from 'vitest'
import { findBar, knowsLog } from './formats.ts'

const older = { id: 'node_a', format: 1, until: 200 }
const same = { id: 'node_b', format: 2, until: 200 }

test('a node starts on a log of its own format, and on an older one where no older node lives', () => {
  expect(findBar(2, 2, [older, same], 100)).toBeNull()
  expect(findBar(2, 1, [{ ...older, until: 100 }, same], 100)).toBeNull()
  expect(findBar(2, 1, [], 0)).toBeNull()
})

test('it names the older nodes that live, and leaves a newer log alone', () => {
  expect(findBar(2, 1, [older, same], 199)).toEqual({ why: 'nodes older', nodes: ['node_a'] })
  expect(findBar(2, 3, [], 0)).toEqual({ why: 'log newer' })
})

test('what it may decide on is its own format, and what is older', () => {
  expect([knowsLog(2, 1), knowsLog(2, 2), knowsLog(2, 3)]).toEqual([true, true, false])
})
