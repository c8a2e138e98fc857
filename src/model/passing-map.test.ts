import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PassingMap } from './passing-map.ts'

test('it has what a map has, in the same order, however many came and went', () => {
  const act = fc.record({ key: fc.nat(200), deletes: fc.boolean() })
  fc.assert(
    fc.property(fc.array(act, { maxLength: 1500, size: 'max' }), (acts) => {
      const [passing, plain] = [new PassingMap<number, object>(), new Map<number, object>()]
      for (const { key, deletes } of acts) {
        const value = { key }
        const [ours, theirs] = [passing, plain].map((map) =>
          deletes ? map.delete(key) : map.set(key, value).get(key),
        )
        expect(ours).toBe(theirs)
        expect([passing.size, passing.has(key)]).toEqual([plain.size, plain.has(key)])
      }
      expect([...passing]).toEqual([...plain])
      expect([...passing.keys(), ...passing.values()]).toEqual([...plain.keys(), ...plain.values()])
    }),
    { numRuns: 20 },
  )
})

test('whoever deletes all while looking through them meets each once', () => {
  const map = new PassingMap<number, string>()
  for (let key = 0; key < 500; key += 1) map.set(key, '')
  const met: number[] = []
  for (const [key] of map) {
    met.push(key)
    map.delete(key)
  }
  expect([met.length, map.size]).toEqual([500, 0])
})

test('what is cleared is gone, and what comes later is there', () => {
  const map = new PassingMap<string, number>()
  map.set('before', 1).clear()
  map.set('after', 2)
  const seen: [string, number][] = []
  map.forEach((value, key) => seen.push([key, value]))
  expect(seen).toEqual([['after', 2]])
})
