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
  expect(findNearest('xyz', ['call', 'run', 'up'])).toBe('the known ones are call, run, up')
  expect(findNearest('May-Call', ['run', 'mayCall'])).toBe('the nearest known one is "mayCall"')
})

test('the nearest known name is offered where it can be a slip, otherwise all that there are', () => {
  const known = ['timeout', 'task', 'mayCall']
  expect(findNearest('tsk', known)).toBe('the nearest known one is "task"')
  expect(findNearest('may_call', known)).toBe('the nearest known one is "mayCall"')
  expect(findNearest('May-Call', known)).toBe('the nearest known one is "mayCall"')
  expect(findNearest('MAY CALL', known)).toBe('the nearest known one is "mayCall"')
  expect(findNearest('zzzzzz', known)).toBe('the known ones are timeout, task, mayCall')
  expect(findNearest('x', [])).toBe('there are none to choose from')
})

test('half of the longer name may be wrong, and no more', () => {
  expect(findNearest('abxx', ['abcd'])).toBe('the nearest known one is "abcd"')
  expect(findNearest('axxx', ['abcd'])).toBe('the known ones are abcd')
  expect(findNearest('ab', ['abcd'])).toBe('the nearest known one is "abcd"')
  expect(findNearest('abcd', ['ab'])).toBe('the nearest known one is "ab"')
})

test('of names that are as near, the first is offered, and of long ones only the beginning counts', () => {
  expect(findNearest('cat', ['bat', 'hat'])).toBe('the nearest known one is "bat"')
  const long = 'x'.repeat(100)
  expect(findNearest(`${long}abc`, [`${'y'.repeat(80)}`, `${long}zzz`])).toBe(
    `the nearest known one is "${long}zzz"`,
  )
  expect(findNearest(`${'x'.repeat(99)}ab`, [`${'x'.repeat(99)}bb`, `${'x'.repeat(99)}az`])).toBe(
    `the nearest known one is "${'x'.repeat(99)}az"`,
  )
})

test('of a known name only the beginning is compared', () => {
  expect(findNearest('x'.repeat(100), ['x'.repeat(300)])).toBe(
    `the nearest known one is "${'x'.repeat(300)}"`,
  )
})
