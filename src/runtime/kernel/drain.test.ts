/** A node that stops while others go on: what is under way ends and is recorded, and nothing else begins. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import { handOver, holdWhileDraining } from './drain.ts'
import type { Driver } from './ports.ts'
import type { Running } from './running.ts'

/** Two requests after each other, each so long. */
async function asking(ms: number): Promise<{ w: World; begun: string[]; running: Running }> {
  const begun: string[] = []
  const driver: Driver = {
    async run(_turn, steps, signal) {
      for (const text of ['one', 'two'])
        await steps.step('model', 'm', { text }, async () => {
          begun.push(text)
          await w.clock.sleep(ms, signal)
          return { value: { text }, usage: { input: 1, output: 1, estimated: false } }
        })
      return { outcome: 'completed', output: 'done', error: null, iterations: 2 }
    },
  }
  const w: World = await world({ agents: { a: { driver } } })
  void w.ask('a', 'go')
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  return { w, begun, running }
}

test('what is under way comes to its end and is recorded, and the next effect is not begun', async () => {
  const { w, begun } = await asking(3000)
  const at = w.clock.elapsed()
  await w.until(handOver(w.node.runtime))
  expect(w.clock.elapsed() - at).toBeGreaterThanOrEqual(3000)
  expect(w.clock.elapsed() - at).toBeLessThan(4000)
  expect((await w.events('step.ended')).map(({ event }) => event.output)).toEqual([{ text: 'one' }])
  await w.pass(10_000)
  expect(begun).toEqual(['one'])
  expect(await w.events('turn.ended')).toEqual([])
})

test('what a turn did and has not recorded yet is recorded before the node stops', async () => {
  const driver: Driver = {
    async run(_turn, steps) {
      await steps.step('tool', 'look', {}, async () => ({ value: 'seen', usage: null }))
      return new Promise(() => undefined)
    },
  }
  const w = await world({ agents: { a: { driver } } })
  void w.ask('a', 'go')
  await w.rest()
  expect(await w.events('step.ended')).toEqual([])
  await w.until(handOver(w.node.runtime))
  expect((await w.events('step.ended')).map(({ event }) => event.output)).toEqual(['seen'])
})

test('a node that stops does not wait longer than twenty seconds', async () => {
  const { w } = await asking(100_000)
  const at = w.clock.elapsed()
  await w.until(handOver(w.node.runtime))
  expect(w.clock.elapsed() - at).toBe(20_050)
})

test('a node that has nothing under way hands over at once', async () => {
  const w = await world({ agents: { a: {} } })
  const at = w.clock.elapsed()
  await w.until(handOver(w.node.runtime))
  expect(w.clock.elapsed() - at).toBe(50)
})

test('a turn that is held goes no further, and ends when it is stopped', async () => {
  const { w, running } = await asking(3000)
  const { runtime } = w.node
  await holdWhileDraining(runtime, running)
  runtime.drain.isOn = true
  let said: unknown = null
  const note = (reason: unknown): void => void (said = reason)
  void holdWhileDraining(runtime, running)?.then(() => note('went on'), note)
  await w.rest()
  expect(said).toBeNull()
  const stopped = new Error('stopped')
  running.abort.abort(stopped)
  await w.rest()
  expect(said).toBe(stopped)
  await expect(holdWhileDraining(runtime, running)).rejects.toBe(stopped)
})
