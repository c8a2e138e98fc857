import { expect, test } from 'vitest'
import { fewAtOnce } from './few-at-once.ts'

test('one owner has only a few inside, in the order in which they came; others are let in at once', async () => {
  const few = fewAtOnce(2)
  const inside: string[] = []
  const enter = (owner: string, name: string) => few.enter(owner).then(() => inside.push(name))
  const all = ['a', 'b', 'c', 'd'].map((name) => enter('flow_1', name))
  await enter('flow_2', 'other')
  expect(inside.toSorted()).toEqual(['a', 'b', 'other'])
  few.leave('flow_1')
  await all[2]
  expect(inside.at(-1)).toBe('c')
  few.leave('flow_1')
  await all[3]
  for (let n = 0; n < 2; n += 1) few.leave('flow_1')
  // All have left: as many as before may enter again.
  await Promise.all([enter('flow_1', 'e'), enter('flow_1', 'f')])
  expect(inside.slice(-2)).toEqual(['e', 'f'])
})
