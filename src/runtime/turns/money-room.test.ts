import { expect, test } from 'vitest'
import { memorySteps } from '../../../test/kits/turns.ts'
import type { Usage } from '../../model/event.ts'
import type { Steps } from '../kernel/ports.ts'
import type { EstimateUsage } from './estimate-usage.ts'
import type { ModelRequest } from './loop.ts'
import { limitByMoney, roomFor, withWarning } from './money-room.ts'

const never = new AbortController().signal
const withMoney = (max: number, left: number): Steps => ({
  ...memorySteps(),
  moneyLeft: () => ({ max, left, of: 'task' }),
})
/** 1,000 for a token that is read, 5,000 for one that is written; each request reads 100. */
const price = (usage: Usage): Usage => ({
  ...usage,
  cost: { nanoUsd: usage.input * 1000 + usage.output * 5000, by: 'table' },
})
const estimate: EstimateUsage = Object.assign(() => price({ input: 100, output: 0, estimated: true }), {
  ahead: async () => undefined,
  atOnce: () => price({ input: 100, output: 0, estimated: true }),
  price,
})
const request = (maxOutputTokens: number | null = null) => ({ maxOutputTokens }) as ModelRequest

test('from four fifths on an agent reads that it should finish, in words that stay the same', () => {
  const words = (left: number): string => withWarning('You work.', withMoney(1_000_000_000, left))
  expect(words(210_000_000)).toBe('You work.')
  expect(words(200_000_000)).toContain('more than four fifths of the $1.00')
  expect(words(1)).toBe(words(200_000_000))
})

test('R7: an answer is as long as can be paid, and never longer than it was to be', async () => {
  const asked = request()
  await limitByMoney(withMoney(1_000_000, 600_000), asked, estimate, never)
  expect(asked.maxOutputTokens).toBe(100)
  const short = request(7)
  await limitByMoney(withMoney(1_000_000, 600_000), short, estimate, never)
  expect(short.maxOutputTokens).toBe(7)
})

test('R7: a request that alone costs more than is left is not made', async () => {
  await expect(limitByMoney(withMoney(1_000_000, 90_000), request(), estimate, never)).rejects.toThrow(
    '$0.000090 is left of the budget, and the next request alone costs $0.00010',
  )
})

test('R7: what a request reads is taken from the tokens that are left', async () => {
  expect(await roomFor(150, request(), estimate, never)).toBe(50)
  expect(await roomFor(101, request(), estimate, never)).toBe(1)
  await expect(roomFor(100, request(), estimate, never)).rejects.toThrow('100 tokens are left of the budget')
})

test('R7: an answer that may be long is cut to what can be paid', async () => {
  const asked = request(5000)
  await limitByMoney(withMoney(1_000_000, 600_000), asked, estimate, never)
  expect(asked.maxOutputTokens).toBe(100)
})
