import { expect, test } from 'vitest'
import { fewEachRound } from './few-each-round.ts'
import { nextRound } from './next-round.ts'

test('one owner begins only a few in each round, in the order in which they came; others begin at once', async () => {
  const few = fewEachRound(2)
  const begun: string[] = []
  const begin = async (owner: string, name: string): Promise<void> => {
    await few.enter(owner)
    begun.push(name)
  }
  const all = ['a', 'b', 'c', 'd', 'e'].map((name) => begin('flow_1', name))
  await begin('flow_2', 'other')
  expect(begun).toEqual(['a', 'b', 'other'])
  await nextRound()
  expect(begun.slice(3)).toEqual(['c', 'd'])
  // Somebody waits already, so this one is behind it, also in a round with room for both.
  all.push(begin('flow_1', 'f'))
  await Promise.all(all)
  expect(begun.slice(5)).toEqual(['e', 'f'])
  for (let n = 0; n < 3; n += 1) await nextRound()
  expect([few.enter('flow_1'), few.enter('flow_1')]).toEqual([null, null])
  expect(few.enter('flow_1')).toBeInstanceOf(Promise)
})
