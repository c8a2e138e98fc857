import { expect, test } from 'vitest'
import { readUsage, settleUsage } from './usage.ts'

const none = { input: 0, output: 0 }

test('what was read from a cache and written to it is input too', () => {
  const usage = { inputTokens: 10, outputTokens: 5, cachedReadTokens: 100, cachedWriteTokens: 20 }
  expect(readUsage({ usage })).toEqual({ input: 130, output: 5 })
})

test('Gemini says it elsewhere', () => {
  const said = { _meta: { quota: { token_count: { input_tokens: 7, output_tokens: 3 } } } }
  expect(readUsage(said)).toEqual({ input: 7, output: 3 })
  expect(readUsage({ _meta: { quota: {} } })).toBeNull()
  expect(readUsage({})).toBeNull()
  expect(readUsage('7')).toBeNull()
})

test('what is no whole number above zero is none, or rounded up', () => {
  const count = (inputTokens: unknown) => readUsage({ usage: { inputTokens, outputTokens: 1 } })?.input
  expect([2.1, -3, Number.NaN, Infinity, '9', undefined].map(count)).toEqual([3, 0, 0, 0, 0, 0])
})

test('where nothing was said, what was seen is an estimate', () => {
  const seen = { input: 4, output: 2 }
  expect(settleUsage('turn', null, none, seen)).toEqual({ ...seen, estimated: true })
  expect(settleUsage('turn', none, none, seen)).toEqual({ ...seen, estimated: true })
  expect(settleUsage('turn', { input: 0, output: 1 }, none, seen)).toEqual({
    input: 0,
    output: 1,
    estimated: false,
  })
})

test('one that counts over its life is charged the difference, and a count that went back as it is', () => {
  const before = { input: 100, output: 50 }
  const settle = (input: number, output: number) => settleUsage('process', { input, output }, before, none)
  expect(settle(130, 60)).toEqual({ input: 30, output: 10, estimated: false })
  expect(settle(100, 50)).toEqual({ input: 0, output: 0, estimated: false })
  expect(settle(99, 60)).toEqual({ input: 99, output: 60, estimated: false })
  expect(settle(130, 49)).toEqual({ input: 130, output: 49, estimated: false })
})

test('one that counts its last request only is charged no less than was seen', () => {
  expect(settleUsage('last', { input: 10, output: 2 }, none, { input: 3, output: 4 })).toEqual({
    input: 10,
    output: 4,
    estimated: true,
  })
  expect(settleUsage('last', { input: 10, output: 9 }, none, { input: 12, output: 3 })).toEqual({
    input: 12,
    output: 9,
    estimated: true,
  })
})
