import fc from 'fast-check'
import { expect, test } from 'vitest'
import { longestStall } from '../../test/kits/linear.ts'
import { splitGently } from './split-text.ts'

/** Long enough not to be left to the engine's own search. */
const padding = 'z'.repeat(3_000_000)

test('a text is split as the engine would split it', async () => {
  const sign = fc.constantFrom('a', 'b', 'ab', 'aab')
  await fc.assert(
    fc.asyncProperty(
      fc.array(sign, { minLength: 1, maxLength: 5 }),
      fc.array(sign, { maxLength: 60 }),
      async (separator, parts) => {
        const text = `${parts.join('')}${padding}${parts.join('')}`
        expect((await splitGently(text, separator.join(''))).map((piece) => piece.length)).toEqual(
          text.split(separator.join('')).map((piece) => piece.length),
        )
      },
    ),
    { numRuns: 12 },
  )
})

test('a separator that nearly fits everywhere costs linear time, and the process answers meanwhile', async () => {
  const text = 'a'.repeat(4_000_000)
  const from = process.cpuUsage()
  const stall = await longestStall(async () => {
    expect(await splitGently(text, `${'a'.repeat(50_000)}b${'a'.repeat(50_000)}`)).toHaveLength(1)
    expect(await splitGently(text, `${'a'.repeat(100_000)}b`)).toHaveLength(1)
  })
  expect(process.cpuUsage(from).user / 1000).toBeLessThan(5000)
  expect(stall).toBeLessThan(100)
})
