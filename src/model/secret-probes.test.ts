import { describe, expect, test } from 'vitest'
import { findWith } from '../../test/kits/probe.ts'
import {
  addressPassword,
  afterScheme,
  azureSecret,
  discordToken,
  jsonWebToken,
  mayBegin,
  schemeToken,
  telegramToken,
  type ProbeSet,
} from './secret-probes.ts'

/** Each row: what it is, a text, what is found, and what is found where better one too many is. */
type Row = [string, string, string[], string[]?]
const check =
  (create: () => ProbeSet) =>
  (_what: string, text: string, found: string[], strictly = found): void => {
    expect(findWith(create(), text)).toEqual(found)
    expect(findWith(create(), text, true)).toEqual(strictly)
  }

test('a token begins right behind the last one, or where a word does', () => {
  const look = { text: 'ab cd', number: 1, from: 1, strict: false }
  expect([0, 1, 2, 3, 4].map((at) => mayBegin(look, at))).toEqual([false, true, false, true, false])
})

describe('a signed token', () => {
  const [head, body, seal] = [`eyJ${'a'.repeat(10)}`, `eyJ${'b'.repeat(6)}`, 'c'.repeat(9)]
  const whole = `${head}.${body}.${seal}`
  test.each<Row>([
    ['three parts', `x ${whole} y`, [whole]],
    ['a dot behind it', `${whole}. And`, [whole]],
    ['what follows belongs to it', `${whole}.more-1`, [`${whole}.more-1`]],
    ['a head that is too short', `${head.slice(0, -1)}.${body}.${seal}`, []],
    ['a body that is too short', `${head}.${body.slice(0, -1)}.${seal}`, []],
    ['a seal that is too short', `${head}.${body}.${seal.slice(0, -1)}`, []],
    ['no second dot', `${head}.${body} ${seal}`, []],
    ['no first dot', `${head} ${body}.${seal}`, []],
    ['a body that is no JSON', `${head}.${'b'.repeat(9)}.${seal}`, [], [`${head}.${'b'.repeat(9)}.${seal}`]],
    ['another letter before', `zyJ${whole.slice(3)}`, []],
    ['inside of a word', `x${whole}`, []],
  ])('%s', check(jsonWebToken))
})

describe('a password in an address', () => {
  test.each<Row>([
    ['of letters and digits', 'db://me:sesame99@host', ['sesame99']],
    ['without a user', 'redis://:sesame99@host', ['sesame99']],
    ['of seven characters', 'db://me:sesam99@host', [], ['sesam99']],
    ['of letters alone', 'db://me:sesamesa@host', [], ['sesamesa']],
    ['of digits alone', 'db://me:12345678@host', [], ['12345678']],
    ['of three characters', 'db://me:abc@host', [], ['abc']],
    ['of two characters', 'db://me:ab@host', []],
    ['with no at sign', 'db://me:sesame99/host', []],
    ['with a blank', 'db://me:sesa me99@host', []],
    ['with a break', 'db://me:sesa\nme99@host', []],
    ['with a vertical tab', 'db://me:sesa\vme99@host', []],
    ['with a bracket', 'db://me:sesame[99@host', []],
    ['with a quote', 'db://me:sesame"99@host', []],
    ['behind one slash', 'db:/me:sesame99@host', []],
    ['behind a user with a slash', 'db://m/e:sesame99@host', []],
    ['behind a user with a quote', `db://m'e:sesame99@host`, []],
    ['behind a user of 64', `db://${'u'.repeat(64)}:sesame99@host`, ['sesame99']],
    ['behind a user of 65', `db://${'u'.repeat(65)}:sesame99@host`, []],
    ['of 256', `db://me:${'a1'.repeat(128)}@host`, ['a1'.repeat(128)]],
    ['of 257', `db://me:${'a1'.repeat(128)}x@host`, []],
    ['that ends the text', 'db://me:sesame99', []],
  ])('%s', check(addressPassword))
})

