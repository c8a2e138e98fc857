/** What a turn that runs again finds of its record. */
import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import type { EventOf } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { Driver } from './ports.ts'
import { makeStepKey, readRecorded, type Recorded } from './recorded.ts'
import type { Store } from './store-port.ts'

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

/** A record with these events, as the store gives it. */
const record = (events: Partial<EventOf<'step.ended'>>[]): Promise<Recorded> => {
  const stored = events.map((event, index) => ({ seq: index + 1, at: 0, event }))
  const store = {
    read: async () => ({ events: stored, next: stored.length, more: false, units: 0 }),
    event: async () => null,
  } as unknown as Store
  return readRecorded(store, { id: 'turn_1', session: 'ses_1', openedSeq: 1 } as unknown as TurnRow)
}

const step = (type: string, key: string, output: string | null, turn = 'turn_1') =>
  ({ type, turn, kind: 'tool', name: 'write', key, input: null, output, usage: null }) as never

test('a result stands where its announcement stood, and alike steps come back in their order', async () => {
  const recorded = await record([
    step('step.started', 'a', null),
    step('step.ended', 'a', 'one'),
    step('step.ended', 'a', 'two'),
    step('step.started', 'b', null),
  ])
  const like = { kind: 'tool', name: 'write' }
  const taken = ['a', 'a', 'a', 'b', 'b'].map((key) => recorded.step(key, like))
  expect(taken.slice(0, 4)).toMatchObject([
    { output: 'one' },
    { output: 'two' },
    undefined,
    { type: 'step.started' },
  ])
  expect(taken[4]).toBeUndefined()
})

test('what another turn of the same session did is not recalled', async () => {
  const recorded = await record([
    step('step.ended', 'a', 'theirs', 'turn_2'),
    step('step.ended', 'b', 'mine'),
  ])
  const like = { kind: 'tool', name: 'write' }
  expect(recorded.step('a', like)).toBeUndefined()
  expect(recorded.step('b', like)).toMatchObject({ output: 'mine' })
  expect([recorded.events.length, recorded.runs.length]).toEqual([1, 1])
})
