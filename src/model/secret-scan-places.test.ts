/** Where a scan finds secrets, to the unit: known ones, strict ones, side by side, across slices. */
import { describe, expect, test } from 'vitest'
import { hashMax, nextHash } from './known-secrets.ts'
import {
  nextHit,
  probeTable,
  rarestPair,
  scanSliceUnits,
  secretScan,
  textMin,
  type Places,
} from './secret-scan.ts'

const known = 'known-secret-1'
const token = `ghp_${'aZ3k9QxW7bT2mR8vY4nL'}`
const scan = secretScan([known])
const strict = secretScan([known], true)

test('a text below eight units has no secret, and needs no look', () => {
  expect([textMin, scanSliceUnits]).toEqual([8, 16_384])
  expect(secretScan(['a-1'.padEnd(8, '2')])('a-122222')).toEqual([{ start: 0, end: 8 }])
  expect(scan('1234567')).toBeNull()
  expect(scan('')).toBeNull()
  expect(scan('a plain text')).toBeNull()
})

test.each<[string, string, Places]>([
  ['a known one', `it is ${known}.`, [{ start: 6, end: 20 }]],
  [
    'one twice',
    `${known}, ${known}`,
    [
      { start: 0, end: 14 },
      { start: 16, end: 30 },
    ],
  ],
  ['two that touch', `${known}${known}`, [{ start: 0, end: 28 }]],
  ['a token', `x ${token} y`, [{ start: 2, end: 26 }]],
  [
    'a token and a known one',
    `${token} ${known}`,
    [
      { start: 0, end: 24 },
      { start: 25, end: 39 },
    ],
  ],
  [
    'a known one and a token',
    `${known} ${token}`,
    [
      { start: 0, end: 14 },
      { start: 15, end: 39 },
    ],
  ],
  [
    'a known one right behind a token',
    `${token}-${known}`,
    [
      { start: 0, end: 24 },
      { start: 25, end: 39 },
    ],
  ],
  ['an address that stays', `hooks.slack.com/services/${'T1/'.repeat(10)} x`, [{ start: 25, end: 55 }]],
])('%s', (_what, text, places) => {
  expect(scan(text)).toEqual(places)
  expect([...runSlices(text)][0]).toEqual(places)
})

test('a known one that lies across a token makes one place of both', () => {
  const across = `${token.slice(-6)}-tail-99`
  const whole = `${token}-tail-99`
  expect(secretScan([across])(`x ${whole} y`)).toEqual([{ start: 2, end: 2 + whole.length }])
  const before = `head-99-${token.slice(0, 8)}`
  expect(secretScan([before])(`x head-99-${token} y`)).toEqual([{ start: 2, end: 34 }])
})

describe('where better one too many is', () => {
  test('a token of ten characters is one, unless its length is fixed', () => {
    expect(scan(`ghp_${'a1'.repeat(5)} x`)).toBeNull()
    expect(strict(`ghp_${'a1'.repeat(5)} x`)).toEqual([{ start: 0, end: 14 }])
    expect(strict(`ghp_${'a1'.repeat(4)}a x`)).toBeNull()
    expect(strict(`AKIA${'A1'.repeat(5)} x`)).toBeNull()
    expect(strict(`AKIA${'A1'.repeat(8)} x`)).toEqual([{ start: 0, end: 20 }])
    expect(strict(`AKIA${'A1'.repeat(8)}A x`)).toBeNull()
  })

  test('a token needs neither digits nor a mixed piece', () => {
    expect(scan(`gsk_${'a'.repeat(20)} x`)).toBeNull()
    expect(strict(`gsk_${'a'.repeat(20)} x`)).toEqual([{ start: 0, end: 24 }])
    expect(scan(`sk-${'word-'.repeat(5)} x`)).toBeNull()
    expect(strict(`sk-${'word-'.repeat(5)} x`)).toEqual([{ start: 0, end: 28 }])
  })
})

test('what was found in one text is forgotten in the next', () => {
  const one = secretScan([known])
  expect(one(`${' '.repeat(100)}${token}`)).toEqual([{ start: 100, end: 124 }])
  expect(one(`${token} ${known}`)).toEqual([
    { start: 0, end: 24 },
    { start: 25, end: 39 },
  ])
  expect(one('a plain text')).toBeNull()
})

function runSlices(text: string): [Places, number] {
  let turns = 0
  const steps = secretScan([known]).inSlices(text)
  let step = steps.next()
  for (; step.done !== true && turns < 100; step = steps.next()) turns += 1
  return [step.done === true ? step.value : null, turns]
}

describe('a long text in slices', () => {
  test.each([
    [7, 0],
    [8, 0],
    [16_384, 0],
    [16_385, 1],
    [32_766, 1],
    [32_767, 2],
  ])('of %i units has %i turns between them', (length, turns) => {
    expect(runSlices('x'.repeat(length))).toEqual([null, turns])
  })

  test('finds what lies across two of them, and is the scan in one go', () => {
    for (const at of [16_370, 16_379, 16_381, 16_382, 16_383, 16_384, 16_385]) {
      const text = `${' '.repeat(at)}${known} ${token}${' '.repeat(300)}`
      const places = [
        { start: at, end: at + 14 },
        { start: at + 15, end: at + 39 },
      ]
      expect([at, scan(text)]).toEqual([at, places])
      expect([at, runSlices(text)[0]]).toEqual([at, places])
    }
  })
})