describe('what follows Bearer or Basic', () => {
  const key = 'abcdefgh12345678'
  test.each<Row>([
    ['in small letters', `bearer ${key}`, [key]],
    ['with a capital', `Bearer ${key}`, [key]],
    ['in capitals', `BEARER ${key}`, [key]],
    ['basic', `basic ${key}`, [key]],
    ['Basic', `Basic ${key}`, [key]],
    ['BASIC', `BASIC ${key}`, [key]],
    ['after eight blanks', `Bearer        ${key}`, [key]],
    ['after nine blanks', `Bearer         ${key}`, []],
    ['after a break', `Bearer\n${key}`, [key]],
    ['after no blank', `Bearer:${key}`, []],
    ['with padding', `Basic ${key}==,`, [`${key}==`]],
    ['with a dot behind it', `Bearer ${key}. Then`, [key]],
    ['of fifteen characters', `Bearer ${key.slice(1)}`, [], [key.slice(1)]],
    ['of letters alone', `Bearer ${'a'.repeat(16)}`, [], ['a'.repeat(16)]],
    ['of eight characters', 'Bearer abcd1234', [], ['abcd1234']],
    ['of seven characters', 'Bearer abc1234', []],
    ['inside of a word', `xbearer ${key}`, []],
    ['another word', `beaver ${key}`, []],
  ])('%s', check(schemeToken))

  test('begins where the blanks behind the word end', () => {
    expect(afterScheme('x Bearer  y', 2)).toBe(10)
    expect(afterScheme('basic\ty', 0)).toBe(6)
    expect(afterScheme('basics y', 0)).toBe(-1)
    expect(afterScheme('bear y', 0)).toBe(-1)
    expect(afterScheme('bearer', 0)).toBe(-1)
    expect(['\t', '\n', '\v', '\f', '\r', ' '].map((blank) => afterScheme(`basic${blank}y`, 0))).toEqual([
      6, 6, 6, 6, 6, 6,
    ])
    expect(['\b', '\u000e', '!'].map((other) => afterScheme(`basic${other}y`, 0))).toEqual([-1, -1, -1])
  })
})

describe('a token of Telegram', () => {
  const key = `A${'b'.repeat(34)}`
  test.each<Row>([
    ['a number and a key', `bot 123456:${key} x`, [`123456:${key}`]],
    ['a long number', `1234567890123456:${key}`, [`1234567890123456:${key}`]],
    ['a number of five digits', `12345:${key}`, []],
    ['a key of 34', `123456:${key.slice(0, -1)}`, []],
    ['a key of 40', `123456:${key}${'c'.repeat(5)}`, [`123456:${key}${'c'.repeat(5)}`]],
    ['a key of 41', `123456:${key}${'c'.repeat(6)}`, []],
    ['a number inside of a word', `x123456:${key}`, []],
    ['no number', `abcdef:${key}`, []],
  ])('%s', check(telegramToken))
})

describe('a token of Discord', () => {
  const [id, time, seal] = [`M${'a'.repeat(22)}`, 'bbbbbb', `${'c'.repeat(26)}1`]
  const whole = `${id}.${time}.${seal}`
  test.each<Row>([
    ['three parts', `x ${whole} y`, [whole]],
    ['that begins with N', `N${whole.slice(1)}`, [`N${whole.slice(1)}`]],
    ['that begins with O', `O${whole.slice(1)}`, [`O${whole.slice(1)}`]],
    ['that begins with another', `P${whole.slice(1)}`, []],
    ['a number of 28', `M${'a'.repeat(27)}.${time}.${seal}`, [`M${'a'.repeat(27)}.${time}.${seal}`]],
    ['a number of 29', `M${'a'.repeat(28)}.${time}.${seal}`, []],
    ['a number of 22', `M${'a'.repeat(21)}.${time}.${seal}`, []],
    ['a time of five', `${id}.bbbbb.${seal}`, []],
    ['a time of seven', `${id}.bbbbbbb.${seal}`, []],
    ['a time with a mark', `${id}.bb+bbb.${seal}`, []],
    ['a time with a mark at its end', `${id}.bbbbb+.${seal}`, []],
    ['a time with dashes', `${id}.b-b_bb.${seal}`, [`${id}.b-b_bb.${seal}`]],
    ['a seal of 26', `${id}.${time}.${seal.slice(1)}`, []],
    ['a seal without a digit', `${id}.${time}.${'c'.repeat(27)}`, []],
    ['behind a mark', `+${whole}`, [whole]],
  ])('%s', check(discordToken))

  test('is looked for behind every letter and digit', () => {
    expect(discordToken().pairs).toHaveLength(62)
    expect(discordToken().pairs.slice(0, 2)).toEqual(['A.', 'B.'])
  })
})

describe('a secret of Microsoft Entra', () => {
  const rest = 'd'.repeat(31)
  test.each<Row>([
    ['three characters, a digit, Q~ and 31 more', `x abc8Q~${rest}, y`, [`abc8Q~${rest}`]],
    ['30 more', `abc8Q~${rest.slice(1)}`, []],
    ['42 more', `abc8Q~${'d'.repeat(42)}`, [`abc8Q~${'d'.repeat(42)}`]],
    ['43 more', `abc8Q~${'d'.repeat(43)}`, []],
    ['no digit', `abcdQ~${rest}`, []],
    ['fewer characters before', `c8Q~${rest}`, []],
    ['inside of a word', `xabc8Q~${rest}`, []],
    ['a dot behind it', `abc8Q~${rest}. Then`, [`abc8Q~${rest}`]],
  ])('%s', check(azureSecret))
})
