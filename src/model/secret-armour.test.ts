import { expect, test } from 'vitest'
import { findWith } from '../../test/kits/probe.ts'
import { privateKey } from './secret-armour.ts'

const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj'
const [begin, end] = ['-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----']

const whole = `${begin}\n${line}\n${line}\n${end}`

test.each([
  ['a key', whole, [whole]],
  ['a key in a text', `see ${whole} here`, [whole]],
  ['two keys', `${whole}\n${whole}`, [whole, whole]],
  [
    'a key of a kind',
    `-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----`,
    [`-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----`],
  ],
  [
    'a block',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----',
    ['-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----'],
  ],
  ['a certificate', `-----BEGIN CERTIFICATE-----\n${line}\n-----END CERTIFICATE-----`, []],
  ['a public key', `-----BEGIN PUBLIC KEY-----\n${line}\n-----END PUBLIC KEY-----`, []],
  ['a label that is too long', `-----BEGIN ${'A'.repeat(60)} PRIVATE KEY-----\n${line}`, []],
  ['a label without an end', `-----BEGIN PRIVATE KEY\n${line}`, []],
  ['fewer dashes', `----BEGIN PRIVATE KEY-----\n${line}`, []],
  ['nothing behind the label', begin, []],
  ['prose behind the label', `${begin} is followed by lines`, []],
  ['one line that was cut', `${begin}\n${line}`, [`${begin}\n${line}`]],
  ['a line of sixteen', `${begin}\n${'Ab1+'.repeat(4)}`, [`${begin}\n${'Ab1+'.repeat(4)}`]],
  ['a line of fifteen', `${begin}\n${'Ab1+'.repeat(4).slice(1)}`, []],
  ['a short last line', `${begin}\n${line}\nab==`, [`${begin}\n${line}\nab==`]],
  ['a short last line before a mark', `${begin}\n${line}\nab==…`, [`${begin}\n${line}\nab==`]],
  ['a word behind the last line', `${begin}\n${line}\nand then`, [`${begin}\n${line}`]],
  ['a word before a tab', `${begin}\n${line}\nand\tthen`, [`${begin}\n${line}`]],
  ['breaks that are escaped', `${begin}\\n${line}\\r\\n${line}`, [`${begin}\\n${line}\\r\\n${line}`]],
  ['blanks before its lines', `${begin}\r\n \t${line}`, [`${begin}\r\n \t${line}`]],
  ['a break at the very end', `${begin}\n${line}\n`, [`${begin}\n${line}`]],
  ['another end', `${begin}\n${line}\n-----END CERTIFICATE-----`, [`${begin}\n${line}`]],
  ['an end behind other text', `${begin}\n${line}\n{}\n${end}`, [`${begin}\n${line}`]],
  ['two that only begin', `${begin}\n${line}\n${begin}\n${line}`, [`${begin}\n${line}`, `${begin}\n${line}`]],
  ['one that only begins before a whole one', `${begin} x {}\n${whole}`, [whole]],
])('%s', (_what, text, found) => {
  expect(findWith(privateKey(), text)).toEqual(found)
})

test('what was found in one text is not remembered for the next', () => {
  const { probe } = privateKey()
  const first = `${' '.repeat(200)}${whole}`
  expect(probe({ text: first, number: 1, from: 0, strict: false }, 205)).toEqual({
    start: 200,
    end: first.length,
  })
  const cut = `${begin}\n${line} {}`
  expect(probe({ text: cut, number: 2, from: 0, strict: false }, 5)).toEqual({
    start: 0,
    end: cut.length - 3,
  })
  expect(probe({ text: whole, number: 3, from: 1, strict: false }, 5)).toBeNull()
})
