/** How values are looked at: what counts as clean, what it costs, and what is left of a value. */
import { describe, expect, test } from 'vitest'
import { createMasker, looking, type Known } from './mask-secrets.ts'
import { scanSliceUnits } from './secret-scan.ts'

const token = `ghp_${'aZ3k9QxW7bT2mR8vY4nL'.repeat(2).slice(0, 36)}`
const masker = createMasker([])
const free = () => looking(null, Infinity)

describe('the value of a field that is named like a secret', () => {
  test.each([
    ['apiKey', 'x', '[redacted]'],
    ['apiKey', '', ''],
    ['apiKey', '[redacted]', '[redacted]'],
    ['apiKey', '[redacted-2]', '[redacted-2]'],
    ['apiKey', 'ses_1', 'ses_1'],
    ['authorization', 'Bearer x', 'Bearer [redacted]'],
    ['authorization', 'basic x', 'basic [redacted]'],
    ['authorization', `Bearer${' '.repeat(8)}x`, `Bearer${' '.repeat(8)}[redacted]`],
    ['authorization', 'Bearer ', '[redacted]'],
    ['authorization', 'xBearer y', '[redacted]'],
    ['authorization', 'Bearer ses_1', 'Bearer ses_1'],
    ['title', 'x', 'x'],
  ])('%s: %j is left as %j', (field, given, left) => {
    expect(masker.value(given, field)).toBe(left)
    expect(masker.value({ [field]: given })).toEqual({ [field]: left })
    expect(masker.value({ [field]: [[given]] })).toEqual({ [field]: [[left]] })
    expect(masker.isClean(given, field, free())).toBe(given === left)
    expect(masker.isClean({ [field]: given }, '', free())).toBe(given === left)
    expect(masker.isClean([given], field, free())).toBe(given === left)
  })

  test('a name is judged the same the second time', () => {
    const other = createMasker([])
    expect([1, 2].map(() => other.value({ token: 'x', other: 'x' }))).toEqual([
      { token: '[redacted]', other: 'x' },
      { token: '[redacted]', other: 'x' },
    ])
  })

  test('a text without a field is masked by what it looks like alone', () => {
    expect(masker.text('x')).toBe('x')
    expect(masker.text(`use ${token}`)).toBe('use [redacted]')
    expect(masker.text(`${token} ${token}, yes`)).toBe('[redacted] [redacted], yes')
  })
})

describe('what is left of a value', () => {
  test('everything but the secrets, in its place and of its kind', () => {
    const given = { n: 1, no: null, yes: true, list: [1, token, { deep: token }], text: 'x', none: undefined }
    const left = masker.value(given)
    expect(left).toEqual({
      n: 1,
      no: null,
      yes: true,
      list: [1, '[redacted]', { deep: '[redacted]' }],
      text: 'x',
      none: undefined,
    })
    expect(Array.isArray(left.list)).toBe(true)
    expect(Object.getOwnPropertyDescriptor(left, 'n')).toEqual({
      value: 1,
      enumerable: true,
      writable: true,
      configurable: true,
    })
    expect(given.list[1]).toBe(token)
  })

  test('what holds nothing is the same value', () => {
    for (const given of [1, null, undefined, true, [], {}, ['x'], { a: { b: [1] } }])
      expect(masker.value(given)).toBe(given)
  })

  test('a name of a field is a secret too, if it is long enough, and names stay apart', () => {
    const other = `npm_${token.slice(4)}`
    expect(Object.entries(masker.value({ a: 1, [token]: 2, [other]: 3, [`${token}x`]: 4 }))).toEqual([
      ['a', 1],
      ['[redacted]', 2],
      ['[redacted] 2', 3],
      ['[redacted] 3', 4],
    ])
    const strict = createMasker(['known-secret-1'])
    expect(strict.value({ 'known-secret-1': 1 })).toEqual({ 'known-secret-1': 1 })
    const long = createMasker(['known-secret-001'])
    expect(long.value({ 'known-secret-001': 1 })).toEqual({ '[redacted]': 1 })
    expect(long.value(['known-secret-001'])).toEqual(['[redacted]'])
  })

  test('a listener hears of every secret, and of nothing else', () => {
    const heard: string[] = []
    const listening = createMasker([], { onSecret: (secret) => void heard.push(secret) })
    listening.value({ a: `use ${token} and ${token}`, password: 'x', b: 'plain text' })
    expect(heard.sort()).toEqual([token, token, 'x'].sort())
  })

  test('for what leaves the machine, a short token is one too', () => {
    const short = `ghp_${'a1'.repeat(6)}`
    expect(createMasker([]).text(short)).toBe(short)
    expect(createMasker([], { strict: true }).text(short)).toBe('[redacted]')
  })
})

