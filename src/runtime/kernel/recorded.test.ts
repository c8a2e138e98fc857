/** What a turn that runs again finds of its record. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import type { Driver } from './ports.ts'
import { makeStepKey } from './recorded.ts'

test('steps are told apart by their kind, their name and their input', () => {
  const keys = [
    makeStepKey('tool', 'read', { path: 'a' }),
    makeStepKey('tool', 'read', { path: 'b' }),
    makeStepKey('tool', 'write', { path: 'a' }),
    makeStepKey('model', 'read', { path: 'a' }),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  expect(makeStepKey('tool', 'read', { path: 'a' })).toBe(keys[0])
})

test('only the first thousand events of a turn were recalled: a longer turn asked its model again', async () => {
  const count = 1100
  const asked: number[] = []
  let open = false
  const driver: Driver = {
    async run(_turn, steps) {
      for (let n = 0; n < count; n += 1)
        await steps.step('tool', 'effect', { n }, async () => {
          asked.push(n)
          return { value: n, usage: null }
        })
      await steps.step('model', 'm', {}, async () => ({ value: { text: 'all' }, usage: null }))
      await steps.step('model', 'm', { again: true }, async () => {
        if (!open) await new Promise(() => undefined)
        return { value: { text: 'done' }, usage: null }
      })
      return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
    },
  }
  const w = await world({ agents: { a: { driver } } })
  const run = w.ask('a', 'go')
  await w.rest()
  await w.rest()
  expect(asked).toHaveLength(count)
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  runtime.running.clear()
  open = true
  await w.addNode()
  await w.pass(8000)
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toEqual(['completed'])
  expect(asked).toHaveLength(count)
  void run
})
