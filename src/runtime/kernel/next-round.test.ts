import { expect, test } from 'vitest'
import { nextRound } from './next-round.ts'

test('twenty long works at once hold up the others for one slice, not for twenty', async () => {
  let running = 0
  let mostBetween = 0
  const slices: number[] = []
  const work = async (name: number): Promise<void> => {
    for (let slice = 0; slice < 5; slice += 1) {
      await nextRound()
      running += 1
      slices.push(name)
    }
  }
  const works = Promise.all(Array.from({ length: 20 }, (_, name) => work(name)))
  let over = false
  void works.then(() => (over = true))
  while (!over) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    mostBetween = Math.max(mostBetween, running)
    running = 0
  }
  expect(mostBetween).toBe(1)
  // They take turns.
  expect(slices.slice(0, 20)).toEqual(slices.slice(20, 40))
})
