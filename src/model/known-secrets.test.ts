import { describe, expect, test } from 'vitest'
import { hashMax, knownSecrets, nextHash } from './known-secrets.ts'

/** Everything that is found, from every place that is worth a look. */
function findAll(values: readonly string[], text: string): string[] {
  const known = knownSecrets(values)
  const found = new Set<string>()
  let hash = 0
  for (let at = 0; at < text.length; at += 1) {
    hash = nextHash(hash, text.charCodeAt(at))
    const one = known.hashes[hash] === 0 ? null : known.find(text, at, hash)
    if (one !== null) found.add(`${one.start}-${one.end} ${text.slice(one.start, one.end)}`)
  }
  return [...found]
}

test('a hash depends on the last three characters only, and stays within its bound', () => {
  const hashOf = (text: string): number =>
    text.split('').reduce((hash, one) => nextHash(hash, one.charCodeAt(0)), 0)
  expect(hashMax).toBe(4095)
  expect(hashOf('abc')).toBe(((97 << 8) ^ (98 << 4) ^ 99) & 4095)
  expect(hashOf('xyzabc')).toBe(hashOf('abc'))
  expect(hashOf('abd')).not.toBe(hashOf('abc'))
  expect(nextHash(0, 0x4e61)).toBe(0x61)
  expect(nextHash(4095, 255)).toBe(((4095 << 4) ^ 255) & 4095)
})

describe('a secret that is known is found', () => {
  const secret = 'correct-horse-battery-staple-7'

  test('whole, from its first half and from its last', () => {
    expect(findAll([secret], `it is ${secret}!`)).toEqual([`6-36 ${secret}`])
  })

  test('cut at its end, while half of it is left', () => {
    expect(findAll([secret], `it is ${secret.slice(0, 15)}`)).toEqual([`6-21 ${secret.slice(0, 15)}`])
    expect(findAll([secret], `it is ${secret.slice(0, 22)} x`)).toEqual([`6-28 ${secret.slice(0, 22)}`])
    expect(findAll([secret], `it is ${secret.slice(0, 14)}`)).toEqual([])
  })

  test('cut at its start, while half of it is left', () => {
    expect(findAll([secret], `${secret.slice(-15)} is it`)).toEqual([`0-15 ${secret.slice(-15)}`])
    expect(findAll([secret], `x ${secret.slice(-22)} is it`)).toEqual([`2-24 ${secret.slice(-22)}`])
    expect(findAll([secret], `${secret.slice(-14)} is it`)).toEqual([])
  })

  test('of a short one twelve characters count', () => {
    expect(findAll(['abcdefgh-1234567'], 'x abcdefgh-123 y')).toEqual(['2-14 abcdefgh-123'])
    expect(findAll(['abcdefgh-1234567'], 'x abcdefgh-12 y')).toEqual([])
  })

  test('in JSON and in an address', () => {
    expect(findAll(['pass "word" 1'], 'a "pass \\"word\\" 1" b')).toEqual(['3-18 pass \\"word\\" 1'])
    expect(findAll(['pass word/1'], '?p=pass%20word%2F1&')).toEqual(['3-18 pass%20word%2F1'])
  })

  test('of two at one place, all that either covers', () => {
    expect(findAll(['abcdef12345', 'abcdef12345xyz'], 'abcdef12345xyz')).toContain('0-14 abcdef12345xyz')
    expect(findAll(['abcdefgh-1', 'xxabcdefgh-1'], 'xxabcdefgh-1')).toContain('0-12 xxabcdefgh-1')
    const [short, longer] = ['abcdefgh-1234567890xyz', 'abcdefgh-1234567890xyzw']
    expect(findAll([longer, short], `${longer} x`)[0]).toBe(`0-23 ${longer}`)
    const [tail, whole] = ['bcdefgh-1234567890xyzw', 'abcdefgh-1234567890xyzw']
    const hash = 'yzw'.split('').reduce((before, one) => nextHash(before, one.charCodeAt(0)), 0)
    for (const values of [
      [tail, whole],
      [whole, tail],
    ])
      expect(knownSecrets(values).find(`x ${whole}`, 24, hash)).toEqual({ start: 2, end: 25 })
  })

  test('with half of a pair of units in it', () => {
    expect(findAll(['abcdefgh-\ud83d'], 'abcdefgh-\ud83d')).toEqual(['0-10 abcdefgh-\ud83d'])
  })
})

test('what is not worth hiding is not looked for', () => {
  expect(findAll(['postgres', 'short-1', ''], 'postgres short-1')).toEqual([])
  expect(knownSecrets(['postgres']).hashes.some((one) => one !== 0)).toBe(false)
  expect(knownSecrets([]).hashes).toHaveLength(4096)
})

test('a place where only the hash fits finds nothing', () => {
  const known = knownSecrets(['correct-horse-1'])
  const text = 'other-horse-1'
  let hash = 0
  for (const one of text) hash = nextHash(hash, one.charCodeAt(0))
  expect(known.hashes[hash]).toBe(1)
  expect(known.find(text, text.length - 1, hash)).toBeNull()
  expect(known.find('-1', 1, hash)).toBeNull()
})

test('of a secret with an odd number of characters the larger half must be there', () => {
  const secret = 'abcdefghijklmnopqrstuvwxyz7'
  expect(findAll([secret], `x ${secret.slice(0, 13)} y`)).toEqual([])
  expect(findAll([secret], `x ${secret.slice(0, 14)} y`)).toEqual(['2-16 abcdefghijklmn'])
  expect(findAll([secret], `x ${secret.slice(-13)} y`)).toEqual([])
})

test('two secrets whose pieces end alike are both found', () => {
  const [one, other] = ['one-secret-xyz-and-its-end-1', 'two-secret-xyz-and-more-of-2']
  expect(findAll([one, other], `${one.slice(0, 14)}!`)).toEqual([`0-14 ${one.slice(0, 14)}`])
  expect(findAll([one, other], `${other.slice(0, 14)}!`)).toEqual([`0-14 ${other.slice(0, 14)}`])
})
