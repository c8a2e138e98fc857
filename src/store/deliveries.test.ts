import { expect, test } from 'vitest'
import type { Hint } from '../runtime/kernel/store-port.ts'
import { Deliveries } from './deliveries.ts'
import type { Settled } from './work-queue.ts'

function scene(): { told: string[]; deliveries: Deliveries; make: (names: string[]) => Settled[] } {
  const told: string[] = []
  const listener = (hints: readonly Hint[]): void => void told.push(`${hints.length} hints`)
  const settle = (name: string): Settled => ({
    job: {
      keys: [],
      known: null,
      urgent: false,
      work: async () => null,
      resolve: () => told.push(name),
      reject: () => told.push(`not ${name}`),
    },
    ok: true,
    value: null,
    hints: [{ kind: 'appended' }],
  })
  return { told, deliveries: new Deliveries(new Set([listener])), make: (names) => names.map(settle) }
}

const named = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n))

test('a few are told at once, each before its hints', () => {
  const { told, deliveries, make } = scene()
  deliveries.add([...make(['a']), { ...(make(['b'])[0] as Settled), ok: false }], false)
  expect(told).toEqual(['a', 'not b', '2 hints'])
})

test('many are told in slices and in order, and others run in between', async () => {
  const { told, deliveries, make } = scene()
  deliveries.add(make(named(150)), false)
  const before = told.length
  // What comes later waits behind them.
  deliveries.add(make(['last']), false)
  expect([before < 100, told.length]).toEqual([true, before])
  while (!deliveries.isEmpty()) await new Promise(setImmediate)
  expect(told.filter((text) => !text.endsWith('hints'))).toEqual([...named(150), 'last'])
})

test('while urgent works wait nobody is told, but not for ever', () => {
  const { told, deliveries, make } = scene()
  deliveries.add(make(['a']), true)
  deliveries.add(make(['b']), true)
  expect(told).toEqual([])
  deliveries.add(make(['c']), false)
  expect(told.slice(0, 3)).toEqual(['a', 'b', 'c'])
  told.length = 0
  for (const name of named(17)) deliveries.add(make([name]), true)
  expect(told).toContain('0')
})
