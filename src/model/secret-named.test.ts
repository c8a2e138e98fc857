import { describe, expect, test } from 'vitest'
import { findWith } from '../../test/kits/probe.ts'
import { namedValue } from './secret-named.ts'

/** Each row: a text, what is found in it, and what is found where better one too many is. */
type Row = [string, string[], string[]?]
const check = (text: string, found: string[], strictly = found): void => {
  expect(findWith(namedValue(), text)).toEqual(found)
  expect(findWith(namedValue(), text, true)).toEqual(strictly)
}
const mixed = 'a1b2c3d4e5f6a7b8'

describe('a value between quotes', () => {
  test.each<Row>([
    ['"password":"letmein77"', ['letmein77']],
    ["'password': 'letmein77'", ['letmein77']],
    ['`password`: `letmein77`', ['letmein77']],
    ['password = "letmein77"', ['letmein77']],
    ['password := "letmein77"', ['letmein77']],
    ['password => "letmein77"', ['letmein77']],
    ['password:    "letmein77"', ['letmein77']],
    ['password:     "letmein77"', []],
    ['password    : "letmein77"', ['letmein77']],
    ['password     : "letmein77"', []],
    ['password\t:\t"letmein77"', ['letmein77']],
    [String.raw`\"password\":\"letmein77\"`, ['letmein77']],
    [String.raw`\\\\"password\\\\":\\\\"letmein77"`, ['letmein77']],
    [String.raw`\\\\\"password":\\\\\"letmein77"`, []],
    ['"password":"letmei77"', ['letmei77']],
    ['"password":"letme77"', [], ['letme77']],
    ['"password":"lets77"', [], ['lets77']],
    ['"password":"let77"', []],
    ['"password":"letmeins"', [], ['letmeins']],
    ['"password":"12345678"', [], ['12345678']],
    ['"password":"ses_12345678"', []],
    ['"authorization":"Bearer letmein77"', ['letmein77']],
    ['"authorization":"Bearer  ses_12345678"', []],
    ['"user":"letmein77"', []],
    ['"tokens":"letmein77"', []],
    ['"api_key":"letmein77","x":"letmein88"', ['letmein77']],
    ['"sig":"letmein77"', []],
    ['password "letmein77"', []],
    [':"letmein77"', []],
    ['"credentials": "letmein77"', ['letmein77']],
    ['PASSWORD: "letmein77"', ['letmein77']],
    ['"Password": "letmein77"', ['letmein77']],
  ])('%s', check)
})

describe('a value that is assigned to a variable', () => {
  test.each<Row>([
    ['API_KEY=abcdefg123', ['abcdefg123']],
    ['API_KEY=abcdefg12', [], ['abcdefg12']],
    ['API_KEY=abcdef12', [], ['abcdef12']],
    ['API_KEY=abcde12', []],
    ['API_KEY=abcdefghij', [], ['abcdefghij']],
    ['API_KEY=abcdefg123.', ['abcdefg123']],
    ['API_KEY=abcdefg123... And', ['abcdefg123']],
    ['API_KEY=abcdefg123(x)', []],
    ['API_KEY=abcdefg123[0]', []],
    ['API_KEY=abcdefg123{', []],
    ['API_KEY=abcdefg123,', ['abcdefg123']],
    ['API_KEY=ses_1234567890', []],
    ['API_KEY=a:b!c@d#e%1^*', ['a:b!c@d#e%1^*']],
    ['API_KEY=$OTHER_KEY_1', []],
    ['API_KEY: abcdefg123', []],
    ['DB_PASS=abcdefg123', ['abcdefg123']],
    ['GH_PAT=abcdefg123', ['abcdefg123']],
    ['COMPASS=abcdefg123', []],
  ])('%s', check)
})

describe('a value without quotes', () => {
  test.each<Row>([
    [`access_token=${mixed}&x=1`, [mixed]],
    [`access_token = ${mixed}`, [mixed]],
    [`access_token: ${mixed}`, []],
    [`API_KEY = ${mixed}`, [mixed]],
    [`access_token=${mixed.slice(1)}`, [], [mixed.slice(1)]],
    ['access_token=abcdefg1', [], ['abcdefg1']],
    ['access_token=abcdef1', []],
    ['access_token=abcdefgh12345678', [], ['abcdefgh12345678']],
    [`access_token=${'a'.repeat(30)}12`, [`${'a'.repeat(30)}12`]],
    [`access_token=${'a'.repeat(29)}12`, [], [`${'a'.repeat(29)}12`]],
    [`access_token=${'a'.repeat(40)}`, [], ['a'.repeat(40)]],
    [`access_token=${mixed}==`, [`${mixed}==`]],
    [`access_token=${mixed}=== x`, [`${mixed}==`]],
    [`access_token=${mixed}.x`, []],
    [`access_token=${mixed}._x`, []],
    [`access_token=${mixed}. Then`, [mixed]],
    [`access_token=${mixed}...`, [mixed]],
    [`access_token=${mixed}.`, [mixed]],
    [`access_token=${mixed}(x)`, []],
    ['access_token=ses_a1b2c3d4e5f6', []],
    [`?sig=${mixed}&`, [mixed]],
    [`?big=${mixed}&`, []],
    [`password => ${mixed}`, [mixed]],
  ])('%s', check)
})

test('a name is read back only as far as the last secret', () => {
  const { probe } = namedValue()
  const text = 'token="letmein77"'
  expect(probe({ text, number: 1, from: 0, strict: false }, 5)).toEqual({ start: 7, end: 16 })
  expect(probe({ text, number: 2, from: 3, strict: false }, 5)).toBeNull()
  expect(probe({ text, number: 3, from: 4, strict: false }, 5)).toBeNull()
  const long = `${'x'.repeat(123)}_token="letmein77"`
  expect(probe({ text: long, number: 4, from: 0, strict: false }, long.indexOf('='))).toBeNull()
  const fits = `${'x'.repeat(122)}_token="letmein77"`
  expect(probe({ text: fits, number: 5, from: 0, strict: false }, fits.indexOf('='))).not.toBeNull()
})

test('it is looked for where a name can have ended', () => {
  const { pairs } = namedValue()
  for (const pair of [
    'y=',
    'Y:',
    's=',
    'N:',
    't=',
    'd:',
    'e=',
    'l:',
    'g=',
    '":',
    "'=",
    '`:',
    ' =',
    '\t:',
    ':=',
  ])
    expect([pair, pairs.includes(pair)]).toEqual([pair, true])
  for (const pair of ['a=', 'b:', '==', '1=']) expect([pair, pairs.includes(pair)]).toEqual([pair, false])
})
