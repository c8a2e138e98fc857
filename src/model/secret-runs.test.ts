import { describe, expect, test } from 'vitest'
import {
  begins,
  buildTable,
  isDigitCode,
  isLetterCode,
  Run,
  type Alphabet,
  type Look,
} from './secret-runs.ts'

let number = 0
const lookAt = (text: string): Look => ({ text, number: (number += 1), from: 0, strict: false })
const endOf = (alphabet: Alphabet, text: string, at = 0): number => new Run(alphabet).end(lookAt(text), at)

const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const digits = '0123456789'

test.each<[Alphabet, string]>([
  ['hex', `${digits}ABCDEFabcdef`],
  ['upper', `${digits}ABCDEFGHIJKLMNOPQRSTUVWXYZ`],
  ['alnum', digits + letters],
  ['word', `${digits}${letters}_`],
  ['dashed', `-${digits}${letters}`],
  ['base64', `+/${digits}=${letters}`],
  ['base64url', `-${digits}${letters}_`],
  ['dotted', `-.${digits}${letters}_`],
  ['path', `-/${digits}${letters}_`],
  ['plain', `%+-/${digits}${letters}_~`],
  ['header', `+-./${digits}=${letters}_~`],
  ['assigned', `!#%*+-./${digits}:=@${letters}^_~`],
  ['armour', `\t\n\r ()+,-./${digits}:=${letters}\\_`],
  [
    'value',
    ascii
      .slice(33, 127)
      .filter((one) => !'"\'`[]\\'.includes(one))
      .join(''),
  ],
])('the alphabet %s', (alphabet, characters) => {
  const inside = ascii.filter((one) => endOf(alphabet, one) === 1)
  expect(inside.sort()).toEqual(characters.split('').sort())
})

test('only a value between quotes goes beyond ASCII', () => {
  expect(endOf('value', 'é你')).toBe(2)
  expect(endOf('header', 'é')).toBe(0)
})

test('letters and digits are those of ASCII', () => {
  expect(ascii.filter((one) => isLetterCode(one.charCodeAt(0))).join('')).toBe(letters)
  expect(ascii.filter((one) => isDigitCode(one.charCodeAt(0))).join('')).toBe(digits)
  expect([isLetterCode(233), isDigitCode(0x661)]).toEqual([false, false])
  expect([...buildTable('ab')].filter((one) => one === 1)).toHaveLength(2)
})

describe('the end of a run', () => {
  test('is asked for from inside of it and answered from memory, without a second look', () => {
    const run = new Run('alnum')
    const look = lookAt('abc1 def')
    expect(run.end(look, 0)).toBe(4)
    look.text = '    '
    expect([run.end(look, 1), run.end(look, 3)]).toEqual([4, 4])
  })

  test('is looked for again behind it, and in another text', () => {
    const run = new Run('alnum')
    const look = lookAt('abc1 def')
    expect([run.end(look, 0), run.end(look, 4), run.end(look, 5)]).toEqual([4, 4, 8])
    expect(run.end(lookAt('a '), 0)).toBe(1)
  })

  test('is the place itself before the latest run', () => {
    const run = new Run('alnum')
    const look = lookAt('abc1 def')
    run.end(look, 5)
    expect(run.end(look, 4)).toBe(4)
  })

  test('leaves the dots at its end to the sentence', () => {
    const run = new Run('dotted')
    const look = lookAt('a.b... c')
    expect(run.end(look, 0)).toBe(6)
    expect([run.solidEnd(look, 0), run.solidEnd(look, 2)]).toEqual([3, 3])
    expect(run.solidEnd(look, 4)).toBe(4)
    expect(new Run('alnum').solidEnd(lookAt('ab'), 0)).toBe(2)
  })
})

describe('what is known of a run from a place on', () => {
  const read = (text: string): Run => {
    const run = new Run('base64url')
    run.end(lookAt(text), 0)
    return run
  }

  test('whether it has a digit', () => {
    expect([0, 2, 3].map(read('ab1c').hasDigit)).toEqual([true, true, false])
    expect(read('abc').hasDigit(0)).toBe(false)
  })

  test('whether it has letters and digits', () => {
    expect([0, 2, 3].map(read('ab1c').isMixed)).toEqual([true, true, false])
    expect([0, 1, 2].map(read('ab1').isMixed)).toEqual([true, true, false])
    expect(read('123').isMixed(0)).toBe(false)
  })

  test('whether it has ten letters and digits in a row', () => {
    expect(read('abcde12345').hasChunk(0)).toBe(true)
    expect(read('abcd12345').hasChunk(0)).toBe(false)
    expect(read('abcde-12345').hasChunk(0)).toBe(false)
    expect(read('abcdefghij').hasChunk(0)).toBe(false)
    expect(read('1234567890').hasChunk(0)).toBe(false)
    expect([0, 2, 3].map(read('a-abcde12345').hasChunk)).toEqual([true, true, false])
    expect(read('1-abcdefghij').hasChunk(0)).toBe(false)
    expect(read('a-1234567890').hasChunk(0)).toBe(false)
  })

  test('whether letters and digits take turns four times', () => {
    expect(read('a1b2c').changesOften(0)).toBe(true)
    expect(read('a1b2').changesOften(0)).toBe(false)
    expect(read('1a2b3').changesOften(0)).toBe(true)
    expect(read('aa11bb22cc').changesOften(0)).toBe(true)
    expect([0, 1].map(read('a1b2c').changesOften)).toEqual([true, false])
    expect([0, 1, 2].map(read('xa1b2c').changesOften)).toEqual([true, true, false])
    expect(read('a-1-b-2-c').changesOften(0)).toBe(false)
    expect(read('a1-b2-c3-d4').changesOften(0)).toBe(true)
  })
})

describe('a token may begin', () => {
  test.each([
    ['at the start', 'x', 0, true],
    ['after a blank', ' x', 1, true],
    ['after a mark', '_x', 1, true],
    ['after a letter', 'zx', 1, false],
    ['after a digit', '7x', 1, false],
    ['after a letter of an escape', '\\nx', 2, true],
    ['after another escape', '\\rx', 2, true],
    ['after a tab', '\\tx', 2, true],
    ['after a backspace', '\\bx', 2, true],
    ['after a feed', '\\fx', 2, true],
    ['after what is no escape', '\\zx', 2, false],
    ['after the letter alone', 'anx', 2, false],
    ['after two hex digits of an address', '%3Dx', 3, true],
    ['after what is no hex digit', '%3Gx', 3, false],
    ['after hex digits without a sign', 'a3Dx', 3, false],
    ['after an escape of four hex digits', '\\u003dx', 6, true],
    ['after another letter than u', '\\x003dx', 6, false],
    ['after u without a backslash', 'zu003dx', 6, false],
  ])('%s', (_where, text, at, may) => expect(begins(text, at)).toBe(may))
})
