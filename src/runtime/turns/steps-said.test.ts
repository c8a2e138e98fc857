/** What a turn has said and done so far: kept over a takeover, bounded, and counted. */
import { expect, test } from 'vitest'
import { kill, mortal, next } from '../../../test/kits/mortal.ts'
import { world, type World, type WorldOptions } from '../../../test/kits/world.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import type { Driver } from '../kernel/ports.ts'
import { cancel } from './ending.ts'

/** Answers once, and then hangs until it is stopped. */
const hanging: Driver = {
  async run(_turn, steps, signal) {
    for (const [n, text] of ['first words', null].entries())
      await steps.step('model', 'm', { n }, async () => {
        if (text === null)
          await new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
        steps.emit(text ?? '')
        return { value: { text: text ?? '' }, usage: null }
      })
    return { outcome: 'completed', output: 'never', error: null, iterations: 2 }
  },
}

test('R10: a turn that was taken over and then stopped has what it had said before', async () => {
  const options: WorldOptions = { agents: { a: { driver: hanging } } }
  const w = await mortal(options)
  w.ask('a', 'go').catch(() => undefined)
  await w.pass(1000)
  expect(await w.events('step.ended')).toHaveLength(1)
  kill(w)
  const after = await next(w, options)
  await after.pass(3000)
  const [turn] = after.node.runtime.running.keys()
  await after.until(cancel(after.node.runtime, turn ?? 'turn_none', 'cancelled', 'enough'))
  await after.pass(3000)
  expect((await after.events('turn.ended')).map(({ event }) => [event.outcome, event.output.trim()])).toEqual(
    [['cancelled', 'first words']],
  )
})

test('R11: a turn that says more than an answer may have is stopped there', async () => {
  const stopped: boolean[] = []
  const driver: Driver = {
    async run(_turn, steps, signal) {
      await steps.step('model', 'm', {}, async () => {
        for (const text of ['x'.repeat(answerUnitsMax), 'y']) {
          steps.emit(text)
          stopped.push(signal.aborted)
        }
        return { value: { text: 'went on' }, usage: null }
      })
      return { outcome: 'completed', output: 'went on', error: null, iterations: 1 }
    },
  }
  const w = await world({ agents: { a: { driver } } })
  const run = await w.run('a', 'go')
  expect(stopped).toEqual([false, true])
  expect([run.outcome, run.output.includes('y')]).toEqual(['failed', false])
})

test('the rounds of a turn are counted, whatever its driver says of them', async () => {
  const driver: Driver = {
    async run(_turn, steps) {
      for (const n of [1, 2, 3])
        await steps.step('model', 'm', { n }, async () => ({ value: { text: 'x' }, usage: null }))
      return { outcome: 'completed', output: 'done', error: null, iterations: 0 }
    },
  }
  const w: World = await world({ agents: { a: { driver } } })
  await w.run('a', 'go')
  expect((await w.events('turn.ended')).map(({ event }) => event.iterations)).toEqual([3])
})

test('R6: a node whose turn was taken over meanwhile looks at its session again', async () => {
  const w: World = await world({
    agents: { a: { script: async (turn) => (await w.clock.sleep(500, turn.signal), 'done') } },
  })
  const sent = await w.ask('a', 'go').accepted
  if (!('turn' in sent)) throw new Error('refused')
  const { session, turn } = sent
  await w.store.transact([`session:${session}`], async (tx) =>
    tx.append({ type: 'session.claimed', session, turn, node: 'node_other', epoch: 2 }),
  )
  await w.until(w.clock.sleep(500))
  await w.rest()
  expect(w.node.runtime.running.size).toBe(0)
  expect(w.node.runtime.brokenOff.has(session)).toBe(true)
  expect(await w.events('turn.ended')).toEqual([])
})

test('R4: a turn is stopped at its deadline, and not when somebody looks for what is overdue', async () => {
  const w: World = await world({
    agents: { a: { script: async (turn) => (await w.clock.sleep(60_000, turn.signal), 'done') } },
  })
  expect(await w.run('a', 'go', { timeoutMs: 3300 })).toMatchObject({ outcome: 'timed_out' })
  const [[started], [stopped]] = [await w.events('turn.started'), await w.events('turn.cancelled')]
  expect(stopped?.at).toBe(started?.event.deadline)
})