test('a known one that is as short as its pieces is found wherever two slices meet', () => {
  const short = 'plainwords42'
  const [scanShort, sliced] = [secretScan([short]), secretScan([short])]
  for (let at = 16_366; at < 16_392; at += 1) {
    const text = `${' '.repeat(at)}${short}${' '.repeat(40)}`
    const places = [{ start: at, end: at + 12 }]
    expect([at, scanShort(text)]).toEqual([at, places])
    const steps = sliced.inSlices(text)
    steps.next()
    expect([at, steps.next().value]).toEqual([at, places])
  }
})

test('characters beyond ASCII before a secret do not move it', () => {
  expect(scan(`é中😀 ${known} ü ${token}`)).toEqual([
    { start: 5, end: 19 },
    { start: 22, end: 46 },
  ])
})

test('a token with another first character is none', () => {
  expect(scan(`x ${token.replace('g', 'x')} y`)).toBeNull()
})

describe('which places are worth a look', () => {
  const { worth, probes } = probeTable()
  const encode = (pair: string): number => (pair.charCodeAt(0) << 7) | pair.charCodeAt(1)
  const kindOf = (pair: string): number => worth[encode(pair)] as number
  const hitsIn = (text: string, hashes = new Uint8Array(hashMax + 1), from = 0): number[] => {
    const bytes = Buffer.alloc(scanSliceUnits, '.')
    bytes.write(text, 'latin1')
    const hits: number[] = []
    for (
      let at = nextHit(bytes, worth, hashes, from, text.length);
      at < text.length;
      at = nextHit(bytes, worth, hashes, at + 1, text.length)
    )
      hits.push(at)
    return hits
  }

  test('each pair has the list of probes that it calls for, and most have none', () => {
    expect(worth).toHaveLength(128 * 128)
    expect(probes[0]).toEqual([])
    expect(['zz', 'th', '  ', 'e,'].map(kindOf)).toEqual([0, 0, 0, 0])
    // Only a dot, and only a colon, have a list that needs a second look.
    expect(['a.', 'Z.', '9.', 'x.'].map(kindOf)).toEqual([1, 1, 1, 1])
    expect(['y:', 'n:', '":', ' :'].map(kindOf)).toEqual([2, 2, 2, 2])
    const others = ['p_', 'AK', 'yJ', ':/', ':A', 'Q~', '-B', 'y=', '"=', ':=', 'Be', 'k-'].map(kindOf)
    for (const kind of others) expect(kind).toBeGreaterThan(2)
    for (const kind of worth) expect(probes.length).toBeGreaterThan(kind)
    expect(probes.slice(3).every((list) => list.length > 0)).toBe(true)
    expect(probes[kindOf('y:')]).toHaveLength(1)
    expect(probes[kindOf('a.')]).toHaveLength(1)
  })

  test('the rarest pair of a prefix is the one that it is found by', () => {
    expect(
      ['ghp_', 'sk-', 'AKIA', 'AIza', 'SG.', 'ya29.', 'abCD', 'hooks.slack.com/x'].map(rarestPair),
    ).toEqual([2, 1, 0, 0, 0, 2, 2, 14])
  })

  test('a dot is worth one where another follows at its distance, or where the text ends before that', () => {
    expect(hitsIn('zz. zz zzzz zzzz')).toEqual([])
    expect(hitsIn('zz.123456.zzzz zzzz')).toEqual([2])
    expect(hitsIn('zz.12345.6zzz zzzz')).toEqual([])
    expect(hitsIn('zz.1234567.zzz zzzz')).toEqual([])
    expect(hitsIn('zz.123456')).toEqual([2])
    expect(hitsIn('zz.1234567')).toEqual([])
  })

  test('a colon is worth one before a quote, or before a blank and anything', () => {
    const rest = 'zz zz zz zz'
    expect(hitsIn(`key:"${rest}`)).toEqual([3])
    expect(hitsIn(`key:z ${rest}`)).toEqual([3])
    expect(hitsIn(`key: "${rest}`)).toEqual([3])
    expect(hitsIn(`key:zz${rest}`)).toEqual([])
    expect(hitsIn(`key: z${rest}`)).toEqual([])
    for (const quote of ['"', "'", '`', '\\']) expect(hitsIn(`key:${quote}z${rest}`)).toEqual([3])
    for (const later of ['"', "'", '`', '\\', ' ', '\t']) expect(hitsIn(`key:z${later}${rest}`)).toEqual([3])
  })

  test('the end of a known piece is worth one, from the first character on', () => {
    const hashes = new Uint8Array(hashMax + 1)
    hashes['qzv'.split('').reduce((hash, one) => nextHash(hash, one.charCodeAt(0)), 0)] = 1
    expect(hitsIn('qzv zz qzv zzqzv', hashes)).toEqual([2, 9, 15])
    expect(hitsIn('qzv zz', hashes, 1)).toEqual([2])
    expect(hitsIn('qzv zz', hashes, 2)).toEqual([2])
    expect(hitsIn('qzv zz', hashes, 3)).toEqual([])
    expect(hitsIn('zz zz zz', hashes)).toEqual([])
  })
})
