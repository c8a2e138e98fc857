import { expect, test } from 'vitest'
import { listFieldDifferences } from './field-differences.ts'

const fields = (count: number, value: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`field_${n}`, value])))

test('R11: at most eight fields of one event are shown, and all where there are fewer', () => {
  const shown = [8, 7].map((count) => listFieldDifferences(fields(count, 1), fields(count, 2)).length)
  expect(shown).toEqual([8, 7])
  expect(listFieldDifferences(fields(20, 1), fields(20, 2)).map(({ field }) => field)).toEqual(
    Array.from({ length: 8 }, (_, n) => `field_${n}`),
  )
})

test('of two events of another kind only the kind is shown, and of a side without one nothing', () => {
  const [opened, refused] = [
    { type: 'call.opened', task: 'a' },
    { type: 'call.refused', task: 'b' },
  ] as const
  expect(listFieldDifferences(JSON.stringify(opened), JSON.stringify(refused))).toEqual([
    { field: 'type', recorded: '"call.opened"', replayed: '"call.refused"' },
  ])
  expect(listFieldDifferences(JSON.stringify(opened), null)).toEqual([])
})

test('what differs inside of a field is named by its way there, and a missing one has no value', () => {
  const [ours, theirs] = [{ a: { b: [1, 2] } }, { a: { b: [1, 3, 4] } }]
  expect(listFieldDifferences(JSON.stringify(ours), JSON.stringify(theirs))).toEqual([
    { field: 'a.b.1', recorded: '2', replayed: '3' },
    { field: 'a.b.2', recorded: null, replayed: '4' },
  ])
})