describe('how much may be looked at', () => {
  test('a text costs its units, and once nothing is left it counts as clean', () => {
    const look = looking(null, 100)
    expect(masker.isClean('x'.repeat(60), '', look)).toBe(true)
    expect(look.unitsLeft).toBe(40)
    expect(masker.isClean('y'.repeat(40), '', look)).toBe(true)
    expect(look.unitsLeft).toBe(0)
    expect(masker.isClean(token, '', look)).toBe(true)
    expect(look.unitsLeft).toBeLessThan(0)
    expect(masker.isClean(token, '', looking(null, token.length))).toBe(false)
    expect(masker.isClean(token, '', looking(null, token.length - 1))).toBe(true)
  })

  test('a text below eight units costs nothing, and one that was clean costs it once', () => {
    const look = looking(null, 100)
    masker.isClean('1234567', '', look)
    expect(look.unitsLeft).toBe(100)
    masker.isClean('12345678', '', look)
    masker.isClean('12345678', '', look)
    expect(look.unitsLeft).toBe(92)
  })

  test('eight texts are remembered as clean, and a ninth is not', () => {
    const look = looking(null, 1000)
    const texts = Array.from({ length: 9 }, (_, n) => `text-n-${n}`)
    for (const text of texts) masker.isClean(text, '', look)
    expect(look.unitsLeft).toBe(1000 - 72)
    expect(look.clean).toEqual(texts.slice(0, 8))
    for (const text of texts) masker.isClean(text, '', look)
    expect(look.unitsLeft).toBe(1000 - 80)
  })

  test('a member of a list or an object costs eight, whatever it is', () => {
    const look = looking(null, 100)
    masker.isClean([1, null, true], '', look)
    expect(look.unitsLeft).toBe(76)
    masker.isClean({ a: 1, b: [2] }, '', look)
    expect(look.unitsLeft).toBe(52)
    masker.isClean(7, '', look)
    masker.isClean(null, '', look)
    expect(look.unitsLeft).toBe(52)
  })

  test('a value that takes too long is not looked at to its end', () => {
    const look = looking(null, 20)
    expect(masker.isClean([[[['x']]], [1, 2, 3], [token]], '', look)).toBe(true)
    expect(look.unitsLeft).toBeLessThan(0)
  })
})

const run = <T>(steps: Generator<undefined, T>): { turns: number; value: T } => {
  let turns = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) turns += 1
  return { turns, value: step.value }
}

describe('what was inspected before need not be looked at again', () => {
  const dirty = { a: `use ${token}` }
  const clean = { b: ['nothing here'] }
  const inspect = (...values: unknown[]): Known =>
    run(masker.inspect(values.map((value) => ['', value] as const))).value

  test('what was found in each text, and which holders are clean', () => {
    const known = inspect(dirty, clean, 'a plain text', null, 7)
    expect([...known.places.keys()].sort()).toEqual(['a plain text', 'nothing here', `use ${token}`].sort())
    expect(known.places.get(`use ${token}`)).toEqual([{ start: 4, end: 4 + token.length }])
    expect(known.places.get('nothing here')).toBeNull()
    expect([...known.clean]).toEqual([clean])
  })

  test('it costs nothing afterwards', () => {
    const known = inspect(dirty, clean)
    const look = looking(known, 16)
    expect(masker.isClean(clean, '', look)).toBe(true)
    expect(look.unitsLeft).toBe(16)
    expect(masker.isClean(dirty, '', look)).toBe(false)
    expect(look.unitsLeft).toBe(8)
    expect(masker.value(dirty, '', looking(known, 8))).toEqual({ a: 'use [redacted]' })
  })

  test('a field that is named like a secret makes its holder unclean, also by the name it has itself', () => {
    const named = { password: 'x' }
    const list = ['short']
    const known = run(
      masker.inspect([
        ['', named],
        ['token', list],
        ['other', list.slice()],
      ]),
    ).value
    expect(known.clean.has(named)).toBe(false)
    expect(known.clean.has(list)).toBe(false)
    expect(known.clean.size).toBe(1)
  })

  test('long names of fields are looked at with the texts, and short ones are not', () => {
    const known = inspect({ a_name_of_16_uni: 1, a_name_of_15_un: 2 }, ['x'])
    expect([...known.places.keys()]).toEqual(['a_name_of_16_uni'])
  })

  test('between slices others have their turn', () => {
    const texts = (units: number): unknown[] => ['x'.repeat(units)]
    expect(run(masker.inspect([])).turns).toBe(0)
    expect(run(masker.inspect([['', 'short text']])).turns).toBe(0)
    expect(run(masker.inspect([['', texts(100)]])).turns).toBe(1)
    expect(run(masker.inspect([['', 'x'.repeat(scanSliceUnits * 3)]])).turns).toBe(0)
    expect(run(masker.inspect([['', 'x'.repeat(scanSliceUnits * 5)]])).turns).toBe(1)
    expect(run(masker.inspect([['', 'x'.repeat(scanSliceUnits * 9)]])).turns).toBe(2)
    const many = Array.from({ length: 1024 }, (_, n) => ['', `${n}`] as const)
    expect(run(masker.inspect(many)).turns).toBe(1)
    expect(run(masker.inspect(many.slice(1))).turns).toBe(0)
    const same = Array.from({ length: 40 }, () => ['', 'y'.repeat(scanSliceUnits)] as const)
    expect(run(masker.inspect(same)).turns).toBe(0)
    const middle = Array.from({ length: 8 }, (_, n) => ['', `${n}${'z'.repeat(scanSliceUnits / 2)}`] as const)
    expect(run(masker.inspect(middle)).turns).toBe(1)
  })
})
