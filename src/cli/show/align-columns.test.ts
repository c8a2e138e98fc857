import { expect, test } from 'vitest'
import { alignColumns } from './width.ts'

test('columns stand below their words, also beside wide letters; what is below a row stays as it is', () => {
  expect(
    alignColumns('FLOW  STATE  TASK', ['1  completed  Build it  twice', '234567  日本  x\n        waits']),
  ).toEqual([
    'FLOW    STATE      TASK',
    '1       completed  Build it  twice',
    '234567  日本       x\n        waits',
  ])
})

test('a very long column does not push the others away', () => {
  const long = 'x'.repeat(50)
  expect(alignColumns('A  B', [`${long}  1`, 'y  2'])).toEqual([
    `${'A'.padEnd(32)}  B`,
    `${long}  1`,
    `${'y'.padEnd(32)}  2`,
  ])
})
