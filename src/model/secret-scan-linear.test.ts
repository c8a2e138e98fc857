import { describe, expect, test } from 'vitest'
import { createMasker } from './mask-secrets.ts'
import { isSameButMarks } from './secret-mark.ts'
import { tokenShapes } from './secret-shapes.ts'

const masker = createMasker([])
const strict = createMasker([], { strict: true })

/**
 * A text of its own every time, so that nothing is answered from what the engine remembers of it; CPU time
 * and the best of a few rounds, because others use the machine too.
 */
function bestMs(text: string, rounds: number, work: (text: string) => unknown): number {
  let best = Infinity
  for (let round = 0; round < rounds; round += 1) {
    const fresh = Buffer.from(`${round}${text}`).toString('latin1')
    const before = process.cpuUsage()
    work(fresh)
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

const prefixes = [...new Set(tokenShapes.flatMap((shape) => shape.prefixes))]
const pumps: readonly string[] = [
  '-sk-',
  'sk-',
  'AKEY=',
  'A1KEY=',
  'xoxb-',
  'eyJ',
  '-eyJ',
  'eyJa.',
  'eyJabcdefghij.eyJ',
  '://',
  '://a:',
  '://a:b1',
  '://a:b1@',
  'Bearer ',
  'bearer  Basic ',
  'Basic a.',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN PRIVATE KEY-----\n',
  '-----BEGIN ',
  '-----END ',
  '-----',
  '-----BEGIN PRIVATE KEY-----\n-----END ',
  '"',
  "'",
  '"token":"',
  '"token":',
  '"password":"a1',
  'password=',
  'password = ',
  'token:=',
  '\\"token\\":\\"',
  '\\',
  '.',
  'a.bcdefg.',
  '1:A',
  '12345678:A',
  '1Q~',
  'Q~',
  'glpat-.',
  'glpat-glpat-',
  'tls_.',
  '=',
  ':',
  ' ',
  'a1',
  'sig=',
  'ya29.',
  '[redacted]',
  'M.',
  '%3D',
  'key=',
  '_',
  '-',
]

describe('the work is linear in the text, whatever is repeated', () => {
  const sizes = [25_000, 50_000, 100_000, 200_000] as const
  const check = (of: string, work: (text: string) => unknown): void => {
    for (const [head, tail] of [
      ['', '.'],
      ['-----BEGIN PRIVATE KEY-----\n', '1'],
    ] as const) {
      const makeText = (size: number): string =>
        head + of.repeat(Math.ceil(size / of.length)) + tail.repeat(size / 4)
      // What is quadratic takes seconds for the longest; what takes a few milliseconds is not, and its
      // doublings would measure only noise.
      if (bestMs(makeText(sizes[3]), 1, work) < 25) continue
      const [a, b, c, d] = sizes.map((size) => bestMs(makeText(size), 5, work)) as [
        number,
        number,
        number,
        number,
      ]
      const said = `${JSON.stringify(head + of + tail)}: ${[a, b, c, d].join(', ')} ms`
      if (d >= 100 || (d >= 25 && Math.min(d / c, c / b, b / a) >= 3)) expect.fail(said)
    }
  }
  test.each(pumps)('%j, on the way into the log', (of) => check(of, (text) => masker.text(text)))
  test('for every prefix that is known', () => {
    const slow = prefixes.filter(
      (of) => bestMs(`-${of}`.repeat(100_000 / of.length), 1, (text) => masker.text(text)) > 500,
    )
    expect(slow).toEqual([])
  })
  test('for what leaves the machine', () =>
    ['sk-', 'AKEY=', 'xoxb-', '://a:', '-----BEGIN PRIVATE KEY-----', '"token":"', 'eyJa.'].forEach((of) =>
      check(of, (text) => strict.text(text)),
    ))
  test('with a secret that the server knows, however often it is said', () => {
    const known = createMasker(['abababababababababab', 'correct-horse-battery-staple-7'])
    for (const of of [
      'ab',
      'abababababab',
      'correct-horse-b',
      'correct-horse-battery-staple-7',
      'tery-staple-7',
    ])
      check(of, (text) => known.text(text))
  })
  test('for a text on record that is compared with one that is sent again', () =>
    check('a', (text) => {
      const piece = 'a'.repeat(text.length / 4)
      return isSameButMarks(`x[redacted]${piece}b${piece}[redacted]`, `x${text}`)
    }))
})

test('the four texts that stalled 0.1.0 for 33 seconds take milliseconds', () => {
  for (const of of ['-sk-', 'AKEY=', 'xoxb-', 'eyJ'])
    expect(bestMs(of.repeat(100_000 / of.length), 3, (text) => masker.text(text))).toBeLessThan(300)
})
