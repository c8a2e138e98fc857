import { expect, test } from 'vitest'
import { watchBudget } from './budget.ts'

test('a context that was made smaller was paid for all the same', () => {
  const stopped: string[] = []
  const watch = watchBudget(
    100,
    10,
    (text) => text.length,
    ({ message }) => stopped.push(message),
  )
  watch.holds(90)
  watch.holds(20)
  watch.holds(null)
  expect([watch.spent(), stopped]).toEqual([90, []])
  watch.holds(101)
  watch.holds(200)
  expect(stopped).toEqual([expect.stringMatching(/^budget_exhausted: .* 101 tokens, and 100 were left/)])
})
