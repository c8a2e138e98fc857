import { expect, test } from 'vitest'
import { readLimit, readTimeout } from './flags.ts'

test('a timeout is a number of seconds, and it comes', () => {
  const read = (timeout: string | true): number | null => readTimeout({ flags: { timeout } })
  expect([read('30'), read('0.5'), readTimeout({ flags: {} })]).toEqual([30_000, 500, null])
  for (const given of ['Infinity', '1e999', '0', '-1', 'soon', ' ', true] as const)
    expect(() => read(given)).toThrow('a number of seconds above 0 is needed')
})

test('a list is as long as was said, and twenty where nothing was', () => {
  expect([readLimit({ flags: {} }), readLimit({ flags: { limit: '7' } })]).toEqual([20, 7])
  for (const limit of ['0', '-1', '1.5', '10000000', 'x'])
    expect(() => readLimit({ flags: { limit } })).toThrow('a whole number above 0')
})
