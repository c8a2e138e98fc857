import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundedLines, LineTooLong } from './bounded-lines.ts'

test('lines come out as they went in, however they were cut', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'é', '世', '😀', ' ') })
  fc.assert(
    fc.property(
      fc.array(line),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom('\n', '\r\n'),
      (lines, step, end) => {
        const bytes = Buffer.from(lines.map((one) => one + end).join(''))
        const taken: string[] = []
        const push = boundedLines(1000, (one) => taken.push(one))
        for (let at = 0; at < bytes.length; at += step) push(bytes.subarray(at, at + step))
        expect(taken).toEqual(lines)
      },
    ),
  )
})

test('a line that never ends is given up at its bound, before more is kept of it', () => {
  const push = boundedLines(100_000, () => undefined)
  let pushed = 0
  expect(() => {
    for (; pushed < 1000; pushed += 1) push(Buffer.alloc(1000, 'x'))
  }).toThrow(LineTooLong)
  expect(pushed).toBe(100)
})

test('a line of just its bound is taken, one byte more is not, and the next begins anew', () => {
  const taken: string[] = []
  const push = boundedLines(3, (line) => taken.push(line))
  push(Buffer.from('abc\nde'))
  push(Buffer.from('f\n'))
  expect(taken).toEqual(['abc', 'def'])
  expect(() => push(Buffer.from('abcd\n'))).toThrow('a line has more than 3 bytes')
})

test('what comes after the last break waits, and only one return is taken off the end', () => {
  const taken: string[] = []
  const push = boundedLines(100, (line) => taken.push(line))
  push(Buffer.from('a\r\r\n\n\rb\nrest'))
  expect(taken).toEqual(['a\r', '', '\rb'])
  push(Buffer.from(''))
  push(Buffer.from('\n'))
  expect(taken).toEqual(['a\r', '', '\rb', 'rest'])
})

test('a line that is too long is passed over where that is allowed, and the next is taken', () => {
  const taken: string[] = []
  const push = boundedLines(
    3,
    (line) => taken.push(line),
    () => taken.push('(long)'),
  )
  for (const piece of ['ab\nabcd', 'e'.repeat(100), 'f\ncd\n']) push(Buffer.from(piece))
  expect(taken).toEqual(['ab', '(long)', 'cd'])
})
