import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
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

/** How often it was made anew, told after each thing done to it. */
function counted(): { made: () => number; map: PassingMap<number, string> } {
  let made = 0
  class Counted<K, V> extends Map<K, V> {
    constructor(entries?: Iterable<readonly [K, V]>) {
      super(entries)
      made += 1
    }
  }
  vi.stubGlobal('Map', Counted)
  onTestFinished(() => void vi.unstubAllGlobals())
  const map = new PassingMap<number, string>()
  made = 0
  return { map, made: () => made }
}

function pass(map: PassingMap<number, string>, count: number): void {
  for (let key = 0; key < count; key += 1) map.set(-1 - key, '')
  for (let key = 0; key < count; key += 1) map.delete(-1 - key)
}

test('it is made anew when more than 64 have passed, and not before, again and again', () => {
  const { map, made } = counted()
  for (const times of [0, 1, 2]) {
    pass(map, 64)
    map.delete(9999)
    map.set(7, '').set(7, '')
    expect(made()).toBe(times)
    pass(map, 1)
    map.set(7, '')
    expect(made()).toBe(times + 1)
  }
})

test('one that has many is made anew when as many have passed, and one that was cleared begins again', () => {
  const { map, made } = counted()
  for (let key = 0; key < 200; key += 1) map.set(key, '')
  pass(map, 200)
  map.set(0, '')
  expect(made()).toBe(0)
  pass(map, 1)
  map.set(0, '')
  expect(made()).toBe(1)
  pass(map, 60)
  map.clear()
  const before = made()
  pass(map, 60)
  map.set(0, '')
  expect(made() - before).toBe(0)
  expect(Object.prototype.toString.call(map)).toBe('[object PassingMap]')
})
