/** Leave for what a driven agent wants to do: it is leave for that act alone, and asking costs the same each time. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import type { AnswerScope } from '../../model/question.ts'
import { isRefusal } from '../../model/refusal.ts'
import type { DrivenSteps } from '../kernel/driven-port.ts'
import { drivenSteps } from './driven-steps.ts'

/** A turn whose agent goes on for an hour, and what it does in it. */
async function drive(): Promise<{ w: World; steps: DrivenSteps }> {
  const w = await world({
    asks: true,
    agents: { driven: { script: async (turn) => (await w.clock.sleep(3_600_000, turn.signal), 'done') } },
  })
  void w.ask('driven', 'go').then(String, () => undefined)
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  return { w, steps: drivenSteps(w.node.runtime, running) }
}

async function allow(w: World, scope: AnswerScope = 'once'): Promise<void> {
  await w.pass(100)
  const list = await w.desks.as({}).questions.list()
  if (isRefusal(list)) throw new Error(list.code)
  for (const { id } of list.questions) await w.desks.as({}).questions.answer(id, { answer: 'allow', scope })
}

test('leave for one act of a driven agent is none for another with the same id of its tool call', async () => {
  const { w, steps } = await drive()
  const first = steps.ask('execute', { title: 'ls' }, 'permission-1')
  await allow(w)
  expect(await w.until(first)).toMatchObject({ answer: 'allow' })
  const others = [
    steps.ask('execute', { title: 'rm -rf /' }, 'permission-1'),
    steps.ask('execute', { title: 'ls' }, 'permission-1'),
  ]
  await w.pass(100)
  expect(await Promise.race([...others, Promise.resolve('waits')])).toBe('waits')
  await allow(w)
  expect(await w.until(Promise.all(others))).toMatchObject([{ answer: 'allow' }, { answer: 'allow' }])
  expect(await w.events('question.asked')).toHaveLength(3)
})

test('asking reads the question alone, however many were asked before in the turn', async () => {
  const { w, steps } = await drive()
  const first = steps.ask('execute', { title: 'ls' }, 'permission')
  await allow(w, 'session')
  await w.until(first)
  let reads = 0
  const read = w.node.runtime.store.read.bind(w.node.runtime.store)
  w.node.runtime.store.read = (...given) => ((reads += 1), read(...given))
  for (let n = 0; n < 20; n += 1)
    expect(await steps.ask('execute', { title: 'ls' }, `permission-${n}`)).toMatchObject({ answer: 'allow' })
  expect(reads).toBe(0)
})
