/** A turn that asks for very many tools in one loop. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import { nextRound } from '../kernel/next-round.ts'
import type { Tool } from '../kernel/ports.ts'

test('of a hundred tools that a turn asks for in one loop only a few begin before others run', async () => {
  const begun: unknown[] = []
  const note: Tool = {
    name: 'note',
    effect: 'read',
    calling: false,
    describe: () => ({ name: 'note', description: '', input: {} }),
    run: (input) => {
      begun.push(input)
      return Promise.resolve({ ok: true, value: begun.length })
    },
  }
  let begunFirst = 0
  const w = await world({
    agents: {
      eager: {
        script: async (turn) => {
          const all = Array.from({ length: 100 }, (_, n) => turn.tool('note', { n: n % 50 }))
          await nextRound()
          begunFirst = begun.length
          return String((await Promise.all(all)).length)
        },
      },
    },
    tools: [note],
  })
  expect((await w.run('eager', 'go')).output).toBe('100')
  expect(begunFirst).toBeGreaterThan(0)
  expect(begunFirst).toBeLessThan(20)
  // In the order in which they were asked for, so that a second request of the same kind is the second.
  expect(begun).toEqual(Array.from({ length: 100 }, (_, n) => ({ n: n % 50 })))
  const steps = (await w.events('step.ended')).filter(({ event }) => event.kind === 'tool')
  expect(steps.slice(50).every(({ event }) => event.key.endsWith('#2'))).toBe(true)
})
