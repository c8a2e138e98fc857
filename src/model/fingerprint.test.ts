import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprint } from './fingerprint.ts'

test('equal texts have equal fingerprints, on every machine', () => {
  expect(fingerprint('tool\nread\n{"path":"a.ts"}')).toBe(
    fingerprint(['tool', 'read', '{"path":"a.ts"}'].join('\n')),
  )
  expect([fingerprint(''), fingerprint('a'), fingerprint('🦓')]).toMatchInlineSnapshot(`
    [
      "sb6s380xqj1247s7v64qa",
      "1n3ohf0jwqx16ayds5vhae",
      "2ieq7kno965en1cpp0xb",
    ]
  `)
})

test('texts that differ in one character have different fingerprints', () => {
  const seen = new Map<string, string>()
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      for (const other of [text, `${text}a`, `a${text}`, text.slice(1)]) {
        const mark = fingerprint(other)
        expect(seen.get(mark) ?? other).toBe(other)
        seen.set(mark, other)
      }
    }),
    { numRuns: 3000 },
  )
})
